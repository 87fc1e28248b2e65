package cassandra

import (
	"context"
	"slices"

	"github.com/mailbench/mailbench/drivers"
)

// group are the rows of one element of a list: rows[from:to].
type group struct {
	element  drivers.Value
	from, to int
}

// collect reads all rows of a call, which the caller ends with done.
func (l *lane) collect(ctx context.Context, st *statement, c *call, o *origin) error {
	l.rows = l.rows[:0]
	it := l.send(ctx, c, o)
	for it.Scan(c.dest...) {
		if c.take(st) {
			l.rows = append(l.rows, c.row...)
		}
	}
	return st.Named(readError(it.Close()))
}

// readListed reads the rows of a list with one IN. Cassandra gives them in
// clustering order, each once; they are yielded in the list's order, so all of
// them are read first.
func (s *session) readListed(ctx context.Context, st *statement, args []drivers.Value, limit int64, yield func([]drivers.Value) error) error {
	list := args[st.At.In].Elems()
	if len(list) == 0 {
		return nil
	}
	c := s.call(st.queries[0])
	err := s.collect(ctx, st, c, &origin{args: args})
	if err == nil {
		err = s.inOrder(st, list, len(c.columns), limit, yield)
	}
	c.done()
	clear(s.rows)
	clear(s.groups)
	return err
}

// inOrder yields collected rows in the order of the list.
func (s *session) inOrder(st *statement, list []drivers.Value, width int, limit int64, yield func([]drivers.Value) error) error {
	s.groups = s.groups[:0]
	for row := 0; row < len(s.rows); row += width {
		element := s.rows[row+st.inAt]
		if last := len(s.groups) - 1; last >= 0 && compare(s.groups[last].element, element) == 0 {
			s.groups[last].to = row + width
		} else {
			s.groups = append(s.groups, group{element, row, row + width})
		}
	}
	slices.SortFunc(s.groups, func(a, b group) int { return compare(a.element, b.element) })
	for i := range list {
		at, found := slices.BinarySearchFunc(s.groups, list[i], func(g group, v drivers.Value) int { return compare(g.element, v) })
		if !found {
			continue
		}
		for row := s.groups[at].from; row < s.groups[at].to; row += width {
			if err := yield(s.rows[row : row+st.out]); err != nil {
				return err
			}
			if limit--; limit == 0 {
				return nil
			}
		}
	}
	return nil
}

// readSingles reads the partitions of a list, so many at once as the pattern
// allows, each with a request to its own replicas. A row is yielded when those
// before it in the list have been; no more than so many are held.
func (s *session) readSingles(ctx context.Context, st *statement, args []drivers.Value, limit int64, yield func([]drivers.Value) error) error {
	list := args[st.At.In].Elems()
	lanes := s.side(min(st.Pattern().Parallel, len(list)))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := func(i int) {
		l := lanes[i%len(lanes)]
		go func() {
			c := l.call(st.queries[0])
			l.done <- l.collect(ctx, st, c, &origin{args: args, element: list[i]})
		}()
	}
	begun := 0
	for ; begun < len(lanes); begun++ {
		begin(begun)
	}
	var err error
	for i := 0; i < begun; i++ {
		l := lanes[i%len(lanes)]
		if got := <-l.done; err == nil {
			err = got
		}
		c := l.call(st.queries[0])
		for row := 0; row < len(l.rows) && err == nil; row += len(c.columns) {
			if err = yield(l.rows[row : row+st.out]); err == nil {
				if limit--; limit == 0 {
					err = errEnough
				}
			}
		}
		c.done()
		clear(l.rows)
		switch {
		case err != nil:
			cancel() // those under way are waited for
		case begun < len(list):
			begin(begun)
			begun++
		}
	}
	return err
}
