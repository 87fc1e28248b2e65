package hbase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// compileBatch compiles a batch. HBase is atomic only within one row, so all parts
// of an atomic batch must write the same HBase row.
func (s *Store) compileBatch(p *schemas.Pattern) (*statement, error) {
	parts, err := plan.Compile(p, s.compile)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(parts) && p.Atomic != schemas.AtomicNone; i++ {
		if err := parts[i].atomic(p.Atomic, parts, i); err != nil {
			return nil, fmt.Errorf("atomic: %s: %w: %w", p.Atomic, err, drivers.ErrUnsupported)
		}
	}
	return &statement{store: s, Plan: plan.Of(p), parts: parts}, nil
}

// atomic returns an error if the statement, which is parts[at], cannot be in one edit of an
// HBase row together with the parts before it.
func (st *statement) atomic(a schemas.Atomicity, parts []*statement, at int) error {
	p, t := st.Pattern(), st.table
	switch {
	case a == schemas.AtomicAll:
		return errors.New("HBase changes only one row atomically")
	case a != schemas.AtomicRow && st.rowColumns() != len(p.Table.Partition):
		return fmt.Errorf("each row of table %s is an HBase row, and HBase changes only one atomically", t.schema.Name)
	case st.searches() && !slices.ContainsFunc(parts, st.deletedWith):
		return fmt.Errorf("part %s must first read which cells it deletes", p.Name)
	case p.Kind == schemas.PutIf || p.ReturnsNew || st.conditional():
		return fmt.Errorf("part %s depends on the stored row", p.Name)
	}
	for _, o := range parts[:at+1] {
		if !bytes.Equal(o.table.hbase, t.hbase) || o.rowColumns() != st.rowColumns() {
			return fmt.Errorf("parts %s and %s are of different HBase rows", o.Pattern().Name, p.Name)
		}
		if o.table.family != t.family || o.Pattern().Static != p.Static {
			continue
		}
		if st.deletesRow() != o.deletesRow() {
			return fmt.Errorf("one of the parts %s and %s deletes the row, and HBase would also delete what the other writes",
				o.Pattern().Name, p.Name)
		}
		if o.table == t && (p.Kind == schemas.Add) != (o.Pattern().Kind == schemas.Add) {
			return fmt.Errorf("one of the parts %s and %s adds to columns of a table, and the other writes to it",
				o.Pattern().Name, p.Name)
		}
	}
	return nil
}

// rowColumns returns how many columns of the primary key are in the HBase row key.
func (st *statement) rowColumns() int {
	if st.Pattern().Static {
		return len(st.table.static)
	}
	return len(st.table.row)
}

// deletesRow reports whether the statement deletes a family of an HBase row.
func (st *statement) deletesRow() bool {
	p := st.Pattern()
	return p.Kind == schemas.Delete && (!st.table.wide() || len(p.By) == len(st.table.row))
}

// deletedWith reports whether one deletion of a family does what both statements do: st
// deletes all rows of a nested table below a row, other deletes that row, and both tables
// share the family. Without other, st would have to search for its cells.
func (st *statement) deletedWith(other *statement) bool {
	return st.table.host != nil && st.table.host == other.table && st.deletesRow() && other.deletesRow() &&
		!other.searches()
}

// conditional reports whether the write needs a condition though its pattern has
// none: see conditions.
func (st *statement) conditional() bool {
	p, t := st.Pattern(), st.table
	return t.wide() && !p.Static && p.Kind == schemas.Put && len(p.Columns) == 0 && len(t.columns) > 0
}

// Batch implements drivers.Session.
func (s *session) Batch(ctx context.Context, stmt drivers.Statement, parts []drivers.Call) error {
	st, err := s.enter(ctx, stmt, -1)
	if err != nil {
		return err
	}
	defer s.store.leave()
	if st.Pattern().Kind != schemas.Batch {
		return st.Named(plan.ErrNotBatch)
	}
	for i := range parts {
		if _, err := plan.Part(st.parts, &parts[i]); err != nil {
			return st.Named(err)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	if st.Pattern().Atomic != schemas.AtomicNone {
		return st.Named(s.atomicBatch(ctx, st, parts))
	}
	return st.Named(s.separateBatch(ctx, st, parts))
}

// atomicBatch applies all parts in one edit of their HBase row.
func (s *session) atomicBatch(ctx context.Context, st *statement, parts []drivers.Call) error {
	e := s.edit(0, st.parts[parts[0].Part].table)
	for i := range parts {
		if err := s.join(e, st.parts[parts[i].Part], parts[i].Args); err != nil {
			return err
		}
	}
	if only, alone := st.alone(e, parts); only != nil {
		if !alone {
			return fmt.Errorf("part %s must first read which cells it deletes: it is atomic only with a delete of table %s",
				only.Pattern().Name, only.table.host.schema.Name)
		}
		return s.deleteFound(ctx, only, parts[0].Args)
	}
	e.mergeChanges()
	_, err := s.slot.apply(ctx, e, nil, &s.store.wal)
	return err
}

// alone returns a part that deletes rows of a table in a shared family, if the edit does not
// also delete the row of the table that the family belongs to. Such a part must search for
// its cells. alone is true if all parts are that one.
func (st *statement) alone(e *edit, parts []drivers.Call) (only *statement, alone bool) {
	at := slices.IndexFunc(parts, func(c drivers.Call) bool {
		t := st.parts[c.Part].table
		return t.host != nil && st.parts[c.Part].deletesRow() && !e.deletesRow(t)
	})
	if at < 0 {
		return nil, false
	}
	part := parts[at].Part
	return st.parts[part], !slices.ContainsFunc(parts, func(c drivers.Call) bool { return c.Part != part })
}

// join adds a part to an edit. The part must write the same HBase row.
func (s *session) join(e *edit, part *statement, args []drivers.Value) error {
	if len(e.ops) == 0 {
		return part.put(e, args)
	}
	s.key = append(s.key[:0], e.row...)
	e.row = e.row[:0]
	if err := part.put(e, args); err != nil {
		return err
	}
	if !bytes.Equal(s.key, e.row) {
		return fmt.Errorf("part %s writes to another row than the parts before it, and HBase changes only one atomically",
			part.Pattern().Name)
	}
	return nil
}

// separateBatch applies the parts one after another, or in parallel if the pattern
// allows that. Parts that write the same row keep their order.
func (s *session) separateBatch(ctx context.Context, st *statement, parts []drivers.Call) error {
	steps, err := s.plan(st, parts)
	if err != nil {
		return err
	}
	n := min(max(st.Pattern().Parallel, 1), len(steps))
	if n == 1 || s.ordered(steps) {
		for i := range steps {
			if err := s.run(ctx, s.slot, &steps[i]); err != nil {
				return plan.Partial(err, i, len(steps))
			}
		}
		return nil
	}
	var next, done atomic.Int64
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i, sl := range s.parallelSlots(n) {
		wg.Go(func() {
			for errs[i] == nil {
				at := int(next.Add(1)) - 1
				if at >= len(steps) {
					return
				}
				if errs[i] = plan.GuardWrite(func() error { return s.run(ctx, sl, &steps[at]) }); errs[i] == nil {
					done.Add(1)
				} else {
					next.Store(int64(len(steps))) // the others begin nothing more
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return plan.Partial(err, int(done.Load()), len(steps))
		}
	}
	return nil
}
