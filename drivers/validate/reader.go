package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	rawpebble "github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// reader reads parts of one table, with sessions of its own.
type reader struct {
	*check
	scan    *schemas.Pattern
	key     int // number of key columns, which come first in a row
	session drivers.Session
	second  drivers.Session // for look-ups, which run within a read; nil if the check is of no sample
	sides   []*side
	skips   drivers.Skipper // nil if the session leaves no rows out

	// The part that is read.
	of           recordOf
	part         *donePart
	own          findings
	written      uint32           // records
	batch        *rawpebble.Batch // of records that are not yet in the journal; nil: there are none
	entry, value []byte           // of the last one
}

// countEvery is how many rows a reader reads before it adds them to the progress.
const countEvery = 1024

func (c *check) newReader(ctx context.Context, scan *schemas.Pattern) (*reader, error) {
	session, err := tolerant(c.store)
	if err != nil {
		return nil, err
	}
	r := &reader{check: c, scan: scan, session: c.Pace.Session(session)}
	r.skips, _ = session.(drivers.Skipper)
	r.key = len(scan.Table.Key())
	if scan.Static {
		r.key = len(scan.Table.Partition)
		return r, nil // no reference or count is about static columns
	}
	for _, x := range c.rules {
		if x.table == scan.Table && c.checks(x) {
			r.sides = append(r.sides, newSide(x, false, scan.Columns))
		}
		if x.To == scan.Table && c.Sample >= 1 {
			r.sides = append(r.sides, newSide(x, true, scan.Columns))
		}
	}
	if c.Sample >= 1 {
		return r, nil
	}
	session, err = tolerant(c.store)
	r.second = c.Pace.Session(session)
	for i := 0; i < len(r.sides) && err == nil; i++ {
		r.sides[i].lookup, err = c.newLookup(ctx, r.sides[i].rule)
	}
	return r, err
}

// tolerant opens a session that yields values that cannot be decoded as Broken.
func tolerant(store drivers.Store) (drivers.Session, error) {
	session, err := store.Session()
	if err != nil {
		return nil, err
	}
	session.Tolerate(true)
	return session, nil
}

// read reads one part, adds what it finds to the check's, and notes that in the journal.
func (r *reader) read(ctx context.Context, st drivers.Statement) error {
	r.own.by = make(map[About]*Finding)
	r.part, r.written, r.batch = &donePart{Round: r.of.round}, 0, nil
	n := 0
	err := r.session.Read(ctx, st, nil, func(row []drivers.Value) error {
		if n++; n%countEvery == 0 {
			r.progress()
		}
		return r.row(ctx, row)
	})
	r.progress()
	if r.skips != nil {
		rows, keys := r.skips.Skipped()
		for _, key := range keys {
			r.own.add(About{r.scan.Table.Name, Marker, "row", false}, rows, 0, 0,
				fmt.Sprintf("row key %q has cells and no marker: mailbench did not write it and does not read it "+
					"(hints: {hbase: {marker: none}} declares a table without one)", key))
			rows = 0 // they are counted once
		}
	}
	var unwritten error
	for _, s := range r.sides {
		unwritten = cmp.Or(unwritten, r.flush(s))
	}
	err = errors.Join(err, unwritten)
	r.part.Findings = r.own.all()
	r.found.merge(r.part.Findings...)
	if err != nil {
		return err
	}
	return r.end()
}

func (r *reader) progress() {
	cost := r.session.Take()
	r.rows.Add(cost.RowsRead)
	r.bytes.Add(cost.BytesRead)
	r.part.Rows += cost.RowsRead
	r.part.Bytes += cost.BytesRead
}

// row checks one row.
func (r *reader) row(ctx context.Context, row []drivers.Value) error {
	for i, c := range r.scan.Columns {
		if check, what := fault(&c.Type, &row[i]); check != "" && (c.Role != schemas.Static || r.scan.Static) {
			r.own.add(About{r.scan.Table.Name, check, c.Name, false}, 1, 0, 0,
				fmt.Sprintf("%s: %s", appendKey(nil, r.scan.Columns[:r.key], row), what))
			if check == Decode && i < r.key {
				break // a key that cannot be decoded makes all its columns Broken
			}
		}
	}
	if row[0].Broken() {
		return nil
	}
	for _, s := range r.sides {
		if err := s.tuples(row, func() error { return r.take(ctx, s, row) }); err != nil {
			return err
		}
	}
	return nil
}

// take adds one tuple of a side to the side's pending record. Successive tuples with the
// same digest share a record, except stored numbers: each of them is compared by itself.
func (r *reader) take(ctx context.Context, s *side, row []drivers.Value) error {
	p, d := &s.pending, s.digest()
	if p.rows > 0 && p.digest == d && (s.at || !s.counts()) {
		p.rows++
		p.number += s.value
		return nil
	}
	if err := r.flush(s); err != nil {
		return err
	}
	*p = record{digest: d, rule: s.rule.number, own: !s.at, bad: s.bad, rows: 1, number: s.value, where: p.where[:0]}
	if s.named {
		p.where = appendKey(p.where, r.scan.Columns[:r.key], row)
	}
	if s.lookup == nil {
		return nil
	}
	found, err := r.lookUp(ctx, s)
	if found {
		err = r.write(&record{digest: d, rule: s.rule.number, rows: 1})
	}
	return err
}

// flush writes the pending record of a side, if there is one.
func (r *reader) flush(s *side) error {
	p := &s.pending
	if p.rows == 0 {
		return nil
	}
	defer func() { p.rows = 0 }()
	return r.write(p)
}

// lookup finds the row that a row of a sample refers to.
type lookup struct {
	stmt  drivers.Statement
	side  *side // compiled for the rows that the look-up reads
	keys  []schemas.Match
	names []string // those of the variables
	args  []drivers.Value
}

// lookupOf returns the beginning of the other row's key, as far as it follows from
// the variables, or nil if that is not at least its partition.
func lookupOf(r *rule) (keys []schemas.Match) {
	for _, c := range r.To.Key() {
		i := slices.IndexFunc(r.At, func(m schemas.Match) bool { return m.Column == c })
		if i < 0 || len(r.At[i].Template.Names()) < len(r.At[i].Template.Parts) { // its {} may be any text
			break
		}
		keys = append(keys, r.At[i])
	}
	if r.counts() || len(keys) < len(r.To.Partition) {
		return nil
	}
	return keys
}

// newLookup prepares the look-ups of a reference.
func (c *check) newLookup(ctx context.Context, x *rule) (*lookup, error) {
	keys := lookupOf(x)
	p := &schemas.Pattern{Name: "look-up:" + x.Name, Kind: schemas.Slice, Table: x.To}
	for _, k := range keys {
		p.By = append(p.By, k.Column)
	}
	if len(keys) == len(p.Table.Key()) {
		p.Kind = schemas.Get
	}
	for _, m := range x.At {
		p.Columns = append(p.Columns, m.Column)
	}
	stmt, err := c.store.Prepare(ctx, p)
	return &lookup{stmt, newSide(x, true, p.Columns), keys, x.Variables(), make([]drivers.Value, len(keys))}, err
}

// errFound ends a look-up.
var errFound = errors.New("found")

// lookUp reports whether the row is there that the tuple of a side refers to.
func (r *reader) lookUp(ctx context.Context, s *side) (bool, error) {
	l := s.lookup
	for i, k := range l.keys {
		text := ""
		for _, p := range k.Template.Parts {
			text += p.Before + string(s.texts[slices.Index(l.names, p.Name)])
		}
		var err error
		if l.args[i], err = drivers.ParseText(k.Column.Type.Kind, text+k.Template.Tail); err != nil {
			return false, nil // no row can have such a key
		}
	}
	err := r.second.Read(ctx, l.stmt, l.args, func(row []drivers.Value) error {
		return l.side.tuples(row, func() error {
			if l.side.digest() == s.pending.digest {
				return errFound
			}
			return nil
		})
	})
	if errors.Is(err, errFound) {
		return true, nil
	}
	ofKey := !drivers.IsOutage(err) && !errors.Is(err, drivers.ErrCorrupt)
	if errors.Is(err, drivers.ErrTooLarge) || ofKey && l.unusual() {
		return false, nil // engines refuse keys that no row can have
	}
	return false, err
}

// unusual reports whether an engine may refuse the key: its partition is one empty value, or a text is not UTF-8.
// Cassandra takes other empty values.
func (l *lookup) unusual() bool {
	foreign := func(v drivers.Value) bool { return v.Kind() == schemas.Text && !utf8.Valid(v.Raw()) }
	return len(l.side.rule.To.Partition) == 1 && l.args[0].Size() == 0 || slices.ContainsFunc(l.args, foreign)
}
