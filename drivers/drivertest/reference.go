package drivertest

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sync/errgroup"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// reference is the simplest store that keeps the contract: lists of rows, which each call searches
// from end to end. It runs the patterns of every schema, one call at a time.
type reference struct {
	rows    map[*schemas.Table][]record
	statics map[*schemas.Table][]record // by partition key
}

// record has the values of a row by column.
type record map[*schemas.Column]drivers.Value

func newReference() *reference {
	return &reference{rows: map[*schemas.Table][]record{}, statics: map[*schemas.Table][]record{}}
}

// Compare orders values of a key column. A TimeUUID sorts by its time, and then by the last
// eight bytes, each of them signed.
func Compare(a, b drivers.Value) int {
	if a.Kind() == schemas.TimeUUID {
		u, v := a.UUIDBytes(), b.UUIDBytes()
		time := func(u [16]byte) uint64 {
			return uint64(binary.BigEndian.Uint16(u[6:])&0x0fff)<<48 | uint64(binary.BigEndian.Uint16(u[4:]))<<32 |
				uint64(binary.BigEndian.Uint32(u[:]))
		}
		return cmp.Or(cmp.Compare(time(u), time(v)),
			slices.CompareFunc(u[8:], v[8:], func(x, y byte) int { return cmp.Compare(int8(x), int8(y)) }))
	}
	return a.Compare(b)
}

// has reports whether a row has these values in these columns.
func (x record) has(columns []*schemas.Column, vals []drivers.Value) bool {
	for i, c := range columns {
		if !x[c].Equal(vals[i]) {
			return false
		}
	}
	return true
}

// lists returns the rows that a pattern is about, by table: rows, or the static columns of partitions.
func (r *reference) lists(p *schemas.Pattern) map[*schemas.Table][]record {
	if p.Static {
		return r.statics
	}
	return r.rows
}

func find(rows []record, columns []*schemas.Column, vals []drivers.Value) record {
	for _, x := range rows {
		if x.has(columns, vals) {
			return x
		}
	}
	return nil
}

// read runs a read. It examines the rows in the range that the key columns of the pattern give, as far as the limit.
func (r *reference) read(p *schemas.Pattern, args []drivers.Value) (o outcome) {
	l := p.ArgLayout()
	lists := r.lists(p)
	var rows []record
	for _, x := range lists[p.Table] {
		if x.has(p.By, args) && within(x, p, args, l) {
			rows = append(rows, x)
		}
	}
	slices.SortStableFunc(rows, func(a, b record) int { return compareRows(p, a, b) })
	if p.In != nil { // in the order of the list
		var listed []record
		for _, v := range args[l.In].Elems() {
			for _, x := range rows {
				if x[p.In].Equal(v) {
					listed = append(listed, x)
				}
			}
		}
		rows = listed
	}
	limit := p.Limit
	if p.LimitArg {
		limit = int(args[l.Limit].Int64())
	}
	for _, x := range rows {
		if limit > 0 && len(o.rows) == limit {
			break
		}
		o.cost.RowsScanned++
		if vals, found := r.yielded(p, x, args, l); found {
			o.rows = append(o.rows, line(vals))
		}
	}
	return o
}

// yielded returns the values that a read yields of a row, if it yields it.
func (r *reference) yielded(p *schemas.Pattern, x record, args []drivers.Value, l schemas.ArgLayout,
) (vals []drivers.Value, found bool) {
	var partition []drivers.Value
	for _, c := range p.Table.Partition {
		partition = append(partition, x[c])
	}
	for _, c := range p.Columns {
		if c.Role == schemas.Static && !p.Static {
			vals = append(vals, find(r.statics[p.Table], p.Table.Partition, partition)[c])
		} else {
			vals = append(vals, x[c])
		}
	}
	if p.Element != nil {
		pairs := x[p.Element].Elems()
		at := 0
		for at < len(pairs) && !pairs[at].Equal(args[l.Element]) {
			at += 2
		}
		if at == len(pairs) {
			return nil, false
		}
		vals = append(vals, pairs[at+1])
	}
	return vals, x.has(p.Filter, args[l.Filter:])
}

// within reports whether a row is in the range of a read, and after the row where its page begins.
func within(x record, p *schemas.Pattern, args []drivers.Value, l schemas.ArgLayout) bool {
	beyond := func(b *schemas.Bound, at, sign int) bool {
		if b == nil || args[at].IsNull() {
			return false
		}
		c := Compare(x[b.Column], args[at]) * sign
		return c < 0 || c == 0 && b.Open
	}
	if beyond(p.From, l.From, 1) || beyond(p.To, l.To, -1) {
		return false
	}
	if len(p.After) == 0 || args[l.After].IsNull() {
		return true
	}
	after := maps.Clone(x)
	for i, c := range p.After {
		after[c] = args[l.After+i]
	}
	return compareRows(p, x, after) > 0
}

// compareRows orders two rows as a read does: by the columns of its index, and by the key.
func compareRows(p *schemas.Pattern, a, b record) int {
	var columns []schemas.IndexColumn
	if p.Index != nil {
		columns = slices.Clone(p.Index.Columns)
	}
	for _, c := range p.Table.Key() {
		columns = append(columns, schemas.IndexColumn{Column: c, Desc: c.Desc})
	}
	for _, c := range columns {
		if d := Compare(a[c.Column], b[c.Column]); d != 0 {
			if c.Desc != p.Reverse {
				return -d
			}
			return d
		}
	}
	return 0
}

// write makes a write whose condition holds, and returns the row that an add returns.
func (r *reference) write(p *schemas.Pattern, args []drivers.Value) (returned []drivers.Value) {
	lists := r.lists(p)
	if p.Kind == schemas.Delete {
		gone := func(x record) bool { return x.has(p.By, args) }
		r.rows[p.Table] = slices.DeleteFunc(r.rows[p.Table], gone)
		if p.Scope == schemas.ScopePartition {
			r.statics[p.Table] = slices.DeleteFunc(r.statics[p.Table], gone)
		}
		return nil
	}
	x := r.written(p, args)
	if at := slices.IndexFunc(lists[p.Table], func(x record) bool { return x.has(p.By, args) }); at >= 0 {
		lists[p.Table][at] = x
	} else if p.Kind != schemas.Remove {
		lists[p.Table] = append(lists[p.Table], x)
	}
	for _, c := range p.Columns {
		returned = append(returned, x[c])
	}
	return returned
}

// written returns the row that a write leaves.
func (r *reference) written(p *schemas.Pattern, args []drivers.Value) record {
	lists := r.lists(p)
	x := maps.Clone(find(lists[p.Table], p.By, args))
	if x == nil {
		x = record{}
		for i, c := range p.By {
			x[c] = args[i].Clone()
		}
	}
	for i, v := range args[p.ArgLayout().Columns:][:len(p.Columns)] {
		c := p.Columns[i]
		switch p.Kind {
		case schemas.Add:
			v = drivers.Number(c.Type.Kind, x[c].Int64()+v.Int64())
		case schemas.Append:
			v = drivers.ListOf(slices.Concat(x[c].Elems(), v.Elems()))
		case schemas.Remove:
			v = drivers.ListOf(slices.DeleteFunc(slices.Clone(x[c].Elems()), func(e drivers.Value) bool {
				return slices.ContainsFunc(v.Elems(), e.Equal)
			}))
		}
		x[c] = v.Clone()
	}
	return x
}

// A history is what several clients do at the same time. The store keeps the contract if the calls could have run one
// after another: in an order in which none comes before one that had ended when it began, and in which the reference
// returns what the store has returned. Porcupine looks for that order, for each place by itself.
const (
	clients    = 4
	callsEach  = 30
	callsLive  = 10 // over a network
	keysShared = 2  // values of each kind: with so few, the clients often meet at a row
)

// mix is a choice of writes that clients make at the same time.
type mix struct {
	writes    []*schemas.Pattern
	writers   int  // so many of the clients write, all read
	unordered bool // readers may see elements of lists in another order than they are in later
}

// singles returns the writes of a pattern: those of a batch, or itself.
func singles(p *schemas.Pattern) (all []*schemas.Pattern) {
	for _, part := range p.Parts {
		all = append(all, part.Pattern)
	}
	if all == nil {
		all = append(all, p)
	}
	return all
}

// mixes returns the mixes of a schema that a read watches. Writes with a condition meet their like only, as adds and
// appends do. Elsewhere than in this process the later of two timestamps wins, column by column: there clients write
// the same columns, or one of them writes. One of them makes those that replace many cells, too: they find these
// first, so that others that are written meanwhile may stay.
func (m *machine) mixes() (all []mix) {
	var together, alone, conditional, adds, appends []*schemas.Pattern
	for _, p := range m.writes {
		wide := slices.ContainsFunc(singles(p), func(w *schemas.Pattern) bool { // it replaces many cells
			collection := func(c *schemas.Column) bool { return c.Type.Collection() }
			return w.Scope != schemas.ScopeRow || w.Kind == schemas.Put && slices.ContainsFunc(w.Columns, collection)
		})
		switch {
		case p.Kind == schemas.Batch && p.Atomic != schemas.AtomicRow && p.Atomic != schemas.AtomicPartition:
		case p.Conditional():
			conditional = append(conditional, p)
		case p.Kind == schemas.Add:
			adds = append(adds, p)
		case p.Kind == schemas.Append:
			appends = append(appends, p)
		case wide && m.caps.Torn || p.Kind == schemas.Remove:
		default:
			alone = append(alone, p)
			if m.caps.InProcess && !wide {
				together = append(together, p)
			} else if !m.caps.InProcess && !wide && p.Kind == schemas.Put {
				all = append(all, mix{writes: []*schemas.Pattern{p}, writers: clients})
			}
		}
	}
	all = append(all, mix{conditional, clients, false}, mix{adds, clients, false},
		mix{appends, clients, !m.caps.InProcess}, mix{together, clients, false}, mix{alone, 1, false})
	return slices.DeleteFunc(all, func(x mix) bool { return len(m.watching(x)) == 0 })
}

// watching returns the reads that see a table of the mix as it is at one moment: of one partition, or of one row where
// slices are Torn.
func (m *machine) watching(x mix) (reads []*schemas.Pattern) {
	written := map[*schemas.Table]bool{}
	for _, p := range x.writes {
		for _, w := range singles(p) {
			written[w.Table] = true
		}
	}
	for _, p := range m.reads {
		whole := p.Kind == schemas.Get || p.Kind == schemas.Slice
		if m.caps.Torn { // static columns are a row of their own
			static := slices.ContainsFunc(p.Columns, func(c *schemas.Column) bool { return c.Role == schemas.Static })
			whole = p.Kind == schemas.Get && !static
		}
		// Cassandra finds the rows of such a filter by the index, whose entries it writes apart from the rows.
		indexed := !m.caps.InProcess && slices.ContainsFunc(p.Table.Indexes, func(x *schemas.Index) bool {
			return slices.ContainsFunc(x.Columns, func(c schemas.IndexColumn) bool {
				return slices.Contains(p.Filter, c.Column)
			})
		})
		if written[p.Table] && whole && p.In == nil && p.Index == nil && !p.Static && !indexed {
			reads = append(reads, p)
		}
	}
	return reads
}

// place names what a call reads or writes as a whole.
func (m *machine) place(x call) string {
	n := len(x.p.Table.Partition)
	if m.caps.Torn {
		n = len(x.p.By)
	}
	return x.p.Table.Name + " (" + line(x.args[:n]) + ")"
}

// together has clients run random calls of one of the mixes at the same time, and checks their history.
func (m *machine) together(mixes []mix) {
	for kind, vals := range m.pool {
		m.pool[kind] = vals[:min(keysShared, len(vals))]
	}
	x := pick(m, "mix", mixes)
	reads := m.watching(x)
	m.ref = newReference()
	each := callsEach
	if !m.caps.InProcess {
		each = callsLive
	}
	var work [clients][]call
	for i := range work {
		for range each {
			if i < x.writers && m.int("write", 0, 1) > 0 {
				if w := m.draw(pick(m, "write", x.writes)); m.caps.InProcess || !w.unconditional() {
					work[i] = append(work[i], w)
				}
			} else {
				work[i] = append(work[i], m.draw(pick(m, "read", reads)))
			}
		}
	}
	var moment atomic.Int64
	var history [clients][]porcupine.Operation
	var g errgroup.Group
	for i, calls := range work {
		g.Go(func() error {
			for _, call := range calls {
				op := porcupine.Operation{ClientId: i, Input: call, Call: moment.Add(1)}
				got, err := m.others[i].do(call)
				op.Output, op.Return = got, moment.Add(1)
				if errors.Is(err, drivers.ErrUnknown) && m.ctx.Err() == nil { // it may be applied at any time from now on
					op.Output, op.Return = nil, math.MaxInt64
				} else if err != nil {
					return err
				}
				history[i] = append(history[i], op)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		m.fail.Fatalf("%v", err)
	}
	places := map[string][]porcupine.Operation{}
	for _, op := range slices.Concat(history[:]...) {
		for place, part := range m.byPlace(op.Input.(call)) {
			op.Input = part
			places[place] = append(places[place], op)
		}
	}
	for place, ops := range places {
		if porcupine.CheckOperationsTimeout(x.model(), ops, patience) != porcupine.Ok {
			slices.SortFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
			var lines strings.Builder
			for _, op := range ops {
				fmt.Fprintf(&lines, "\n  %d to %d: client %d: %s: %v", op.Call, op.Return, op.ClientId, op.Input, op.Output)
			}
			m.fail.Fatalf("calls on %s that no order explains:%s", place, lines.String())
		}
	}
}

// unconditional reports whether a call is a batch that may have conditions, and has none: a plain write. Cassandra does
// not order it with conditional ones: a delete whose Paxos round began before it leaves what it has put.
func (x call) unconditional() bool {
	conditional := func(part call) bool { return part.p.Conditional() }
	return x.p.Kind == schemas.Batch && x.p.Conditional() && !slices.ContainsFunc(x.parts, conditional)
}

// byPlace divides a batch into those of each place.
func (m *machine) byPlace(x call) map[string]call {
	if x.p.Kind != schemas.Batch {
		return map[string]call{m.place(x): x}
	}
	places := map[string]call{}
	for _, part := range x.parts {
		at := m.place(part)
		places[at] = call{p: x.p, parts: append(places[at].parts, part)}
	}
	return places
}

// model is the reference for porcupine.
func (x mix) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return newReference() },
		Step: func(state, input, output any) (bool, any) {
			r := state.(*reference).clone()
			want := r.do(input.(call))
			got, known := output.(outcome)
			if x.unordered {
				want.rows, got.rows = sorted(want.rows), sorted(got.rows)
			}
			return !known || got.equal(want), r
		},
		Equal: func(a, b any) bool { return a.(*reference).equal(b.(*reference)) },
	}
}

// sorted sorts the words of rows, and the elements of lists.
func sorted(rows []string) (all []string) {
	for _, row := range rows {
		words := strings.FieldsFunc(row, func(r rune) bool { return strings.ContainsRune(" ,[]", r) })
		slices.Sort(words)
		all = append(all, strings.Join(words, " "))
	}
	return all
}

// clone returns a reference that can be changed by itself. Rows are replaced, never changed.
func (r *reference) clone() *reference {
	c := newReference()
	for t, rows := range r.rows {
		c.rows[t] = slices.Clone(rows)
	}
	for t, rows := range r.statics {
		c.statics[t] = slices.Clone(rows)
	}
	return c
}

func (r *reference) equal(o *reference) bool {
	row := func(x, y record) bool { return maps.EqualFunc(x, y, drivers.Value.Equal) }
	rows := func(a, b []record) bool { return slices.EqualFunc(a, b, row) }
	return maps.EqualFunc(r.rows, o.rows, rows) && maps.EqualFunc(r.statics, o.statics, rows)
}
