package cassandra

import (
	"context"
	"time"

	"github.com/mailbench/mailbench/drivers"
)

// The pages of a scan begin small and grow as long as they come quickly. A node
// reads whole rows, also where few columns are asked for, and gives up after 10 s:
// a page of so many attachments that it cannot be read in time would never be,
// while one of as many flags comes in milliseconds. Rows do not say which they are.
const (
	scanFewer = 50 // the first page has so many times fewer rows than page_size
	quickPage = 100 * time.Millisecond
	slowPage  = time.Second
)

// nextPage returns how many rows the page after one of so many has.
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
