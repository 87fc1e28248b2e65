package drivertest

import (
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

func pick[T any](m *machine, what string, from []T) T {
	return from[m.int(what, 0, len(from)-1)]
}

func (m *machine) int(what string, least, most int) int {
	return rapid.IntRange(least, most).Draw(m.rt, what)
}

// valuesOfSequence is how many values of each kind a sequence has: few, so that its calls meet the same rows often.
const valuesOfSequence = 5

// fill draws the values of a sequence. Values that are added to each other stay far from the largest one.
func (m *machine) fill() {
	m.pool = map[schemas.Kind][]any{schemas.Bigint: {0, -7, 1 << 40}, schemas.Counter: {1, -7, 1 << 40}}
	adds := slices.ContainsFunc(m.schema.Patterns, func(p *schemas.Pattern) bool { return p.Kind == schemas.Add })
	for _, keys := range ascending {
		switch kind := keys.kind; {
		case m.allValues:
			m.pool[kind] = keys.vals
		case kind != schemas.Bigint || !adds:
			m.pool[kind] = nil
			n := min(valuesOfSequence, len(keys.vals))
			drawn := rapid.SliceOfNDistinct(rapid.IntRange(0, len(keys.vals)-1), n, n, rapid.ID).Draw(m.rt, kind.String())
			for _, i := range drawn {
				m.pool[kind] = append(m.pool[kind], keys.vals[i])
			}
		}
	}
}

// value draws a value of a type, or null.
func (m *machine) value(t schemas.Type, null bool) drivers.Value {
	if null && m.int("null", 0, 3) == 0 {
		return drivers.Value{}
	}
	if !t.Collection() {
		return valueOf(t, pick(m, t.String(), m.pool[t.Kind]))
	}
	key := t.Elem
	if t.Kind == schemas.Map {
		key = t.Key
	}
	var vals []drivers.Value
	for i, v := range m.pool[key.Kind] {
		n := m.int("times", 0, 2)
		if m.atOnce && i == 0 { // of a row without any value engines may keep nothing
			n = max(n, 1)
		}
		if n > 0 {
			vals = append(vals, valueOf(*key, v))
			if t.Kind == schemas.Map {
				vals = append(vals, valueOf(*t.Elem, pick(m, "element", m.pool[t.Elem.Kind])))
			} else if n > 1 && t.Kind == schemas.List {
				vals = append(vals, valueOf(*key, v))
			}
		}
	}
	if t.Kind == schemas.List && m.int("backward", 0, 1) > 0 {
		slices.Reverse(vals)
	}
	return drivers.Collection(t.Kind, vals)
}

// key draws a value of a key column. The first column of a partition is the sequence's own.
func (m *machine) key(t *schemas.Table, c *schemas.Column) drivers.Value {
	if v, ok := m.pinned[c]; ok {
		return v
	}
	switch n := m.int("partition", 0, 1); {
	case c != t.Partition[0]:
		return m.value(c.Type, false)
	case c.Type.Kind == schemas.Text:
		return drivers.Text(fmt.Sprintf("r%d.%s", m.sequence, m.pool[schemas.Text][n]))
	default:
		return valueOf(c.Type, m.sequence*2+n)
	}
}

// draw draws a call.
func (m *machine) draw(p *schemas.Pattern) call {
	if p.Kind == schemas.Batch {
		return call{p: p, parts: m.drawParts(p)}
	}
	return call{p: p, args: m.drawArgs(p)}
}

func (m *machine) drawArgs(p *schemas.Pattern) []drivers.Value {
	var args []drivers.Value
	column := func(c *schemas.Column, null bool) {
		if slices.Contains(p.Table.Key(), c) {
			if v := m.key(p.Table, c); !null || m.int("no bound", 0, 3) > 0 {
				args = append(args, v)
			} else {
				args = append(args, drivers.Value{})
			}
		} else {
			args = append(args, m.value(c.Type, null))
		}
	}
	for _, c := range p.By {
		column(c, false)
	}
	if p.In != nil {
		var vals []drivers.Value
		for range m.int("listed", 0, 4) {
			if v := m.key(p.Table, p.In); !slices.ContainsFunc(vals, v.Equal) {
				vals = append(vals, v)
			}
		}
		args = append(args, drivers.ListOf(vals))
	}
	if p.Element != nil {
		args = append(args, m.value(*p.Element.Type.Key, false))
	}
	for _, c := range p.Filter {
		column(c, false)
	}
	for _, b := range []*schemas.Bound{p.From, p.To} {
		if b != nil {
			column(b.Column, true)
		}
	}
	begins := overPlain(p) || m.int("begins", 0, 2) == 0
	for _, c := range p.After {
		if begins {
			args = append(args, drivers.Value{})
		} else {
			column(c, false)
		}
	}
	if p.LimitArg {
		limit := pick(m, "limit", []int{1, 2, 3, 5, 1000, 1 << 31})
		if overPlain(p) {
			limit = 1000
		}
		args = append(args, drivers.Bigint(int64(limit)))
	}
	if !p.Kind.Reads() {
		nullable := (p.Kind == schemas.Put || p.Kind == schemas.PutIf) && !m.atOnce
		for i, c := range p.Columns {
			args = append(args, m.value(c.Type, nullable && !(p.Static && i == 0)))
		}
	}
	for _, c := range p.If {
		args = append(args, m.value(c.Type, true))
	}
	return args
}

// overPlain reports whether a read goes through an index over plain columns. Where it has rows that are
// null in one of them, if it has them, is the engine's affair.
func overPlain(p *schemas.Pattern) bool { return p.Index != nil && !p.Index.OverKeys() }

// drawParts draws the calls of a batch. The parts of an atomic one share what they have to.
func (m *machine) drawParts(p *schemas.Pattern) (parts []call) {
	pinned := m.pinned
	m.pinned = map[*schemas.Column]drivers.Value{}
	defer func() { m.pinned = pinned }()
	root := p.Parts[0].Pattern.Table
	for root.Parent != nil && !root.Parent.Header() {
		root = root.Parent
	}
	if p.Atomic > schemas.AtomicNone && p.Atomic < schemas.AtomicAll {
		for _, c := range root.Key() {
			if p.Atomic == schemas.AtomicRow || slices.Contains(root.Partition, c) {
				m.pinned[c] = m.key(root, c)
			}
		}
	}
	apart := p.Parallel > 1 || p.Conditional() // the order of parts is the engine's affair
	var keys []string
	for i, part := range p.Parts {
		most := 1
		if part.Each != "" {
			most = 3
		}
		for range m.int("calls of "+part.Pattern.Name, 0, most) {
			x := call{p: part.Pattern, args: m.drawArgs(part.Pattern), at: i}
			key := x.p.Table.Name + line(x.args[:len(x.p.By)])
			if apart && slices.Contains(keys, key) || !m.possible(x) {
				continue
			}
			parts, keys = append(parts, x), append(keys, key)
		}
	}
	if m.int("backward", 0, 1) > 0 {
		slices.Reverse(parts)
	}
	return parts
}

// possible reports whether engines agree on what a write does. It is no add to a counter that was deleted. Nor would
// it, unless it is a put, leave a row whose columns are all null. Whether there is such a row is the engine's affair:
// Cassandra's UPDATE writes no mark of a row.
func (m *machine) possible(w call) bool {
	p, key := w.p, w.p.Table.Name+line(w.args[:len(w.p.By)])
	counts := slices.ContainsFunc(p.Table.Columns, func(c *schemas.Column) bool { return c.Type.Kind == schemas.Counter })
	if counts && p.Kind == schemas.Delete {
		m.spent[key] = true
	}
	if p.Kind == schemas.Add && m.spent[key] {
		return false
	}
	if p.Kind == schemas.Put || p.Kind == schemas.Delete || p.Absent || p.Static {
		return true
	}
	x := m.ref.written(p, w.args)
	return slices.ContainsFunc(p.Table.Columns, func(c *schemas.Column) bool {
		return !x[c].IsNull() && !(c.Type.Collection() && len(x[c].Elems()) == 0)
	})
}

// call is a pattern with its arguments, or a batch with the calls of its parts.
type call struct {
	p     *schemas.Pattern
	args  []drivers.Value
	parts []call
	at    int // position of the part in its batch
}

// String writes a call for a failure.
func (x call) String() string {
	if x.p.Kind != schemas.Batch {
		return x.p.Name + " (" + line(x.args) + ")"
	}
	return fmt.Sprintf("batch %s of %v", x.p.Name, x.parts)
}

// writes returns the writes that a call is.
func (x call) writes() []call {
	if x.p.Kind == schemas.Batch {
		return x.parts
	}
	return []call{x}
}

// outcome is what a call returns.
type outcome struct {
	applied bool
	rows    []string // those of a read, or the new values of an add that returns them
	present string   // values of the columns whose condition does not hold; "" if the engine does not return them
	cost    drivers.Cost
}

// String writes an outcome for a failure.
func (o outcome) String() string { return fmt.Sprintf("applied %v, rows %q", o.applied, o.rows) }

func (o outcome) equal(p outcome) bool { return o.applied == p.applied && slices.Equal(o.rows, p.rows) }

// do runs a call on the store, and takes what it cost. It poisons the arguments.
func (c *client) do(x call) (o outcome, err error) {
	st := c.statement(x.p.Name)
	c.session.Take() // what others cost
	defer func() { o.cost = c.session.Take() }()
	switch {
	case x.p.Kind.Reads():
		o.rows, err = c.run(st, x.p, clone(x.args))
	case x.p.Kind == schemas.Batch:
		calls := make([]drivers.Call, len(x.parts))
		for i, part := range x.parts {
			calls[i] = drivers.Call{Part: part.at, Args: clone(part.args)}
		}
		err = c.session.Batch(c.ctx, st, calls)
		for _, call := range calls {
			poison(call.Args)
		}
		if o.applied = err == nil; errors.Is(err, drivers.ErrNotApplied) {
			err = nil
		}
	default:
		args := clone(x.args)
		var r drivers.Result
		r, err = c.session.Write(c.ctx, st, args)
		poison(args)
		if o.applied = r.Applied; r.Applied && x.p.ReturnsNew {
			o.rows = []string{line(r.Row)}
		} else if !r.Applied {
			o.present = line(r.Row)
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", x, err)
	}
	return o, err
}

// do runs a call on the reference.
func (r *reference) do(x call) (o outcome) {
	if x.p.Kind.Reads() {
		return r.read(x.p, x.args)
	}
	for _, w := range x.writes() {
		x := find(r.lists(w.p)[w.p.Table], w.p.By, w.args)
		if w.p.Absent && x != nil || w.p.Present && x == nil || !x.has(w.p.If, w.args[w.p.ArgLayout().If:]) {
			var present []drivers.Value // the condition does not hold
			for _, c := range w.p.If {
				present = append(present, x[c])
			}
			return outcome{present: line(present)}
		}
	}
	for _, w := range x.writes() {
		if returned := r.write(w.p, w.args); x.p.ReturnsNew {
			o.rows = []string{line(returned)}
		}
	}
	o.applied = true
	return o
}

// run runs a read and returns its rows as text. It poisons the arguments.
func (c *client) run(st drivers.Statement, p *schemas.Pattern, args []drivers.Value) (got []string, err error) {
	types := columnTypes(p)
	err = c.session.Read(c.ctx, st, args, func(row []drivers.Value) error {
		if len(row) != len(types) {
			return fmt.Errorf("a row of %d columns, expected %d: %s", len(row), len(types), line(row))
		}
		for i, v := range row { // a counter may come as the bigint that it is
			k := v.Kind()
			if k != schemas.Null && k != types[i].Kind && !(k == schemas.Bigint && types[i].Kind == schemas.Counter) {
				return fmt.Errorf("column %d is a %s, expected a %s: %s", i+1, k, types[i], line(row))
			}
		}
		got = append(got, line(row))
		return nil
	})
	poison(args)
	return got, err
}

func clone(args []drivers.Value) []drivers.Value { return drivers.ListOf(args).Clone().Elems() }
