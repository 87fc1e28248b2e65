package hbase

import (
	"bytes"
	"maps"
	"regexp"
	"slices"

	"github.com/mailbench/mailbench/drivers/keys"
)

// How much of a table is read.
const (
	sampledPlaces = 4
	sampledRows   = 50      // at each place
	sampledCells  = 100     // of each row
	sampledBytes  = 4 << 20 // at each place
	keptBytes     = 256     // of each value
	mostNamed     = 40      // columns of a family whose qualifiers are names
)

// sampledRow is a row of which some cells were read.
type sampledRow struct {
	key   []byte
	cells []cell
}

// guessSink keeps rows.
type guessSink struct {
	rows  []sampledRow
	most  int
	bytes int
	full  bool // a row has more cells than are read
}

func (k *guessSink) take(c cell, _ uint64) (more bool, err error) {
	if n := len(k.rows); n == 0 || !bytes.Equal(k.rows[n-1].key, c.row) {
		k.rows = append(k.rows, sampledRow{key: bytes.Clone(c.row)})
	}
	r := &k.rows[len(k.rows)-1]
	k.bytes += len(c.value)
	r.cells = append(r.cells, cell{
		family: bytes.Clone(c.family), qualifier: bytes.Clone(c.qualifier),
		value: bytes.Clone(c.value[:min(len(c.value), keptBytes)]),
	})
	k.full = len(r.cells) >= sampledCells
	return !k.full, nil
}

func (k *guessSink) end() (bool, error) { return len(k.rows) < k.most && k.bytes < sampledBytes, nil }
func (k *guessSink) rowLimit() uint32   { return uint32(max(k.most-len(k.rows), 1)) }
func (k *guessSink) restartRow() {
	if n := len(k.rows); n > 0 {
		k.rows = k.rows[:n-1]
	}
}

// scan reads up to most rows from a key on, or with before the last row before it.
func (g *guesser) scan(table string, from []byte, most int, r scanRange) ([]sampledRow, error) {
	k := &guessSink{most: most}
	for start := from; ; {
		k.full = false
		s := scanner{slot: g.slot, sink: k, r: r}
		s.r.start, s.r.uncached = bytes.Clone(start), true
		s.r.skipStart = r.reversed && start != nil
		if err := s.run(g.ctx, []byte(table)); err != nil {
			return nil, err
		}
		if more, _ := k.end(); !k.full || !more {
			return k.rows, nil
		}
		start = append(bytes.Clone(k.rows[len(k.rows)-1].key), 0) // the rest of the row is left out
	}
}

// sample reads rows at several places of a table.
func (g *guesser) sample(table string) (rows []sampledRow, places int, err error) {
	first, err := g.scan(table, nil, sampledRows, scanRange{})
	if err != nil || len(first) < sampledRows {
		return first, min(len(first), 1), err
	}
	one := func(key []byte, reversed bool) ([]byte, error) {
		found, err := g.scan(table, key, 1, scanRange{reversed: reversed, filter: firstOnly()})
		if err != nil || len(found) == 0 {
			return nil, err
		}
		return found[0].key, nil
	}
	last, err := one(nil, true)
	if err != nil || last == nil {
		return first, 1, err
	}
	at, err := keys.Divide(sampledPlaces, first[0].key, last, func(mid []byte) (before, from []byte, err error) {
		if before, err = one(mid, true); err == nil {
			from, err = one(mid, false)
		}
		return before, from, err
	})
	if err != nil {
		return nil, 0, err
	}
	rows = first
	for _, key := range at {
		if bytes.Compare(key, rows[len(rows)-1].key) <= 0 {
			continue // it was read
		}
		more, err := g.scan(table, key, sampledRows, scanRange{})
		if err != nil {
			return nil, 0, err
		}
		rows = append(rows, more...)
	}
	return rows, 1 + len(at), nil
}

// sampledFamily is what the sampled rows have of one family.
type sampledFamily struct {
	name       string
	rows       int
	cells      int
	qualifiers map[string][][]byte // and their values
	named      bool                // the qualifiers are names of columns
}

func familiesOf(d TableDescription, rows []sampledRow) (all []*sampledFamily) {
	for _, name := range slices.Sorted(maps.Keys(d.Families)) {
		f := &sampledFamily{name: name, qualifiers: make(map[string][][]byte)}
		for _, r := range rows {
			before := f.cells
			for _, c := range r.cells {
				if string(c.family) == name {
					f.cells++
					f.qualifiers[string(c.qualifier)] = append(f.qualifiers[string(c.qualifier)], c.value)
				}
			}
			f.rows += min(f.cells-before, 1)
		}
		f.named = f.areNames()
		all = append(all, f)
	}
	return all
}

var (
	columnName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,47}$`)
	digits     = regexp.MustCompile(`[0-9]{4}`)
)

// areNames reports whether the qualifiers look like names of columns: few, and the same in many rows.
func (f *sampledFamily) areNames() bool {
	for q := range f.qualifiers {
		if !columnName.MatchString(q) || digits.MatchString(q) {
			return false
		}
	}
	n := len(f.qualifiers)
	return n > 0 && n <= mostNamed && (f.rows < 3 || 2*n <= f.cells)
}
