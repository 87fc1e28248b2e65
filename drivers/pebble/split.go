package pebble

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

var _ drivers.Ranger = (*Store)(nil)

// Split implements drivers.Splitter. It divides the range between the table's first and last key.
func (s *Store) Split(_ context.Context, scan drivers.Statement, n int) ([]drivers.Statement, error) {
	st, err := s.scanOf(scan)
	if err != nil {
		return nil, err
	}
	at, err := s.divide(st, n)
	if err != nil {
		return nil, fmt.Errorf("split pattern %s: %w", st.Pattern().Name, corrupt(err))
	}
	var parts []drivers.Statement
	for from, to := range keys.Ranges(at) {
		part := *st
		part.from, part.to = from, to
		parts = append(parts, &part)
	}
	return parts, nil
}

func (s *Store) scanOf(scan drivers.Statement) (*statement, error) {
	st, ok := scan.(*statement)
	switch {
	case !ok || st.store != s:
		return nil, plan.Foreign(scan)
	case st.Pattern().Kind != schemas.Scan:
		return nil, fmt.Errorf("split: pattern %s is no scan", st.Pattern().Name)
	}
	rows := *st // a part is a range of rows, whatever index finds those that the filter keeps
	rows.path, rows.lead = &st.fam.path, nil
	return &rows, nil
}

// Range implements drivers.Ranger.
func (s *Store) Range(part drivers.Statement) string {
	st := part.(*statement)
	return keys.FormatRange(st.from, st.to)
}

// Within implements drivers.Ranger.
func (s *Store) Within(_ context.Context, scan drivers.Statement, ranges []string) ([]drivers.Statement, error) {
	st, err := s.scanOf(scan)
	if err != nil {
		return nil, err
	}
	parts := make([]drivers.Statement, len(ranges))
	for i, r := range ranges {
		part := *st
		if part.from, part.to, err = keys.ParseRange(r); err != nil {
			return nil, err
		}
		parts[i] = &part
	}
	return parts, nil
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
