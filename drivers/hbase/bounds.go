package hbase

import (
	"bytes"
	"errors"

	"github.com/mailbench/mailbench/drivers"
)

// bounds is a range of row keys, or of qualifiers in a row. It includes lower and
// excludes upper; an empty upper is no end.
type bounds struct {
	lower, upper, prefix, scratch []byte
	none                          bool // the range is empty
}

// set sets the range to the keys that begin with lead and the fixed columns, within the
// call's from, to and after. If after has more columns than the key, the caller
// must compare the others.
func (b *bounds) set(st *statement, lead string, parts []keyPart, fixed, args []drivers.Value) (err error) {
	n := len(fixed)
	if b.prefix, err = appendKey(append(b.prefix[:0], lead...), parts, fixed); err != nil {
		return err
	}
	b.none = false
	b.lower = append(b.lower[:0], b.prefix...)
	b.upper = append(b.upper[:0], b.prefix...)
	b.upper = keyAfter(b.upper, parts, n)
	if n == 0 { // also in a shared family: nothing sorts after the keys that begin with lead
		b.upper = b.upper[:0]
	}
	p := st.Pattern()
	if n == len(parts) {
		return nil
	}
	if p.From != nil && !args[st.Layout.From].IsNull() {
		if err := b.narrowTo(parts, n, args[st.Layout.From], !parts[n].desc, p.From.Open); err != nil {
			return err
		}
	}
	if p.To != nil && !args[st.Layout.To].IsNull() {
		if err := b.narrowTo(parts, n, args[st.Layout.To], parts[n].desc, p.To.Open); err != nil {
			return err
		}
	}
	if len(p.After) > 0 {
		return b.after(st, parts, n, args[st.Layout.After:st.Layout.After+len(p.After)])
	}
	return nil
}

// narrowTo moves the first or the last end of the range to v, a value of column n. A closed
// end keeps the keys with v itself.
func (b *bounds) narrowTo(parts []keyPart, n int, v drivers.Value, first, open bool) (err error) {
	if b.scratch, err = parts[n].append(append(b.scratch[:0], b.prefix...), v); err != nil {
		return err
	}
	if first == open { // the end is after the keys with v
		b.scratch = keyAfter(b.scratch, parts, n+1)
		if len(b.scratch) == 0 {
			b.none = b.none || first
			return nil
		}
	}
	b.narrow(b.scratch, first)
	return nil
}

// after narrows the range to the keys that follow, in reading order, those that
// begin with the values.
func (b *bounds) after(st *statement, parts []keyPart, n int, vs []drivers.Value) (err error) {
	if first, err := allNull(vs); first || err != nil {
		return err
	}
	over := len(vs) > len(parts)-n
	if over {
		vs = vs[:len(parts)-n]
	}
	if b.scratch, err = appendKey(append(b.scratch[:0], b.prefix...), parts[n:], vs); err != nil {
		return err
	}
	if !st.backward && !over {
		b.scratch = keyAfter(b.scratch, parts, n+len(vs))
		if len(b.scratch) == 0 {
			b.none = true
			return nil
		}
	}
	b.narrow(b.scratch, !st.backward)
	return nil
}

// allNull reports whether after is null, so that the read begins at the start.
func allNull(vs []drivers.Value) (bool, error) {
	nulls := 0
	for i := range vs {
		if vs[i].IsNull() {
			nulls++
		}
	}
	if nulls > 0 && nulls < len(vs) {
		return false, errors.New("after must be null in all its columns or in none")
	}
	return nulls > 0, nil
}

// narrow moves one end of the range inwards to the key.
func (b *bounds) narrow(key []byte, first bool) {
	switch {
	case first && bytes.Compare(key, b.lower) > 0:
		b.lower = append(b.lower[:0], key...)
	case !first && (len(b.upper) == 0 || bytes.Compare(key, b.upper) < 0):
		b.upper = append(b.upper[:0], key...)
		b.none = b.none || len(key) == 0
	}
}

// part narrows the range to that of a part of a scan.
func (b *bounds) part(st *statement) {
	if st.from != nil {
		b.narrow(st.from, true)
	}
	if st.to != nil {
		b.narrow(st.to, false)
	}
}

// empty reports whether nothing can be in the range.
func (b *bounds) empty() bool {
	return b.none || len(b.upper) > 0 && bytes.Compare(b.lower, b.upper) >= 0
}
