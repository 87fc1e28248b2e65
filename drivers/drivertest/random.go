package drivertest

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// randomDefaults are the values of rapid's flags unless the command line sets them. The sequences are
// the same in each run: a seed of 0 makes others.
var randomDefaults = map[string]string{"rapid.seed": "1", "rapid.checks": "40", "rapid.steps": "50"}

// sharedChecks is how many random sequences run on a shared engine, where each call
// crosses the network.
const sharedChecks = "8"

// setFlag sets a flag for this test, unless the command line has set it.
func setFlag(t testing.TB, name, value string) {
	t.Helper()
	f := flag.Lookup(name)
	if f.Value.String() != f.DefValue {
		return
	}
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { flag.Set(name, f.DefValue) })
}

// random returns a topic that compares random sequences of all calls of a schema with the reference,
// and then runs further checks.
func random(file string, further ...func(*suite)) func(t testing.TB, open Open) {
	return func(t testing.TB, open Open) {
		s := begin(t, open, file)
		if s.shared {
			setFlag(t, "rapid.checks", sharedChecks)
		}
		for name, value := range randomDefaults {
			setFlag(t, name, value)
		}
		m := &machine{client: s.client(), ref: newReference(), spent: map[string]bool{}}
		var reads, writes []*schemas.Pattern
		for _, p := range s.schema.Patterns {
			if s.offers(p.Name) && p.Kind.Reads() {
				reads = append(reads, p)
			} else if s.offers(p.Name) {
				writes = append(writes, p)
			}
		}
		rapid.Check(t, func(rt *rapid.T) {
			m.rt, m.fail = rt, rt
			m.sequence++
			m.fill()
			rt.Repeat(map[string]func(*rapid.T){
				"write": func(*rapid.T) { m.write(pick(m, "write", writes)) },
				"":      func(*rapid.T) { m.read(pick(m, "read", reads)) },
			})
			for _, table := range s.schema.Tables {
				if !table.Header() {
					m.scan(schemas.ScanOf(table))
				}
			}
			m.agree()
		})
		for _, check := range further {
			check(s)
		}
	}
}

// machine is the state of random sequences. All have one reference, and partitions of their own.
type machine struct {
	*client
	rt       *rapid.T
	ref      *reference
	sequence int
	spent    map[string]bool                   // counters that were deleted: no engine adds to them again
	pinned   map[*schemas.Column]drivers.Value // key columns that all parts of a batch share
	added    int                               // adds since the last put
	pool     map[schemas.Kind][]any            // values of the sequence
}

func pick[T any](m *machine, what string, from []T) T {
	return rapid.SampledFrom(from).Draw(m.rt, what)
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
	for _, v := range m.pool[key.Kind] {
		if n := m.int("times", 0, 2); n > 0 {
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

// draw draws the arguments of a call.
func (m *machine) draw(p *schemas.Pattern) []drivers.Value {
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
		for i, c := range p.Columns {
			args = append(args, m.value(c.Type, (p.Kind == schemas.Put || p.Kind == schemas.PutIf) && !(p.Static && i == 0)))
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

func clone(args []drivers.Value) []drivers.Value { return drivers.ListOf(args).Clone().Elems() }

// spoil makes one argument of some calls wrong: null in a key, or a value of another type. p is the pattern that runs.
// Such a call fails, and changes nothing.
func (m *machine) spoil(p *schemas.Pattern, args []drivers.Value) bool {
	if len(args) == 0 || m.int("spoiled", 0, 9) > 0 {
		return false
	}
	switch i := m.int("argument", 0, len(args)-1); {
	case i < len(p.By) && m.int("null in a key", 0, 1) > 0:
		args[i] = drivers.Value{}
	case p.Args()[i].Type.Kind == schemas.Boolean:
		args[i] = drivers.Int(1)
	default:
		args[i] = drivers.Boolean(true)
	}
	return true
}

// rejected checks the error of a call with a wrong argument.
func (m *machine) rejected(what string, err error) {
	m.fail.Helper()
	if err == nil || errors.Is(err, drivers.ErrUnknown) {
		m.fail.Fatalf("%s, which has a wrong argument: %v, want an error of a call that was not sent", what, err)
	}
}

// describe writes a call for a failure.
func describe(p *schemas.Pattern, args []drivers.Value) string {
	return p.Name + " (" + line(args) + ")"
}

// read runs a read on both sides.
func (m *machine) read(p *schemas.Pattern) {
	m.fail.Helper()
	args := m.draw(p)
	if m.spoil(m.statement(p.Name).Pattern(), args) {
		_, err := m.run(m.statement(p.Name), p, args)
		m.rejected("a read by "+p.Name, err)
		return
	}
	if p.Static && p.Kind == schemas.Get && find(m.ref.statics[p.Table], p.By, args) == nil {
		return // whether there is a row where none was ever set is the engine's affair
	}
	if !m.stopped(p, args) {
		m.compare(p, args)
	}
}

// stopped has yield return an error at some row of some reads. It ends the read, which returns it as it is.
func (m *machine) stopped(p *schemas.Pattern, args []drivers.Value) bool {
	m.fail.Helper()
	at := m.int("stop at row", -6, 2)
	if at < 1 || overPlain(p) || at > len(m.ref.read(p, args)) {
		return false
	}
	stop, n := errors.New("stop"), 0
	err := m.session.Read(m.ctx, m.statement(p.Name), args, func([]drivers.Value) error {
		if n++; n == at {
			return stop
		}
		return nil
	})
	if err != stop || n != at {
		m.fail.Fatalf("%s, stopped at row %d, yields %d rows and returns %v", describe(p, args), at, n, err)
	}
	return true
}

func (m *machine) compare(p *schemas.Pattern, args []drivers.Value) {
	m.fail.Helper()
	what, own := describe(p, args), clone(args)
	got, err := m.run(m.statement(p.Name), p, own)
	if err != nil {
		m.fail.Fatalf("%s: %v", what, err)
	}
	m.equal(what, p, got, m.ref.read(p, args))
}

// scan reads a whole table.
func (m *machine) scan(p *schemas.Pattern) {
	m.fail.Helper()
	st, err := m.store.Prepare(m.ctx, p)
	if err != nil {
		m.fail.Fatalf("%v", err)
	}
	got, err := m.run(st, p, nil)
	if err != nil {
		m.fail.Fatalf("scan %s: %v", p.Table.Name, err)
	}
	m.equal("scan "+p.Table.Name, p, got, m.ref.read(p, nil))
}

func (m *machine) equal(what string, p *schemas.Pattern, got, want []string) {
	m.fail.Helper()
	null := func(line string) bool { return overPlain(p) && strings.HasPrefix(line, "null") }
	got, want = slices.DeleteFunc(got, null), slices.DeleteFunc(want, null)
	if limit := p.Limit; p.Kind == schemas.Scan && limit > 0 {
		if len(got) != len(want) {
			m.fail.Fatalf("%s yields %d rows, want %d", what, len(got), len(want))
		}
		return // which ones is the engine's affair
	}
	if p.Kind == schemas.Scan || overPlain(p) && len(p.After) == 0 {
		slices.Sort(got)
		slices.Sort(want)
	}
	if !slices.Equal(got, want) {
		m.fail.Fatalf("%s yields\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// write runs a write on both sides.
func (m *machine) write(p *schemas.Pattern) {
	m.fail.Helper()
	if p.Kind == schemas.Batch {
		m.batched(p)
		return
	}
	args := m.draw(p)
	if m.spoil(m.statement(p.Name).Pattern(), args) {
		_, err := m.session.Write(m.ctx, m.statement(p.Name), args)
		m.rejected(describe(p, args), err)
		return
	}
	if !m.fresh(p, args) || m.vanishing(p, args) {
		return
	}
	switch p.Kind {
	case schemas.Add:
		m.added++
	case schemas.Put: // each add may put a cell's time on HBase 1 ms ahead of the clock: see decision 5
		time.Sleep(time.Duration(min(m.added, 20)) * time.Millisecond)
		m.added = 0
	}
	what, own := describe(p, args), clone(args)
	r, err := m.session.Write(m.ctx, m.statement(p.Name), args)
	poison(args)
	applies := m.ref.applies(p, own)
	if err != nil || r.Applied != applies {
		m.fail.Fatalf("%s: applied %v, %v; want %v", what, r.Applied, err, applies)
	}
	if !applies {
		return
	}
	returned := m.ref.write(p, own)
	if p.ReturnsNew && line(r.Row) != line(returned) {
		m.fail.Fatalf("%s returns %s, want %s", what, line(r.Row), line(returned))
	}
}

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

// batched runs a batch on both sides. The parts of an atomic one share what they have to.
func (m *machine) batched(p *schemas.Pattern) {
	m.fail.Helper()
	m.pinned = map[*schemas.Column]drivers.Value{}
	defer func() { m.pinned = nil }()
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
	var calls []drivers.Call
	var words, keys []string
	applies := true
	for i, part := range p.Parts {
		most := 1
		if part.Each != "" {
			most = 3
		}
		for range m.int("calls of "+part.Pattern.Name, 0, most) {
			args := m.draw(part.Pattern)
			key := part.Pattern.Table.Name + line(args[:len(part.Pattern.By)])
			if apart && slices.Contains(keys, key) || !m.fresh(part.Pattern, args) || m.vanishing(part.Pattern, args) {
				continue
			}
			applies = applies && m.ref.applies(part.Pattern, args)
			calls, keys = append(calls, drivers.Call{Part: i, Args: args}), append(keys, key)
		}
	}
	if m.int("backward", 0, 1) > 0 {
		slices.Reverse(calls)
	}
	own, spoiled := slices.Clone(calls), false
	for i, c := range calls {
		spoiled = spoiled || m.spoil(p.Parts[c.Part].Pattern, c.Args)
		own[i].Args = clone(c.Args)
		words = append(words, describe(p.Parts[c.Part].Pattern, c.Args))
	}
	err := m.session.Batch(m.ctx, m.statement(p.Name), calls)
	for _, c := range calls {
		poison(c.Args)
	}
	if spoiled {
		m.rejected("batch "+p.Name+" of "+strings.Join(words, ", "), err)
		return
	}
	if !applies && errors.Is(err, drivers.ErrNotApplied) {
		return
	}
	if err != nil || !applies {
		m.fail.Fatalf("batch %s of %s: %v; want it applied: %v", p.Name, strings.Join(words, ", "), err, applies)
	}
	for _, c := range own {
		m.ref.write(p.Parts[c.Part].Pattern, c.Args)
	}
}

// agree has the engine compare its index entries with the rows.
func (m *machine) agree() {
	m.fail.Helper()
	store, ok := m.store.(drivers.IndexChecker)
	if !ok {
		return
	}
	for _, t := range m.schema.Tables {
		err := store.CheckIndexes(m.ctx, t, func() error { return nil }, func(f drivers.IndexFault) {
			if !f.Stale {
				m.fail.Fatalf("index entries of %s %s: %s", t.Name, f.Index, f.What)
			}
		})
		if err != nil {
			m.fail.Fatalf("index entries of %s: %v", t.Name, err)
		}
	}
}
