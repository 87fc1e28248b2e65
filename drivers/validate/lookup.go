package validate

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// lookup finds the row that a row of a sample refers to.
type lookup struct {
	session drivers.Session
	stmt    drivers.Statement
	side    *side // compiled for the rows that the look-up reads
	keys    []keyText
	args    []drivers.Value
	tuples  tuples
	buf     []byte
	found   bool // whether the last look-up found the row
}

// keyText makes one column of a key from the variables of a reference.
type keyText struct {
	column *schemas.Column
	parts  []schemas.TemplatePart
	tail   string
	slots  []int
	buf    []byte
}

// lookupOf returns the beginning of the other row's key, as far as it follows from
// the variables, or nil if that is not at least its partition.
func lookupOf(r *rule) []keyText {
	if r.ref == nil {
		return nil
	}
	names := r.join.Names()
	to := r.join.To
	var keys []keyText
	for _, c := range to.Key() {
		i := slices.IndexFunc(r.join.At, func(m schemas.Match) bool { return m.Column == c })
		if i < 0 {
			break
		}
		t := &r.join.At[i].Template
		k := keyText{column: c, parts: t.Parts, tail: t.Tail}
		for _, p := range t.Parts {
			k.slots = append(k.slots, slices.Index(names, p.Name))
		}
		if slices.Contains(k.slots, -1) {
			break
		}
		keys = append(keys, k)
	}
	if len(keys) < len(to.Partition) {
		return nil
	}
	return keys
}

// prepareLookups prepares the look-ups of all references that can be looked up.
func (r *reader) prepareLookups(ctx context.Context) error {
	r.lookups = make([]*lookup, len(r.sides))
	for i, s := range r.sides {
		keys := lookupOf(s.rule)
		if keys == nil {
			continue
		}
		p := &schemas.Pattern{Name: "look-up:" + s.key.name, Kind: schemas.Slice, Table: s.join.To}
		for _, k := range keys {
			p.By = append(p.By, k.column)
		}
		if len(keys) == len(p.Table.Key()) {
			p.Kind = schemas.Get
		}
		for _, m := range s.join.At {
			p.Columns = append(p.Columns, m.Column)
		}
		stmt, err := r.store.Prepare(ctx, p)
		if err != nil {
			return err
		}
		session, err := tolerant(r.store)
		if err != nil {
			return err
		}
		r.lookups[i] = &lookup{
			session: r.Pace.Session(session), stmt: stmt, side: newSide(s.rule, true, p.Columns), keys: keys,
			args: make([]drivers.Value, len(keys)),
		}
	}
	return nil
}

// errFound ends a look-up.
var errFound = errors.New("found")

// lookUp looks up the row that the tuple of a side refers to.
func (r *reader) lookUp(ctx context.Context, i int, t *tuple) error {
	l := r.lookups[i]
	if l == nil {
		return nil
	}
	l.found = false
	for k := range l.keys {
		v, ok := l.keys[k].value(t)
		if !ok {
			return nil // no row can have such a key
		}
		l.args[k] = v
	}
	want := r.pending[i].digest
	err := l.session.Read(ctx, l.stmt, l.args, func(row []drivers.Value) error {
		l.tuples.of(l.side, row, func(t *tuple) {
			var d digest
			d, l.buf = digestOf(l.side.rule, t, l.buf)
			l.found = l.found || d == want
		})
		if l.found {
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

// value makes the key column's value from the variables. ok is false if their text
// is no value of its type.
func (k *keyText) value(t *tuple) (v drivers.Value, ok bool) {
	k.buf = k.buf[:0]
	for i, p := range k.parts {
		k.buf = append(append(k.buf, p.Before...), t.texts[k.slots[i]]...)
	}
	k.buf = append(k.buf, k.tail...)
	kind, text := k.column.Type.Kind, string(k.buf)
	switch kind {
	case schemas.Text, schemas.Blob:
		return drivers.Bytes(kind, k.buf), true
	case schemas.UUID, schemas.TimeUUID:
		u, err := drivers.ParseUUID(text)
		return drivers.ID(kind, u), err == nil
	case schemas.Boolean:
		return drivers.Boolean(text == "true"), text == "true" || text == "false"
	}
	bits := 64
	if kind == schemas.Int {
		bits = 32
	}
	n, err := strconv.ParseInt(text, 10, bits)
	return drivers.Number(kind, n), err == nil
}
