package cassandra

import (
	"context"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
)

// collect reads all rows of a call into the slot. The caller must then call c.done.
func (sl *slot) collect(ctx context.Context, st *statement, c *call, o *inputs) error {
	sl.rows = sl.rows[:0]
	it := sl.send(ctx, c, o)
	for it.Scan(c.dest...) {
		if c.take(st) {
			sl.rows = append(sl.rows, c.row...)
		}
		sl.turn(it)
	}
	return st.Named(readError(it.Close()))
}

// readIn reads the rows of a list with one IN. Cassandra returns each row once, in
// clustering order. readIn yields them in the list's order, so it reads all of them
// first.
func (s *session) readIn(
	ctx context.Context, st *statement, args []drivers.Value, limit int64, yield func([]drivers.Value) error,
) error {
	list := args[st.Layout.In].Elems()
	if len(list) == 0 {
		return nil
	}
	c := s.call(st.queries[0])
	err := s.collect(ctx, st, c, &inputs{args: args})
	if err == nil {
		err = s.yieldInListOrder(st, list, len(c.columns), limit, yield)
	}
	c.done()
	clear(s.rows)
	clear(s.groups)
	return err
}

// yieldInListOrder yields the collected rows in the order of the list.
func (s *session) yieldInListOrder(
	st *statement, list []drivers.Value, width int, limit int64, yield func([]drivers.Value) error,
) error {
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
		at, found := slices.BinarySearchFunc(s.groups, list[i],
			func(g group, v drivers.Value) int { return compare(g.element, v) })
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

// readPartitions reads the partitions of a list in parallel, as many at a time as
// the pattern allows, each with a request to its own replicas. It yields rows in
// the list's order, and holds the rows of no more partitions than it reads at a time.
func (s *session) readPartitions(
	ctx context.Context, st *statement, args []drivers.Value, limit int64, yield func([]drivers.Value) error,
) error {
	list := args[st.Layout.In].Elems()
	slots := s.parallelSlots(min(st.Pattern().Parallel, len(list)))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := func(i int) {
		sl := slots[i%len(slots)]
		go func() {
			sl.done <- crash.Guard(func() error {
				c := sl.call(st.queries[0])
				return sl.collect(ctx, st, c, &inputs{args: args, element: list[i]})
			})
		}()
	}
	begun := 0
	for ; begun < len(slots); begun++ {
		begin(begun)
	}
	var err error
	for i := 0; i < begun; i++ {
		sl := slots[i%len(slots)]
		if got := <-sl.done; err == nil {
			err = got
		}
		c := sl.call(st.queries[0])
		for row := 0; row < len(sl.rows) && err == nil; row += len(c.columns) {
			if err = yield(sl.rows[row : row+st.out]); err == nil {
				if limit--; limit == 0 {
					err = errLimitReached
				}
			}
		}
		c.done()
		clear(sl.rows)
		switch {
		case err != nil:
			cancel() // the loop still waits for the reads under way
		case begun < len(list):
			begin(begun)
			begun++
		}
	}
	return err
}
