package oraclenosql

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// Batch implements drivers.Session.
func (s *session) Batch(ctx context.Context, stmt drivers.Statement, parts []drivers.Call) error {
	st, err := s.enter(ctx, stmt)
	if err != nil {
		return err
	}
	defer s.store.leave()
	if st.Pattern().Kind != schemas.Batch {
		return st.Named(plan.ErrNotBatch)
	}
	for i := range parts {
		part, err := plan.Part(st.parts, &parts[i])
		if err != nil {
			return st.Named(err)
		}
		if err := part.check(parts[i].Args); err != nil {
			return st.Named(fmt.Errorf("part %s: %w", part.Pattern().Name, err))
		}
	}
	switch p := st.Pattern(); {
	case len(parts) == 0:
		return nil
	case len(parts) == 1: // a batch of one is a write
		r, err := s.write(ctx, st.parts[parts[0].Part], parts[0].Args)
		if err == nil && !r.Applied {
			err = drivers.ErrNotApplied
		}
		return st.Named(err)
	case p.Atomic > schemas.AtomicNone:
		return st.Named(s.together(ctx, st, parts))
	case p.Parallel > 1 && !sameRows(st, parts):
		return st.Named(s.parallel(ctx, st, parts))
	}
	for i := range parts {
		if _, err := s.write(ctx, st.parts[parts[i].Part], parts[i].Args); err != nil {
			return st.Named(plan.Partial(err, i, len(parts)))
		}
	}
	return nil
}

// sameRows reports whether two parts may write the same row: then their order counts.
func sameRows(st *statement, parts []drivers.Call) bool {
	for i := range parts {
		p := st.parts[parts[i].Part]
		for j := range parts[:i] {
			q := st.parts[parts[j].Part]
			n := min(p.keys, q.keys)
			if p.table == q.table && slices.EqualFunc(parts[i].Args[:n], parts[j].Args[:n], drivers.Value.Equal) {
				return true
			}
		}
	}
	return false
}

// parallel sends the parts as separate requests, as many at a time as the pattern allows.
func (s *session) parallel(ctx context.Context, st *statement, parts []drivers.Call) error {
	slots, err := s.parallelSlots(min(st.Pattern().Parallel, len(parts)))
	if err != nil {
		return err
	}
	begin := func(i int) {
		sl, part := slots[i%len(slots)], st.parts[parts[i].Part]
		go func() {
			sl.done <- plan.GuardWrite(func() error {
				_, err := sl.write(ctx, part, parts[i].Args)
				return err
			})
		}()
	}
	begun, applied := 0, 0
	for ; begun < len(slots); begun++ {
		begin(begun)
	}
	var failed error
	for i := 0; i < begun; i++ {
		err := <-slots[i%len(slots)].done
		switch {
		case err == nil:
			applied++
		case failed == nil || errors.Is(err, drivers.ErrUnknown):
			failed = err
		}
		if failed == nil && begun < len(parts) {
			begin(begun)
			begun++
		}
	}
	if failed == nil {
		return nil
	}
	return plan.Partial(failed, applied, len(parts))
}
