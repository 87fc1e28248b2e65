// Package null is the engine that does nothing. A workload's cost on it is that of
// the harness and of the model's own CPU and allocations. It takes every pattern,
// acknowledges every write (a put-if too), never blocks, and allocates nothing
// once it has its samples.
//
// # Rows that reads return
//
// Models must do their whole work on this engine, decoding included. Otherwise the floor
// would be the cost of lookups that fail. So a table keeps samples: the rows that its
// first 25 puts, put-ifs, adds and appends wrote. A read yields samples:
//
//   - Columns that by or an element of in bind have the arguments' values. All others
//     have the sample's. A get yields one row, and so does each element of its list: the
//     sample whose last key column is the text of the argument, or else the first sample
//     that has all requested columns, or else the first.
//   - A slice yields the samples with the key prefix of the first sample, for example the
//     folders of a user or the chunks of a body. They have the order of writing. From and
//     to apply to int and bigint columns.
//   - A slice with after is a page. It repeats those samples up to its limit, 25 at most.
//     A page after some row is empty. So a folder is one page long, and callers that page
//     to the end reach it.
//   - A scan yields each sample once.
//   - A table that was never written yields nothing. Filters are not applied,
//     deletes delete nothing, and static columns of rows are null.
//   - An add that returns the new value returns a number that ascends over the
//     whole store, so that UIDs are unique.
//
// A read, a write or a batch is one request, and so is each element of a parallel get. Of rows
// scanned the engine reports nothing.
//
// So a read does not return the rows that were written under its key, and an audit
// means nothing (see Capabilities.Discards).
package null

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// Engine returns the entry of the list of engines.
func Engine() drivers.Engine {
	return drivers.Engine{
		Name: "null",
		Doc:  "stores nothing: measures the overhead of harness and models",
		Open: func(_ context.Context, o drivers.Options) (drivers.Store, error) {
			for name := range o.Settings {
				return nil, fmt.Errorf("unknown setting %q: the null engine has none", name)
			}
			if o.ReadOnly {
				return nil, errors.New("the null engine stores nothing that could be read")
			}
			return &store{gate: plan.Gate{Engine: "null engine", Uncounted: true}}, nil
		},
	}
}

// table holds samples of a table's rows and of its static columns.
type table struct{ rows, statics samples }

type store struct {
	gate    plan.Gate
	tables  plan.Tables[table]
	numbers atomic.Int64 // the last number that an add returned
}

var _ drivers.Store = (*store)(nil)

// Capabilities implements drivers.Store.
func (s *store) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{
		Engine:       "null",
		Version:      "null",
		Durability:   drivers.Memory,
		Atomic:       schemas.AtomicAll,
		ReturnsNew:   true,
		PlainIndexes: true,
		InProcess:    true,
		Discards:     true,
	}
}

// Apply implements drivers.Store.
func (s *store) Apply(_ context.Context, sch *schemas.Schema) error {
	if err := drivers.Portable(sch); err != nil {
		return err
	}
	tables := make(map[*schemas.Table]*table)
	for _, t := range sch.Tables {
		tables[t] = &table{
			rows:    samples{key: t.Key(), columns: t.Columns},
			statics: samples{key: t.Partition, columns: t.Static},
		}
	}
	s.tables.Add(sch, tables)
	return nil
}

// Stored implements drivers.Store. The null engine takes all indexes, and no hints.
func (s *store) Stored(sch *schemas.Schema) (*schemas.Schema, error) {
	return plan.Stored(sch, func(*schemas.Index) bool { return true }), nil
}

// Inspect implements drivers.Store.
func (s *store) Inspect(_ context.Context, name string) (*schemas.Schema, error) {
	return nil, fmt.Errorf("inspect schema %s: the null engine stores no tables", name)
}

// Compare implements drivers.Store.
func (s *store) Compare(context.Context, *schemas.Schema) (*drivers.Comparison, error) {
	return nil, errors.New("the null engine stores no tables")
}

// Prepare implements drivers.Store.
func (s *store) Prepare(_ context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	return plan.Prepare(&s.gate, p, func(p *schemas.Pattern) (*statement, error) {
		return plan.Compile(p, s.tables.Find, compileOne, func(p *schemas.Pattern, parts []*statement) (*statement, error) {
			return &statement{Plan: plan.Of(p), parts: parts}, nil
		})
	})
}

// Session implements drivers.Store.
func (s *store) Session() (drivers.Session, error) {
	se := &session{store: s}
	se.Init(&s.gate, se)
	return se, nil
}

// Close implements drivers.Store.
func (s *store) Close() error {
	s.gate.Close()
	return nil
}

// most is how many writes to a table become samples, and how many rows a page without a
// limit has.
const most = 25

// mostBytes bounds the samples of a table, in bytes. The first row is kept whatever its
// size.
const mostBytes = 1 << 20

// samples are the rows that the first writes to a table made.
type samples struct {
	key, columns []*schemas.Column
	writes       atomic.Int32
	mu           sync.Mutex // held by writers
	bytes        int        // size of the kept rows
	rows         atomic.Pointer[[]sample]
}

// sample is one row. Rows are never changed, only replaced.
type sample struct {
	vals []drivers.Value // values of the key, then of the columns
	// shared is how many of the leading key columns are those of the first sample.
	shared int
}

func (t *samples) all() []sample {
	if rows := t.rows.Load(); rows != nil {
		return *rows
	}
	return nil
}

// remember keeps the row of a write, if it writes one and is one of the first.
func (st *statement) remember(args []drivers.Value) {
	switch st.Pattern().Kind {
	case schemas.Delete, schemas.Remove:
		return
	}
	t := st.table
	if t.writes.Load() >= most || t.writes.Add(1) > most {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	size := 0
	for i := range args {
		size += args[i].Size()
	}
	if t.bytes+size > mostBytes && t.bytes > 0 {
		return
	}
	t.bytes += size
	old := t.all()
	rows := append(make([]sample, 0, len(old)+1), old...)
	at := 0
	for at < len(rows) && shared(rows[at].vals, args[:len(t.key)]) < len(t.key) {
		at++
	}
	row := sample{vals: make([]drivers.Value, len(t.key)+len(t.columns))}
	if at < len(rows) {
		copy(row.vals, rows[at].vals)
	} else {
		rows = append(rows, row)
	}
	for i := range t.key {
		row.vals[i] = args[i].Clone()
	}
	for i, column := range st.written {
		if v := args[st.Layout.Columns+i]; !v.IsNull() {
			row.vals[column] = v.Clone()
		}
	}
	row.shared = len(t.key)
	if at > 0 {
		row.shared = shared(rows[0].vals, row.vals[:len(t.key)])
	}
	rows[at] = row
	t.rows.Store(&rows)
}

// shared returns how many leading values are the same.
func shared(a, key []drivers.Value) int {
	for i := range key {
		if !a[i].Equal(key[i]) {
			return i
		}
	}
	return len(key)
}

// session runs the calls of one worker.
type session struct {
	plan.Session[*statement]
	store *store
	row   []drivers.Value // the row that is yielded, or that a write returns
}

var _ drivers.Session = (*session)(nil)

// RunRead implements plan.Runner.
func (s *session) RunRead(_ context.Context, st *statement, args []drivers.Value) error {
	s.Cost.Requests += st.Requests(args)
	s.Cost.Unreported++ // no client wrote these rows
	rows := st.table.all()
	switch {
	case len(rows) == 0:
		return nil
	case st.element >= 0: // the value of the requested element, or the first one
		pairs := rows[0].vals[st.element].Elems()
		if len(pairs) < 2 {
			return nil
		}
		s.row = append(s.row[:0], pairs[1])
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i].Equal(args[st.Layout.Element]) {
				s.row[0] = pairs[i+1]
			}
		}
		return s.Yield(s.row)
	case st.Layout.In < 0:
		return s.read(st, rows, args, nil)
	}
	elems := args[st.Layout.In].Elems()
	for i := range elems {
		if err := s.read(st, rows, args, &elems[i]); err != nil {
			return err
		}
	}
	return nil
}

// read yields the row of a get, or the samples of a slice or a scan, for the arguments and an element of the list; nil
// if there is no list. A page repeats its samples.
func (s *session) read(st *statement, rows []sample, args []drivers.Value, elem *drivers.Value) error {
	if st.Pattern().Kind == schemas.Get {
		last := elem
		if last == nil {
			last = &args[len(args)-1]
		}
		return s.Yield(s.project(st, st.pick(rows, last), args, elem))
	}
	page := len(st.Pattern().After) > 0
	if page && !args[st.Layout.After].IsNull() {
		return nil
	}
	for n, found := 0, true; found; {
		found = false
		for i := range rows {
			if !st.has(&rows[i], args) {
				continue
			}
			if err := s.Yield(s.project(st, &rows[i], args, elem)); err != nil {
				return err
			}
			found = page
			if n++; page && n == most {
				return nil
			}
		}
	}
	return nil
}

// pick returns the sample whose last key column is last, or the first with all columns
// that are read, or the first. The rows of a table may be of several kinds.
func (st *statement) pick(rows []sample, last *drivers.Value) *sample {
	if st.named {
		at := len(st.table.key) - 1
		for i := range rows {
			if string(rows[i].vals[at].Raw()) == string(last.Raw()) {
				return &rows[i]
			}
		}
	}
	for i := range rows {
		lacks := func(o output) bool { return o.at >= 0 && rows[i].vals[o.at].IsNull() }
		if !slices.ContainsFunc(st.out, lacks) {
			return &rows[i]
		}
	}
	return &rows[0]
}

// has reports whether the sample belongs to the slice.
func (st *statement) has(row *sample, args []drivers.Value) bool {
	if row.shared < st.prefix {
		return false
	}
	if st.ranged < 0 {
		return true
	}
	v, p := row.vals[st.ranged].Int64(), st.Pattern()
	if p.From != nil && !args[st.Layout.From].IsNull() {
		if from := args[st.Layout.From].Int64(); v < from || v == from && p.From.Open {
			return false
		}
	}
	if p.To != nil && !args[st.Layout.To].IsNull() {
		if to := args[st.Layout.To].Int64(); v > to || v == to && p.To.Open {
			return false
		}
	}
	return true
}

// project returns a sample as the row for these arguments.
func (s *session) project(st *statement, from *sample, args []drivers.Value, elem *drivers.Value) []drivers.Value {
	s.row = s.row[:0]
	for _, o := range st.out {
		switch {
		case o.arg >= 0 && o.arg == st.Layout.In:
			s.row = append(s.row, *elem)
		case o.arg >= 0:
			s.row = append(s.row, args[o.arg])
		case o.at >= 0:
			s.row = append(s.row, from.vals[o.at])
		default:
			s.row = append(s.row, drivers.Value{})
		}
	}
	return s.row
}

// RunWrite implements plan.Runner.
func (s *session) RunWrite(_ context.Context, st *statement, args []drivers.Value) (drivers.Result, error) {
	s.Cost.Requests++
	st.remember(args)
	r := drivers.Result{Applied: true}
	if st.Pattern().ReturnsNew {
		s.row = s.row[:0]
		for _, c := range st.Pattern().Columns {
			s.row = append(s.row, drivers.Number(c.Type.Kind, s.store.numbers.Add(1)))
		}
		r.Row = s.row
	}
	return r, nil
}

// RunBatch implements plan.Runner.
func (s *session) RunBatch(_ context.Context, st *statement, parts []drivers.Call) error {
	s.Cost.Requests++
	for i := range parts {
		st.parts[parts[i].Part].remember(parts[i].Args)
	}
	return nil
}

// output is a column's position in a sample, or -1, and that of the argument that binds it, or -1.
type output struct{ at, arg int }

// statement is a pattern with positions in place of columns.
type statement struct {
	plan.Plan
	table *samples

	out     []output // for each of a read's columns
	element int      // position of the map of which one element is read, or -1
	written []int    // position in a sample of each column that a write sets
	prefix  int      // how many leading key columns by binds
	named   bool     // the key ends in a text
	ranged  int      // position of the int or bigint bounded by from and to, or -1

	parts []*statement
}

func compileOne(p *schemas.Pattern, t *table) (*statement, error) {
	st := &statement{Plan: plan.Of(p), table: &t.rows}
	if err := st.InOneRow(); err != nil {
		return nil, err
	}
	if p.Static {
		st.table = &t.statics
	}
	bound := st.positions(p.By)
	if p.In != nil {
		bound = append(bound, st.position(p.In))
	}
	for st.prefix < len(bound) && bound[st.prefix] == st.prefix {
		st.prefix++
	}
	st.named = st.table.key[len(st.table.key)-1].Type.Kind == schemas.Text
	st.element = -1
	if p.Element != nil {
		st.element = st.position(p.Element)
	}
	if p.Kind.Reads() {
		for _, at := range st.positions(p.Columns) {
			st.out = append(st.out, output{at, slices.Index(bound, at)})
		}
	} else {
		st.written = st.positions(p.Columns)
	}
	st.ranged = -1
	for _, b := range []*schemas.Bound{p.From, p.To} {
		if b != nil && (b.Column.Type.Kind == schemas.Int || b.Column.Type.Kind == schemas.Bigint) {
			st.ranged = st.position(b.Column)
		}
	}
	return st, nil
}

// position returns the position of the column in a sample. It returns -1 for a static
// column of a table whose rows are read.
func (st *statement) position(c *schemas.Column) int {
	if i := slices.Index(st.table.key, c); i >= 0 {
		return i
	}
	if i := slices.Index(st.table.columns, c); i >= 0 {
		return len(st.table.key) + i
	}
	return -1
}

func (st *statement) positions(cs []*schemas.Column) []int {
	at := make([]int, len(cs))
	for i, c := range cs {
		at[i] = st.position(c)
	}
	return at
}
