package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
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
func (s *Store) fits(st *statement, args []drivers.Value) error {
	if n, most := st.sizeOf(args)+partitionOverhead, s.limits.mutation; n > most {
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
func (s *Store) time(st *statement) int64 {
	if !st.setsTimestamp() {
		return 0
	}
	return s.clock.next(1)
}

func (s *session) write(ctx context.Context, st *statement, args []drivers.Value, time int64) error {
	it, retry := s.send(ctx, st.put(args, false), &inputs{args: args, time: time})
	err := it.Close()
	return writeError(err, st.writeKind(), retry.uncertain)
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

// writeIf sends a conditional write. The answer is the column [applied]; if it was not applied and there is a row, the
// present values of the compared columns follow.
func (s *session) writeIf(ctx context.Context, st *statement, args []drivers.Value) (r drivers.Result, err error) {
	it, _ := s.send(ctx, st.queries[0], &inputs{args: args})
	columns, compared := it.Columns(), st.Pattern().If
	present, answer := make([]resultValue, len(compared)), make([]any, len(columns)) // gocql skips a nil target
	for i := range columns {
		at := slices.IndexFunc(compared, func(c *schemas.Column) bool { return c.Name == columns[i].Name })
		switch {
		case columns[i].Name == "[applied]":
			answer[i] = &r.Applied
		case at >= 0:
			present[at] = resultValue{typ: compared[at].Type, tolerant: &s.tolerant}
			answer[i] = &present[at]
		}
	}
	if !it.Scan(answer...) {
		err = errors.New("the answer to a conditional write is empty")
	}
	if cerr := it.Close(); cerr != nil {
		err = cerr
	}
	if err == nil && !r.Applied && len(columns) > 1 {
		for _, p := range present {
			r.Row = append(r.Row, p.v)
		}
	}
	return r, writeError(err, paxosWrite, false)
}
