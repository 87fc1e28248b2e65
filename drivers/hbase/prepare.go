package hbase

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// statement is a compiled pattern: positions instead of names, ready to run.
type statement struct {
	plan.Plan
	table *table

	out     []plan.Output // one for each of the pattern's columns
	view    view          // the columns to read of each row
	statics view          // the static columns to read of its partition
	// backward is true if HBase reads from the last row or cell to the first.
	backward bool
	// from and to bound a part of a scan, as HBase row keys: from <= row < to. nil is no
	// bound.
	from, to []byte

	write []operand // the columns of a write
	lists []wanted  // the list columns of a remove; at is the position of the argument
	parts []*statement
}

// operand is a column that a write changes and the position of its argument.
type operand struct {
	column *schemas.Column
	arg    int
}

// family returns the family of the statement's rows and its columns.
func (st *statement) family() (string, []*schemas.Column) {
	if st.Pattern().Static {
		return staticFamily, st.table.statics
	}
	return st.table.family, st.table.columns
}

func (st *statement) compileRead() error {
	p, t := st.Pattern(), st.table
	if p.Nested {
		return fmt.Errorf("a read of rows and of those around them: %w", drivers.ErrUnsupported)
	}
	family, columns := st.family()
	var need []int
	for _, c := range p.Filter {
		at := slices.Index(columns, c)
		if at < 0 || c.Type.Collection() {
			return fmt.Errorf("filter %s: HBase can compare only plain columns that are no collections", c.Name)
		}
		need = append(need, at)
	}
	if p.Element == nil {
		var err error
		if st.out, err = st.Outputs(t.key, columns, t.statics); err != nil {
			return err
		}
	}
	var statics []int
	for _, o := range st.out {
		switch {
		case o.Source == plan.FromRow:
			need = append(need, o.At)
		case o.Source == plan.FromStatic:
			statics = append(statics, o.At)
		}
	}
	if len(statics) > 0 {
		st.statics = newView(staticFamily, t.statics, statics, nil, false)
	}
	if p.Element != nil {
		if !slices.Contains(columns, p.Element) {
			return fmt.Errorf("element %s is not a column that the pattern reads", p.Element.Name)
		}
		st.view = view{want: []wanted{{name: p.Element.Name, typ: p.Element.Type}}, n: 1}
		return nil
	}
	st.backward = p.Reverse != (t.wide() && t.flipped)
	if t.wide() && !p.Static {
		st.view = view{family: t.family, n: len(t.columns), requested: []*pb.Column{{Family: []byte(t.family)}}}
		bound := len(p.By)
		if p.In != nil {
			bound++
		}
		if p.Kind == schemas.Slice && bound < len(t.row) && st.backward {
			return fmt.Errorf("HBase cannot read the cells of wide rows backwards: %w", drivers.ErrUnsupported)
		}
		return nil
	}
	added := t.added
	if p.Static {
		added = nil
	}
	st.view = newView(family, columns, need, added, !p.Static && !t.noMarker)
	if t.noMarker && !p.Static { // any cell says that the row exists
		st.view.requested, st.view.filter = []*pb.Column{{Family: []byte(family)}}, nil
	}
	if st.backward && st.view.filter != nil {
		st.view.filter = wantedCells(st.view.want, st.view.row, true)
	}
	return nil
}

func (st *statement) compileWrite() error {
	p, t := st.Pattern(), st.table
	_, columns := st.family()
	if t.noMarker && !p.Static {
		return fmt.Errorf("table %s has the hint marker: none, and mailbench only reads it: %w", t.schema.Name, drivers.ErrUnsupported)
	}
	if p.In != nil {
		return fmt.Errorf("in binds lists of reads only: %w", drivers.ErrUnsupported)
	}
	if err := st.InOneRow(); err != nil {
		return err
	}
	if p.Present && (p.Kind == schemas.Delete || t.wide()) {
		return fmt.Errorf("a %s of a row that must be there: %w", p.Kind, drivers.ErrUnsupported)
	}
	for i, c := range p.Columns {
		if !slices.Contains(columns, c) {
			return fmt.Errorf("column %s cannot be written with this key", c.Name)
		}
		if p.Kind == schemas.Add && !t.wide() && !p.Static && !slices.Contains(t.added, slices.Index(columns, c)) {
			return fmt.Errorf("no pattern of the applied schema adds to column %s", c.Name)
		}
		if p.Kind == schemas.Remove {
			st.lists = append(st.lists, wanted{name: c.Name, at: st.Layout.Columns + i, typ: c.Type})
			continue
		}
		st.write = append(st.write, operand{c, st.Layout.Columns + i})
	}
	return nil
}

// view says which columns of a family to read.
type view struct {
	family    string
	row       bool         // a row exists only if it has a marker cell or the cell of an added column
	requested []*pb.Column // the columns of the request
	filter    *pb.Filter   // drops unwanted cells, where the request cannot; nil is none
	want      []wanted     // the columns to decode, in the order of their qualifiers
	n         int          // number of columns in the family
}

// wanted is a column of a view.
type wanted struct {
	name   string
	at     int
	typ    schemas.Type
	exists bool // a cell of this column makes the row exist
}

// newView returns a view of the columns at the positions need. added are the positions of the
// columns whose cells make a row exist, as its marker cell does. row says that rows have
// markers.
func newView(family string, columns []*schemas.Column, need, added []int, row bool) view {
	v := view{family: family, row: row, n: len(columns)}
	collections := 0
	for at, c := range columns {
		exists := slices.Contains(added, at)
		if !exists && !slices.Contains(need, at) {
			continue
		}
		v.want = append(v.want, wanted{c.Name, at, c.Type, exists})
		if c.Type.Collection() {
			collections++
		}
	}
	slices.SortFunc(v.want, func(a, b wanted) int { return strings.Compare(a.name, b.name) })
	requested := &pb.Column{Family: []byte(family)}
	v.requested = []*pb.Column{requested}
	switch {
	case len(v.want) == len(columns):
		// all of the family
	case collections > 0:
		v.filter = wantedCells(v.want, row, false)
	default:
		if row {
			requested.Qualifier = append(requested.Qualifier, []byte(markerName))
		}
		for _, w := range v.want {
			requested.Qualifier = append(requested.Qualifier, []byte(w.name))
		}
	}
	return v
}

// compile compiles a pattern of an applied schema.
func (s *Store) compile(p *schemas.Pattern) (*statement, error) {
	return plan.Compile(p, s.tables.Find, compileOne, compileBatch)
}

// compileOne compiles a pattern that is no batch.
func compileOne(p *schemas.Pattern, t *table) (*statement, error) {
	st := &statement{Plan: plan.Of(p), table: t}
	switch {
	case p.Index != nil:
		return st, fmt.Errorf("index %s: HBase has no indexes: %w", p.Index.Name, drivers.ErrUnsupported)
	case !p.Kind.Reads():
		return st, st.compileWrite()
	}
	return st, st.compileRead()
}

// compileBatch compiles a batch. HBase is atomic only within one row, so all parts
// of an atomic batch must write the same HBase row.
func compileBatch(p *schemas.Pattern, parts []*statement) (*statement, error) {
	st := &statement{Plan: plan.Of(p), parts: parts}
	return st, st.checkAtomic()
}
