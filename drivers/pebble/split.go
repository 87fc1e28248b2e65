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

var _ drivers.Splitter = (*Store)(nil)

// Split implements drivers.Splitter. It divides the range between the table's first and last key.
func (s *Store) Split(_ context.Context, scan drivers.Statement, n int) ([]drivers.Statement, error) {
	st, ok := scan.(*statement)
	if !ok || st.store != s {
		return nil, plan.Foreign(scan)
	}
	if st.Pattern().Kind != schemas.Scan {
		return nil, fmt.Errorf("split: pattern %s is no scan", st.Pattern().Name)
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
