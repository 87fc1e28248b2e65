package pebble

import (
	"bytes"
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
)

var _ drivers.Ranger = (*Store)(nil)

// Split implements drivers.Splitter. It divides the range between the table's first and last key.
func (s *Store) Split(_ context.Context, scan drivers.Statement, n int) ([]drivers.Statement, error) {
	return plan.Parts(&s.gate, scan, func(st *statement) (parts []*statement, err error) {
		at, err := s.divide(st.byRows(), n)
		for from, to := range keys.Ranges(at) {
			part := st.byRows()
			part.from, part.to = from, to
			parts = append(parts, part)
		}
		return parts, corrupt(err)
	})
}

// byRows returns a scan of ranges of rows, whatever index finds those that its filter keeps.
func (st *statement) byRows() *statement {
	rows := *st
	rows.path, rows.lead = &st.fam.path, nil
	return &rows
}

// Range implements drivers.Ranger.
func (s *Store) Range(part drivers.Statement) string {
	st := part.(*statement)
	return keys.FormatRange(st.from, st.to)
}

// Within implements drivers.Ranger.
func (s *Store) Within(_ context.Context, scan drivers.Statement, ranges []string) ([]drivers.Statement, error) {
	return plan.Parts(&s.gate, scan, func(st *statement) (_ []*statement, err error) {
		parts := make([]*statement, len(ranges))
		for i, r := range ranges {
			part := st.byRows()
			if part.from, part.to, err = keys.ParseRange(r); err != nil {
				return nil, err
			}
			parts[i] = part
		}
		return parts, nil
	})
}

// divide returns the keys at which a table is divided.
func (s *Store) divide(st *statement, n int) ([][]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.db == nil {
		return nil, drivers.ErrClosed
	}
	var b bounds
	if err := b.set(st, nil, nil); err != nil {
		return nil, err
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: b.lower, UpperBound: b.upper})
	if err != nil {
		return nil, err
	}
	if !it.First() {
		return nil, closeAfter(it, it.Error())
	}
	first := bytes.Clone(it.Key())
	it.Last()
	last := bytes.Clone(it.Key())
	at, err := keys.Divide(n, first, last, func(mid []byte) (before, from []byte, err error) {
		if it.SeekLT(mid) {
			before = bytes.Clone(it.Key())
		}
		if it.SeekGE(mid) {
			from = bytes.Clone(it.Key())
		}
		return before, from, it.Error()
	})
	return at, closeAfter(it, err)
}
