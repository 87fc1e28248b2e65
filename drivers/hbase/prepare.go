package hbase

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// statement is a compiled pattern: positions instead of names, ready to run.
type statement struct {
	plan.Plan
	table   *table
	family  string            // of its rows
	columns []*schemas.Column // of that family
	rows    keys.Columns      // the row keys of its HBase rows
	cells   bool              // its rows are cells of wide HBase rows

	view    view      // the columns to read of each row
	statics view      // the static columns to read of its partition
	scan    rpc.Range // what it reads, without bounds and the values of filters
	// read reads the rows that begin with the key columns that are given, by the requests that Explain names, and
	// readList those of the elements of a list.
	read     func(r *reading, fixed []drivers.Value) error
	readList func(r *reading, fixed, list []drivers.Value) error
	request  string
	// backward is true if HBase reads from the last row or cell to the first.
	backward bool

	write []operand // the columns of a write
	parts []*statement
}

// operand is a column that a write changes, its name as a qualifier, and the position of its argument.
type operand struct {
	column *schemas.Column
	name   []byte
	arg    int
}

func (st *statement) compileRead() error {
	p, t := st.Pattern(), st.table
	if p.Nested {
		return fmt.Errorf("a read of rows and of those around them: %w", drivers.ErrUnsupported)
	}
	var need, statics []int
	for _, c := range p.Filter {
		at := slices.Index(st.columns, c)
		if at < 0 || c.Type.Collection() {
			return fmt.Errorf("filter %s: HBase can compare only plain columns that are no collections", c.Name)
		}
		need = append(need, at)
	}
	st.scan = rpc.Range{
		Table: t.hbase, Uncached: p.Kind == schemas.Scan, // an audit must not push what is measured out of the cache
		Filtered: len(p.Filter) > 0 && !st.cells, Pieces: st.cells,
	}
	if p.Element != nil {
		if !slices.Contains(st.columns, p.Element) {
			return fmt.Errorf("element %s is not a column that the pattern reads", p.Element.Name)
		}
		st.view = newView(st.family, []*schemas.Column{p.Element}, []int{0}, nil, false, false)
		st.read, st.request = (*reading).getElement, "Get"
		return nil
	}
	for _, at := range st.Outputs(t.key, st.columns, t.statics) {
		switch at -= len(t.key); {
		case at >= len(st.columns):
			statics = append(statics, at-len(st.columns))
		case at >= 0:
			need = append(need, at)
		}
	}
	if len(statics) > 0 {
		st.statics = newView(staticFamily, t.statics, statics, nil, false, false)
	}
	st.backward = p.Reverse != (t.wide() && t.flipped)
	anyCell := st.cells || t.noMarker && !p.Static // any cell says that the row exists
	added := t.added
	if p.Static {
		added = nil
	}
	st.view = newView(st.family, st.columns, need, added, !anyCell && !p.Static, st.backward)
	if anyCell {
		st.view.requested, st.view.filter = columnsOf(st.family), nil
	}
	st.scan.Columns, st.scan.Filter = st.view.requested, st.view.filter
	return st.chooseRead()
}

// chooseRead chooses the requests that read the rows.
func (st *statement) chooseRead() error {
	p, bound := st.Pattern(), len(st.Pattern().By)
	if p.In != nil {
		bound++
	}
	bounded := p.From != nil || p.To != nil || len(p.After) > 0
	st.readList = (*reading).oneByOne
	switch {
	case st.cells && bound < len(st.rows):
		if p.Kind == schemas.Slice && st.backward {
			return fmt.Errorf("HBase cannot read the cells of wide rows backwards: %w", drivers.ErrUnsupported)
		}
		st.read, st.request = (*reading).scanRows, "Scan"
	case st.cells:
		if st.read, st.request = (*reading).oneRow, "Get or Scan"; p.Kind == schemas.Get {
			st.request = "Get"
		}
		if len(p.By) >= len(st.rows) && !bounded {
			st.readList = (*reading).getCells
		}
	case p.Kind == schemas.Get:
		st.read, st.readList, st.request = (*reading).getRow, (*reading).getRows, "Get"
	default:
		st.read, st.request = (*reading).scanRows, "Scan"
		if !bounded && !st.backward {
			st.readList = (*reading).scanList
		}
	}
	return nil
}

func (st *statement) compileWrite() error {
	p, t := st.Pattern(), st.table
	if t.noMarker && !p.Static {
		return fmt.Errorf("table %s has the hint marker: none, and mailbench only reads it: %w", t.schema.Name, drivers.ErrUnsupported)
	}
	if err := st.InOneRow(); err != nil {
		return err
	}
	if p.Present && (p.Kind == schemas.Delete || t.wide()) {
		return fmt.Errorf("a %s of a row that must be there: %w", p.Kind, drivers.ErrUnsupported)
	}
	var need []int
	for i, c := range p.Columns {
		if p.Kind == schemas.Add && !t.wide() && !slices.Contains(t.added, slices.Index(st.columns, c)) {
			return fmt.Errorf("no pattern of the applied schema adds to column %s", c.Name)
		}
		st.write = append(st.write, operand{c, []byte(c.Name), st.Layout.Columns + i})
		need = append(need, slices.Index(st.columns, c))
	}
	if p.Kind == schemas.Remove { // it reads the lists first
		st.view = newView(st.family, st.columns, need, nil, false, false)
	}
	return nil
}

// view says which columns of a family to read.
type view struct {
	row       bool               // a row exists only if it has a marker cell or the cell of an added column
	requested []*pb.Column       // the columns of the request
	filter    *pb.Filter         // drops unwanted cells, where the request cannot; nil is none
	byName    map[string]*wanted // the columns to decode
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
// markers, and backward that they are read from the last to the first.
func newView(family string, columns []*schemas.Column, need, added []int, row, backward bool) view {
	v := view{row: row, byName: make(map[string]*wanted)}
	var want []*wanted // in the order of their qualifiers
	collections := false
	for at, c := range columns {
		exists := slices.Contains(added, at)
		if !exists && !slices.Contains(need, at) {
			continue
		}
		w := &wanted{c.Name, at, c.Type, exists}
		v.byName[c.Name], want = w, append(want, w)
		collections = collections || c.Type.Collection()
	}
	slices.SortFunc(want, func(a, b *wanted) int { return strings.Compare(a.name, b.name) })
	requested := &pb.Column{Family: []byte(family)}
	v.requested = []*pb.Column{requested}
	switch {
	case len(want) == len(columns):
		// all of the family
	case collections:
		v.filter = wantedCells(want, row, backward)
	default:
		if row {
			requested.Qualifier = append(requested.Qualifier, []byte(markerName))
		}
		for _, w := range want {
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
	st := &statement{
		Plan: plan.Of(p), table: t, family: t.family, columns: t.columns, rows: t.row, cells: t.wide() && !p.Static,
	}
	if p.Static {
		st.family, st.columns, st.rows = staticFamily, t.statics, t.static
	}
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
	for i := 0; i < len(parts) && p.Atomic != schemas.AtomicNone; i++ {
		if err := parts[i].atomic(p.Atomic, parts, i); err != nil {
			return nil, fmt.Errorf("atomic: %s: %w: %w", p.Atomic, err, drivers.ErrUnsupported)
		}
	}
	return &statement{Plan: plan.Of(p), parts: parts}, nil
}
