package null

import (
	"context"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// session runs the calls of one worker.
type session struct {
	plan.Session[*statement]
	store *store
	row   []drivers.Value // the row that is yielded, or that a write returns
}

var _ drivers.Session = (*session)(nil)

// RunRead implements plan.Runner.
func (s *session) RunRead(_ context.Context, st *statement, args []drivers.Value) error {
	s.Cost.Calls += st.Requests(args)
	s.Cost.Unreported++ // no client wrote these rows
	rows := st.table.all()
	switch {
	case len(rows) == 0:
		return nil
	case st.element >= 0:
		return s.getElement(st, rows, args)
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
			row := &rows[i]
			if !st.up {
				row = &rows[len(rows)-1-i]
			}
			if !st.has(row, args) {
				continue
			}
			if err := s.Yield(s.project(st, row, args, elem)); err != nil {
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

// getElement yields the value of the requested element, or the first one.
func (s *session) getElement(st *statement, rows []sample, args []drivers.Value) error {
	pairs := rows[0].vals[st.element].Elems()
	if len(pairs) < 2 {
		return nil
	}
	v := pairs[1]
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i].Equal(args[st.Layout.Element]) {
			v = pairs[i+1]
		}
	}
	s.row = append(s.row[:0], v)
	return s.Yield(s.row)
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
		if st.whole(&rows[i]) {
			return &rows[i]
		}
	}
	return &rows[0]
}

// whole reports whether the sample has a value of each column that is read.
func (st *statement) whole(row *sample) bool {
	for _, o := range st.out {
		if o.at >= 0 && row.vals[o.at].IsNull() {
			return false
		}
	}
	return true
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
	s.Cost.Calls++
	st.write(args)
	r := drivers.Result{Applied: true}
	p := st.Pattern()
	if !p.ReturnsNew {
		return r, nil
	}
	s.row = s.row[:0]
	for _, c := range p.Columns {
		s.row = append(s.row, drivers.Number(c.Type.Kind, s.store.numbers.Add(1)))
	}
	r.Row = s.row
	return r, nil
}

func (st *statement) write(args []drivers.Value) {
	switch st.Pattern().Kind {
	case schemas.Put, schemas.PutIf, schemas.Add, schemas.Append:
		st.table.remember(st, args)
	}
}

// RunBatch implements plan.Runner.
func (s *session) RunBatch(_ context.Context, st *statement, parts []drivers.Call) error {
	s.Cost.Calls++
	for i := range parts {
		st.parts[parts[i].Part].write(parts[i].Args)
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
	up      bool     // rows come in the order of writing, not in reverse

	parts []*statement
}

func (s *store) compile(p *schemas.Pattern) (*statement, error) {
	return plan.Compile(p, s.tables.Find, compileOne, func(p *schemas.Pattern, parts []*statement) (*statement, error) {
		return &statement{Plan: plan.Of(p), parts: parts}, nil
	})
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
	last := st.table.key[len(st.table.key)-1]
	st.named = last.Type.Kind == schemas.Text
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
	st.direct(len(bound))
	return st, nil
}

// direct finds the column of a slice's bounds, and its direction. bound is the number of columns that by and in bind.
func (st *statement) direct(bound int) {
	p := st.Pattern()
	st.ranged, st.up = -1, !p.Reverse
	for _, b := range []*schemas.Bound{p.From, p.To} {
		if b != nil && (b.Column.Type.Kind == schemas.Int || b.Column.Type.Kind == schemas.Bigint) {
			st.ranged = st.position(b.Column)
		}
	}
	desc := false
	if p.Index != nil && bound < len(p.Index.Columns) {
		desc = p.Index.Columns[bound].Desc
	} else if p.Index == nil && st.prefix < len(st.table.key) {
		desc = st.table.key[st.prefix].Desc
	}
	if desc {
		st.up = !st.up
	}
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
