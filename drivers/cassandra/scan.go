package cassandra

import (
	"context"
	"time"

	"github.com/mailbench/mailbench/drivers"
)

// The pages of a scan begin small and grow as long as they come quickly. A node
// reads whole rows even if the scan selects few columns, and gives up after 10 s.
// So a large page of attachments might never succeed, but the same number of flags
// takes milliseconds. The driver cannot see in advance how large rows are.
const (
	scanFewer = 50 // the first page has page_size divided by this many rows
	quickPage = 100 * time.Millisecond
	slowPage  = time.Second
)

// nextPage returns the number of rows of the next page.
func nextPage(rows, most int, took time.Duration) int {
	switch {
	case took < quickPage:
		return min(2*rows, most)
	case took > slowPage:
		return max(rows/2, 1)
	}
	return rows
}

// scan reads a table page by page.
func (s *session) scan(ctx context.Context, st *statement, o *inputs, yield func([]drivers.Value) error) error {
	c := s.call(st.queries[0])
	defer c.done()
	most := s.store.settings.pageSize
	var state []byte
	for rows := max(most/scanFewer, 1); ; {
		c.request.PageSize(rows).PageState(state)
		begin := time.Now()
		it := s.send(ctx, c, o)
		rows = nextPage(rows, most, time.Since(begin))
		state = it.PageState()
		n, err := s.drain(ctx, st, c, o, it, yield)
		if err != nil || len(state) == 0 {
			return err
		}
		if o.limit -= n; o.limit == 0 {
			return nil
		}
	}
}
