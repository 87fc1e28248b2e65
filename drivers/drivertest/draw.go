package drivertest

import (
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
		if kind := keys.kind; kind != schemas.Bigint || !adds {
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
	vals := list{}
	for i, v := range m.pool[key.Kind] {
		n := m.int("times", 0, 2)
		if m.atOnce && i == 0 { // of a row without any value engines may keep nothing
			n = max(n, 1)
		}
		if n > 0 {
			vals = append(vals, v)
			if t.Kind == schemas.Map {
				vals = append(vals, pick(m, "element", m.pool[t.Elem.Kind]))
			} else if n > 1 && t.Kind == schemas.List {
				vals = append(vals, v)
			}
		}
	}
	if t.Kind == schemas.List && m.int("backward", 0, 1) > 0 {
		slices.Reverse(vals)
	}
	return valueOf(t, vals)
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

// possible reports whether engines agree on what a write does.
func (m *machine) possible(w call) bool { return m.fresh(w.p, w.args) && !m.vanishing(w.p, w.args) }

// fresh reports whether a write is no add to a counter that was deleted.
func (m *machine) fresh(p *schemas.Pattern, args []drivers.Value) bool {
	key := p.Table.Name + line(args[:len(p.By)])
	counts := slices.ContainsFunc(p.Table.Columns, func(c *schemas.Column) bool { return c.Type.Kind == schemas.Counter })
	if counts && p.Kind == schemas.Delete {
		m.spent[key] = true
	}
	return p.Kind != schemas.Add || !m.spent[key]
}

// vanishing reports whether a write other than a put would leave a row whose columns are all null. Whether
// there is such a row is the engine's affair: Cassandra's UPDATE writes no mark of a row.
func (m *machine) vanishing(p *schemas.Pattern, args []drivers.Value) bool {
	if p.Kind == schemas.Put || p.Kind == schemas.Delete || p.Absent || p.Static {
		return false
	}
	x := m.ref.written(p, args)
	return !slices.ContainsFunc(p.Table.Columns, func(c *schemas.Column) bool {
		return !x[c].IsNull() && !(c.Type.Collection() && len(x[c].Elems()) == 0)
	})
}
