package drivertest

import (
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
