package cassandra

import (
	"context"
	"fmt"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
)

// RunWrite implements plan.Runner.
func (s *session) RunWrite(ctx context.Context, st *statement, args []drivers.Value) (drivers.Result, error) {
	if err := s.store.fits(st, args); err != nil {
		return drivers.Result{}, err
	}
	if st.Pattern().Conditional() {
		return s.writeIf(ctx, st, args)
	}
	return drivers.Result{Applied: true}, s.write(ctx, st, args, s.store.time(st))
}

// fits checks the size of a write before it is sent.
func (c *calls) fits(st *statement, args []drivers.Value) error {
	if n, most := st.sizeOf(args)+partitionOverhead, c.limits.mutation; n > most {
		return fmt.Errorf("%d bytes, but the cluster accepts at most %d: %w", n, most, drivers.ErrTooLarge)
	}
	return nil
}

// sizeOf returns the size of a write without its partition's overhead. It is at
// least what Cassandra will count.
func (st *statement) sizeOf(args []drivers.Value) int64 {
	n := int64(rowOverhead)
	for i := range args {
		n += int64(args[i].Size())
		if i >= st.keys {
			n += valueOverhead * int64(1+len(args[i].Elems()))
		}
	}
	return n
}

// time returns the timestamp of a write, or 0 if the node sets it.
func (c *calls) time(st *statement) int64 {
	if !st.setsTimestamp() {
		return 0
	}
	return c.clock.next(1)
}

func (sl *slot) write(ctx context.Context, st *statement, args []drivers.Value, time int64) error {
	c := sl.call(st.put(args, false))
	err := sl.send(ctx, c, &inputs{args: args, time: time}).Close()
	c.done()
	return writeError(err, st.writeKind(), sl.retry.uncertain)
}

// writeKind returns the statement's kind of write.
func (st *statement) writeKind() writeKind {
	switch {
	case st.Pattern().Conditional():
		return paxosWrite
	case st.counter:
		return preparedWrite
	}
	return plainWrite
}

// writeIf sends a conditional write. If it was not applied and there is a row,
// Cassandra returns the present values of the compared columns.
func (s *session) writeIf(ctx context.Context, st *statement, args []drivers.Value) (drivers.Result, error) {
	c := s.call(st.queries[0])
	it := s.send(ctx, c, &inputs{args: args})
	r, err := s.conditionResult(st, it)
	if cerr := it.Close(); cerr != nil {
		err = cerr
	}
	c.done()
	return r, writeError(err, paxosWrite, false)
}

// conditionResult reads the result of a conditional write: the column [applied],
// and if that is false, the compared columns.
func (s *session) conditionResult(st *statement, it *gocql.Iter) (drivers.Result, error) {
	var r drivers.Result
	columns := it.Columns()
	s.answer, s.rows = s.answer[:0], s.rows[:0]
	var present []resultValue
	if len(columns) > 1 {
		present = make([]resultValue, len(st.Pattern().If))
	}
	for i := range columns {
		s.answer = append(s.answer, nil) // gocql skips a nil target
		if columns[i].Name == "[applied]" {
			s.answer[i] = &r.Applied
			continue
		}
		for j, c := range st.Pattern().If {
			if c.Name == columns[i].Name {
				present[j].typ, present[j].tolerant = c.Type, s.tolerant
				s.answer[i] = &present[j]
			}
		}
	}
	if !it.Scan(s.answer...) {
		return r, fmt.Errorf("the answer to a conditional write is empty")
	}
	if !r.Applied && len(present) > 0 {
		for i := range present {
			s.rows = append(s.rows, present[i].v)
		}
		r.Row = s.rows
	}
	return r, nil
}
