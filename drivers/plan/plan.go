// Package plan holds what drivers share when they run a pattern: they count and
// check its arguments, find its limit, and put the columns of a row in order.
// Drivers of engines that sort by encoded keys also share the ranges of keys that
// calls read. How rows are stored and read is each driver's own.
package plan

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Plan is the part of a compiled pattern that is the same on every engine. A
// driver embeds it in its statement.
type Plan struct {
	drivers.Emulation
	gate    *Gate // the store whose sessions run it; nil: no session does
	pattern *schemas.Pattern
	method  method // that runs it
	args    []arg
	parts   []Plan // those of a batch
	// added says which values of a read's rows, or of a write's arguments, are additions to the source design: all if the
	// pattern or its table is one, else those at the positions.
	added struct {
		all bool
		at  []int
	}
	outs []int // the positions of the pattern's columns in a row that Yield gets; nil: the row is these columns
	// from and to bound a part of a scan by encoded keys: from <= key < to. nil is no bound. Range.Set keeps within them.
	from, to []byte
	// Layout says where each group of a call's arguments begins.
	Layout schemas.ArgLayout
}

// arg is an argument, and what its value must be.
type arg struct {
	schemas.Arg
	plain    schemas.Kind // a value of this kind fits; noKind: its elements must be checked too
	nullable bool
}

const noKind schemas.Kind = 255

// Of returns the plan of a pattern.
func Of(p *schemas.Pattern) Plan {
	own := Plan{pattern: p, Layout: p.ArgLayout()}
	own.added.all = p.Addition != "" && !p.Form
	for t := p.Table; t != nil; t = t.Parent {
		own.added.all = own.added.all || t.Addition != ""
	}
	counted, first := p.Columns, own.Layout.Columns
	if p.Element != nil {
		counted = []*schemas.Column{p.Element}
	}
	if p.Kind.Reads() {
		first = 0
	}
	for i, c := range counted {
		if c.Addition != "" {
			own.added.at = append(own.added.at, first+i)
		}
	}
	switch {
	case p.Kind == schemas.Batch:
		own.method = byBatch
	case !p.Kind.Reads():
		own.method = byWrite
	}
	for i, a := range p.Args() {
		must := i < len(p.By) || i == own.Layout.In || i == own.Layout.Element || p.Kind == schemas.Add
		after := i >= own.Layout.After && i < own.Layout.After+len(p.After)
		plain := a.Type.Kind
		if a.Type.Collection() {
			plain = noKind
		}
		own.args = append(own.args, arg{a, plain, !must && (!after || len(p.After) == 1)})
	}
	for _, part := range p.Parts {
		own.parts = append(own.parts, Of(part.Pattern))
	}
	return own
}

// sizes returns the size of a row or of a write's arguments, and that of the additions among them.
func (p *Plan) sizes(vs []drivers.Value) (all, added int64) {
	for i := range vs {
		all += int64(vs[i].Size())
	}
	if p.added.all {
		return all, all
	}
	for _, i := range p.added.at {
		if i < len(vs) { // a put may lack its last columns
			added += int64(vs[i].Size())
		}
	}
	return all, added
}

// Pattern implements drivers.Statement.
func (p *Plan) Pattern() *schemas.Pattern { return p.pattern }

func (p *Plan) base() *Plan { return p }

// admit returns the plan if a session of the store can run it by the method, with the arguments of a read or a write,
// or the parts of a batch. It checks all of them that an engine need not check.
func (p *Plan) admit(g *Gate, m method, args []drivers.Value, parts []drivers.Call) (_ *Plan, err error) {
	if p.gate != g {
		return nil, errForeign
	}
	if p.method != m {
		return nil, wrongMethod[m]
	}
	if m != byBatch {
		parts = []drivers.Call{{Args: args}}
	}
	for i := range parts {
		of, args := p, parts[i].Args
		if m == byBatch {
			at := parts[i].Part
			if at < 0 || at >= len(p.parts) {
				return nil, fmt.Errorf("no part %d: it has %d", at, len(p.parts))
			}
			of = &p.parts[at]
		}
		if len(args) != len(of.args) {
			err = fmt.Errorf("it needs %d arguments, found %d", len(of.args), len(args))
		}
		for j := 0; j < len(of.args) && err == nil; j++ {
			if a, k := &of.args[j], args[j].Kind(); k != a.plain && (k != schemas.Null || !a.nullable) {
				err = of.check(j, args)
			}
		}
		if err != nil && m == byBatch {
			err = fmt.Errorf("part %s: %w", of.pattern.Name, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}

var errAfter = errors.New("after must be null in all its columns or in none")

// check checks an argument with its elements.
func (p *Plan) check(i int, args []drivers.Value) error {
	v, first, last := &args[i], p.Layout.After, p.Layout.After+len(p.pattern.After)
	err := Fits(&p.args[i].Type, v)
	switch {
	case err != nil || !v.IsNull() || p.args[i].nullable:
	case i < first || i >= last:
		err = ErrNull
	case slices.ContainsFunc(args[first:last], func(v drivers.Value) bool { return !v.IsNull() }):
		err = errAfter
	}
	if err != nil {
		return fmt.Errorf("argument %s: %w", p.args[i].Name, err)
	}
	return nil
}

// Named wraps an error of a call with the pattern's name.
func (p *Plan) Named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("pattern %s: %w", p.pattern.Name, err)
}

// ErrNull is why an argument without a value is refused.
var ErrNull = errors.New("expected a value, null was given")

// Partial is the error of a write in several requests that stopped at err. If some of it was applied before, its
// outcome is unknown. The format says how much.
func Partial(err error, applied int, format string, args ...any) error {
	if err == nil || applied == 0 || errors.Is(err, drivers.ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", drivers.ErrUnknown, fmt.Sprintf(format, args...), err)
}

// PartsApplied is the Partial error of a batch.
func PartsApplied(err error, applied, of int) error {
	return Partial(err, applied, "%d of %d parts were applied", applied, of)
}

// InOneRow refuses a put-if that also has static columns, for an engine that keeps them in a row
// of their own and has conditions on one row only.
func (p *Plan) InOneRow() error {
	if p.pattern.SpansStatic() {
		return fmt.Errorf("it also has static columns, which are in another row: %w", drivers.ErrUnsupported)
	}
	return nil
}

// Bounds are the bounds of a range that a call gives.
type Bounds uint8

// The bounds of a pattern.
const (
	WithFrom Bounds = 1 << iota
	WithTo
	WithAfter
)

// String names the bounds, as "with from, after"; "" if there are none.
func (with Bounds) String() string {
	var words []string
	for i, word := range []string{"from", "to", "after"} {
		if with>>i&1 != 0 {
			words = append(words, word)
		}
	}
	if words == nil {
		return ""
	}
	return "with " + strings.Join(words, ", ")
}

// Possible returns the bounds that calls of the pattern can give.
func (p *Plan) Possible() Bounds { return p.bounds(func(int) bool { return true }) }

// Given returns the bounds that a call gives.
func (p *Plan) Given(args []drivers.Value) Bounds {
	return p.bounds(func(at int) bool { return !args[at].IsNull() })
}

// bounds returns the bounds of the pattern whose first arguments count.
func (p *Plan) bounds(counts func(at int) bool) (with Bounds) {
	if at := p.Layout.From; at >= 0 && counts(at) {
		with |= WithFrom
	}
	if at := p.Layout.To; at >= 0 && counts(at) {
		with |= WithTo
	}
	if len(p.pattern.After) > 0 && counts(p.Layout.After) {
		with |= WithAfter
	}
	return with
}

// Requests returns how many requests a read or a write is on an engine in this process: one, or
// one for each element if the pattern reads them in parallel.
func (p *Plan) Requests(args []drivers.Value) int64 {
	if p.pattern.Parallel > 0 && p.Layout.In >= 0 {
		return int64(len(args[p.Layout.In].Elems()))
	}
	return 1
}

// Compile compiles a pattern: one that find finds the table of, or a batch from its compiled parts.
func Compile[S, T any](p *schemas.Pattern, find func(*schemas.Pattern) (*T, error),
	one func(*schemas.Pattern, *T) (S, error), batch func(*schemas.Pattern, []S) (S, error),
) (st S, err error) {
	if p.Kind != schemas.Batch {
		t, err := find(p)
		if err != nil {
			return st, err
		}
		return one(p, t)
	}
	parts := make([]S, len(p.Parts))
	for i, part := range p.Parts {
		if parts[i], err = Compile(part.Pattern, find, one, batch); err != nil {
			return st, fmt.Errorf("part %s: %w", part.Pattern.Name, err)
		}
	}
	return batch(p, parts)
}

// Compiler returns a compiler of patterns. Its errors name the pattern.
func Compiler[S drivers.Statement](compile func(p *schemas.Pattern) (S, error)) drivers.Compiler {
	return func(p *schemas.Pattern) (drivers.Statement, error) {
		st, err := compile(p)
		if err != nil {
			return nil, fmt.Errorf("pattern %s: %w", p.Name, err)
		}
		return st, nil
	}
}

// Outputs says which columns the rows have that the engine yields: usually the key, the columns read of a row, and the
// partition's static columns. It returns the position of each of the pattern's columns among them.
func (p *Plan) Outputs(row ...[]*schemas.Column) []int {
	all := slices.Concat(row...)
	for _, c := range p.pattern.Columns {
		p.outs = append(p.outs, slices.Index(all, c))
	}
	return p.outs
}

// Fits checks that a value is of a type, with all its elements. Counters and
// bigints are the same to a client; null is of every type, but no element is null.
func Fits(t *schemas.Type, v *drivers.Value) error {
	k := v.Kind()
	counts := func(k schemas.Kind) bool { return k == schemas.Bigint || k == schemas.Counter }
	if k != t.Kind && k != schemas.Null && !(counts(k) && counts(t.Kind)) {
		return fmt.Errorf("a %s was given for a %s", k, t)
	}
	elems := v.Elems()
	if t.Kind == schemas.Map && len(elems)%2 != 0 {
		return errors.New("a map is key, value, key, value …, but the number of its elements is odd")
	}
	for i := range elems {
		elem := t.Elem
		if t.Kind == schemas.Map && i%2 == 0 {
			elem = t.Key
		}
		if err := Fits(elem, &elems[i]); err != nil {
			return err
		}
		if elems[i].IsNull() {
			return fmt.Errorf("an element: %w", ErrNull)
		}
	}
	return nil
}

// OrderCounts returns an error that names two calls of a batch whose order counts, or nil if there are
// none. The order of two counts if both write a column of one row, or if one deletes the row that the
// other writes. tables says which tables to look at. The calls have the right number of arguments,
// and no key is null.
func OrderCounts(batch *schemas.Pattern, calls []drivers.Call, tables func(*schemas.Table) bool) error {
	var sorted []int
	for i := range calls {
		if tables(batch.Parts[calls[i].Part].Pattern.Table) {
			sorted = append(sorted, i)
		}
	}
	part := func(i int) *schemas.Pattern { return batch.Parts[calls[i].Part].Pattern }
	// By table and key. A row comes after the keys that its own begins with.
	slices.SortFunc(sorted, func(i, j int) int {
		own, other := len(part(i).By), len(part(j).By)
		n := min(own, other)
		return cmp.Or(strings.Compare(part(i).Table.Name, part(j).Table.Name),
			slices.CompareFunc(calls[i].Args[:n], calls[j].Args[:n], drivers.Value.Compare), own-other, i-j)
	})
	for at, i := range sorted {
		p := part(i)
		for _, j := range sorted[at+1:] {
			q := part(j)
			n := len(p.By)
			if q.Table != p.Table || len(q.By) < n ||
				slices.CompareFunc(calls[i].Args[:n], calls[j].Args[:n], drivers.Value.Compare) != 0 {
				break
			}
			if overlap(p, q) {
				return fmt.Errorf("parts %d (%s) and %d (%s) write the same row", min(i, j)+1, part(min(i, j)).Name,
					max(i, j)+1, part(max(i, j)).Name)
			}
		}
	}
	return nil
}

// overlap reports whether the order of two writes counts, of which the first has a key with which
// that of the second begins.
func overlap(p, q *schemas.Pattern) bool {
	switch first, second := p.Kind == schemas.Delete, q.Kind == schemas.Delete; {
	case first != second:
		return first || len(p.By) == len(q.By) // a delete of a row spares static columns
	case first:
		return false
	}
	return slices.ContainsFunc(p.Columns, func(c *schemas.Column) bool { return slices.Contains(q.Columns, c) })
}

// Tables holds a driver's own data on each table of the schemas that were applied.
// The zero Tables is empty.
type Tables[T any] struct {
	mu     sync.RWMutex
	tables map[*schemas.Table]*T
	latest map[string]*schemas.Schema // the last one applied, by its name
}

// Add adds the tables of an applied schema. If it was added before,
// its tables stay: all statements share them.
func (ts *Tables[T]) Add(s *schemas.Schema, tables map[*schemas.Table]*T) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.tables == nil {
		ts.tables, ts.latest = make(map[*schemas.Table]*T), make(map[string]*schemas.Schema)
	}
	ts.latest[s.Name] = s
	for t, own := range tables {
		if ts.tables[t] == nil {
			ts.tables[t] = own
		}
	}
}

// Find returns the driver's data on the pattern's table.
func (ts *Tables[T]) Find(p *schemas.Pattern) (*T, error) {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	if t := ts.tables[p.Table]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("table %s does not exist: apply its schema to this store first", p.Table.Name)
}

// All yields the driver's data on each table of the schemas that were applied last.
func (ts *Tables[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		ts.mu.RLock()
		defer ts.mu.RUnlock()
		for _, s := range ts.latest {
			for _, t := range s.Tables {
				if own := ts.tables[t]; own != nil && !yield(own) { // a row header may have none
					return
				}
			}
		}
	}
}

// Clear forgets all tables.
func (ts *Tables[T]) Clear() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	clear(ts.tables)
	clear(ts.latest)
}
