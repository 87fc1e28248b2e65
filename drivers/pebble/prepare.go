package pebble

import (
	"context"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// statement is a compiled pattern: positions instead of names, ready to run.
type statement struct {
	plan.Plan
	table *table
	fam   *family // the columns that it reads or writes
	path  *path   // the keys that it reads in order: the family's own, or those of an index
	lead  []int   // positions of the arguments that the first columns of path equal

	out       []plan.Output // one for each of the pattern's columns
	filters   []int         // positions of the filtered columns in fam
	conds     []int         // positions of a put-if's columns in fam
	needRow   bool          // some output or filter is in the row's value
	needCells []int         // collections to read, by ascending position in fam
	statics   bool          // some output is a static column
	staticSet []int         // static collections to read, by ascending position
	mapColumn int           // position in fam of the map of which a get reads one element

	write    []operand // the scalar columns of a write, in ascending position
	replaces bool      // a put of all scalar columns of fam: a Set of the row
	tracks   bool      // it, or a part of the batch, may change entries of indexes with plain columns
	cells    []operand // the collections of a write
	locks    bool      // it reads before it writes

	from, to []byte // bounds of a part of a scan: from <= key < to; nil is no bound

	parts   []*statement // of a batch; a write is its own only part
	indexed bool         // parts of the batch must see what earlier parts wrote
}

// operand is a column that a write changes and the position of its argument.
type operand struct{ col, arg int }

// Prepare implements drivers.Store.
func (s *Store) Prepare(_ context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	return plan.Prepare(&s.gate, p, s.compile)
}

func (s *Store) compile(p *schemas.Pattern) (*statement, error) {
	return plan.Compile(p, s.tables.Find, compileOne, compileBatch)
}

func compileOne(p *schemas.Pattern, t *table) (*statement, error) {
	st := &statement{Plan: plan.Of(p), table: t}
	st.fam = &st.table.rows
	if p.Static {
		st.fam = &st.table.statics
	}
	st.path = &st.fam.path
	for i := range p.By {
		st.lead = append(st.lead, i)
	}
	if p.Nested {
		return nil, fmt.Errorf("a read of rows and of those around them: %w", drivers.ErrUnsupported)
	}
	if p.Index != nil {
		x := st.table.byIndex[p.Index]
		if x == nil {
			return nil, fmt.Errorf("the store has no index %s: %w", p.Index.Name, drivers.ErrUnsupported)
		}
		st.path = &x.path
	}
	if p.Kind.Reads() {
		return st, st.compileRead()
	}
	return st, st.compileWrite()
}

func (st *statement) compileRead() error {
	for _, c := range st.Pattern().Filter {
		i := slices.Index(st.fam.columns, c)
		if i < 0 || c.Type.Collection() {
			return fmt.Errorf("filter %s: the engine can compare only plain columns that are no collections",
				c.Name)
		}
		st.filters = append(st.filters, i)
		st.needRow = true
	}
	st.throughFilter()
	if c := st.Pattern().Element; c != nil {
		if st.mapColumn = slices.Index(st.fam.columns, c); st.mapColumn < 0 {
			return fmt.Errorf("element %s is not a column that the pattern reads", c.Name)
		}
	}
	return st.outputs()
}

// outputs finds where the pattern's columns come from.
func (st *statement) outputs() (err error) {
	t := st.table
	if st.out, err = st.Outputs(t.key, st.fam.columns, t.statics.columns); err != nil {
		return err
	}
	for i, o := range st.out {
		switch coll := st.Pattern().Columns[i].Type.Collection(); {
		case o.Source == plan.FromRow && coll:
			st.needCells = append(st.needCells, o.At)
		case o.Source == plan.FromRow:
			st.needRow = true
		case o.Source == plan.FromStatic && coll:
			st.staticSet = append(st.staticSet, o.At)
			st.statics = true
		case o.Source == plan.FromStatic:
			st.statics = true
		}
	}
	slices.Sort(st.needCells)
	slices.Sort(st.staticSet)
	return nil
}

func (st *statement) compileWrite() error {
	p := st.Pattern()
	st.parts = []*statement{st}
	if p.In != nil {
		return fmt.Errorf("in binds lists of reads only: %w", drivers.ErrUnsupported)
	}
	if err := st.InOneRow(); err != nil {
		return err
	}
	for i, c := range p.Columns {
		op := operand{slices.Index(st.fam.columns, c), st.Layout.Columns + i}
		if op.col < 0 {
			return fmt.Errorf("column %s cannot be written with this key", c.Name)
		}
		if c.Type.Collection() {
			st.cells = append(st.cells, op)
		} else {
			st.write = append(st.write, op)
		}
	}
	slices.SortFunc(st.write, func(a, b operand) int { return a.col - b.col })
	put := p.Kind == schemas.Put || p.Kind == schemas.PutIf
	st.replaces = put && len(st.write) == len(st.fam.columns)-st.fam.collections
	for _, c := range p.If {
		st.conds = append(st.conds, slices.Index(st.fam.columns, c))
	}
	if p.ReturnsNew {
		if err := st.outputs(); err != nil {
			return err
		}
	}
	st.tracks = st.fam == &st.table.rows && st.table.tracks(st)
	if p.Conditional() || p.ReturnsNew {
		st.locks = true
		st.table.guarded.Store(true)
	}
	return nil
}

func compileBatch(p *schemas.Pattern, parts []*statement) (*statement, error) {
	for _, part := range parts {
		if part.locks && !part.Pattern().Present {
			return nil, fmt.Errorf("part %s reads before it writes: %w", part.Pattern().Name, drivers.ErrUnsupported)
		}
	}
	st := &statement{Plan: plan.Of(p), parts: parts}
	// A part that searches for the keys it deletes must see what earlier parts of the batch
	// have written to its table.
	for _, a := range st.parts {
		for _, b := range st.parts {
			st.indexed = st.indexed || a.searches() && a.table == b.table && (a != b || a.puts())
		}
		st.tracks = st.tracks || a.tracks
	}
	return st, nil
}

// searches reports whether the write must find the keys that it deletes.
func (st *statement) searches() bool {
	switch st.Pattern().Kind {
	case schemas.Put, schemas.PutIf:
		return len(st.cells) > 0
	case schemas.Remove:
		return true
	case schemas.Delete:
		return st.Pattern().Scope != schemas.ScopeRow || st.fam.collections > 0
	}
	return false
}

// puts reports whether the write makes keys that a later one could have to find.
func (st *statement) puts() bool {
	return st.Pattern().Kind == schemas.Put || st.Pattern().Kind == schemas.Append
}
