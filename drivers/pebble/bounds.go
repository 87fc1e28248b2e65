package pebble

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
)

// bounds are the keys of a read or delete: lower <= key < upper.
type bounds struct{ lower, upper, prefix, scratch []byte }

func (b *bounds) empty() bool { return bytes.Compare(b.lower, b.upper) >= 0 }

// set sets the range of a slice or delete. element is the element of the list that in binds,
// or nil if the pattern has no in.
func (b *bounds) set(st *statement, args []drivers.Value, element *drivers.Value) (err error) {
	p, cols, at := st.Pattern(), st.path.cols, st.Layout
	b.prefix = binary.BigEndian.AppendUint16(b.prefix[:0], st.path.space)
	for i, arg := range st.lead {
		if b.prefix, err = keys.Append(b.prefix, args[arg], cols[i].desc); err != nil {
			return err
		}
	}
	cols = cols[len(st.lead):]
	if element != nil {
		if b.prefix, err = keys.Append(b.prefix, *element, cols[0].desc); err != nil {
			return err
		}
		cols = cols[1:]
	}
	b.lower = append(b.lower[:0], b.prefix...)
	b.upper = keys.Successor(append(b.upper[:0], b.prefix...))
	if p.From != nil {
		err = b.end(cols, args[at.From:at.From+1], !cols[0].desc, p.From.Open)
	}
	if p.To != nil && err == nil {
		err = b.end(cols, args[at.To:at.To+1], cols[0].desc, p.To.Open)
	}
	if len(p.After) > 0 && err == nil {
		err = b.end(cols, args[at.After:at.After+len(p.After)], !p.Reverse, true)
	}
	return err
}

// end moves the first or the last end of the range to the rows whose next columns, cols, have the values vs, unless
// these are null. A closed end keeps those rows.
func (b *bounds) end(cols []keyColumn, vs []drivers.Value, first, open bool) (err error) {
	if vs[0].IsNull() { // so are all
		return nil
	}
	b.scratch = append(b.scratch[:0], b.prefix...)
	for i, v := range vs {
		if b.scratch, err = keys.Append(b.scratch, v, cols[i].desc); err != nil {
			return err
		}
	}
	if first == open { // the end is after those rows
		b.scratch = keys.Successor(b.scratch)
	}
	b.narrow(b.scratch, first)
	return nil
}

// narrow moves one end of the range inwards to the key.
func (b *bounds) narrow(key []byte, first bool) {
	switch {
	case first && bytes.Compare(key, b.lower) > 0:
		b.lower = append(b.lower[:0], key...)
	case !first && bytes.Compare(key, b.upper) < 0:
		b.upper = append(b.upper[:0], key...)
	}
}

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
