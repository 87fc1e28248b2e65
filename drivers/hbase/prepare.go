package hbase

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// statement is a compiled pattern: positions instead of names, ready to run.
type statement struct {
	plan.Plan
	table   *table
	view    view // the columns to read of each row
	statics view // the static columns to read of its partition
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
		at := slices.Index(st.table.columns, c)
		if at < 0 || c.Type.Collection() {
			return fmt.Errorf("filter %s: HBase can compare only plain columns that are no collections", c.Name)
		}
		need = append(need, at)
	}
	if p.Element != nil {
		if !slices.Contains(st.table.columns, p.Element) {
			return fmt.Errorf("element %s is not a column that the pattern reads", p.Element.Name)
		}
		st.view = newView(t, []*schemas.Column{p.Element}, []int{0}, nil, false)
		st.read, st.request = (*reading).getElement, "Get"
		return nil
	}
	for _, at := range st.Outputs(t.key, t.columns, t.schema.Static) {
		switch at -= len(t.key); {
		case at >= len(st.table.columns):
			statics = append(statics, at-len(st.table.columns))
		case at >= 0:
			need = append(need, at)
		}
	}
	if len(statics) > 0 {
		st.statics = newView(t.statics, t.schema.Static, statics, nil, false)
	}
	st.backward = p.Reverse != (t.wide && t.flipped)
	st.view = newView(t, t.columns, need, t.added, t.marked())
	scan := &st.view.scan
	if t.wide || t.noMarker { // any cell says that the row exists
		scan.Columns, scan.Filter = columnsOf(st.table.family), nil
	}
	scan.Uncached = p.Kind == schemas.Scan // an audit must not push what is measured out of the cache
	scan.Filtered, scan.Pieces = len(p.Filter) > 0 && !st.table.wide, st.table.wide
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
	case st.table.wide && bound < len(st.table.row):
		if p.Kind == schemas.Slice && st.backward {
			return fmt.Errorf("HBase cannot read the cells of wide rows backwards: %w", drivers.ErrUnsupported)
		}
		st.read, st.request = (*reading).scanRows, "Scan"
	case st.table.wide:
		if st.read, st.request = (*reading).oneRow, "Get or Scan"; p.Kind == schemas.Get {
			st.request = "Get"
		}
		if len(p.By) >= len(st.table.row) && !bounded {
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
	if t.noMarker {
		return fmt.Errorf("table %s has the hint marker: none, and mailbench only reads it: %w", t.schema.Name, drivers.ErrUnsupported)
	}
	if err := st.InOneRow(); err != nil {
		return err
	}
	if p.Present && (p.Kind == schemas.Delete || t.wide) {
		return fmt.Errorf("a %s of a row that must be there: %w", p.Kind, drivers.ErrUnsupported)
	}
	var need []int
	for i, c := range p.Columns {
		if p.Kind == schemas.Add && !t.wide && !slices.Contains(t.added, slices.Index(st.table.columns, c)) {
			return fmt.Errorf("no pattern of the applied schema adds to column %s", c.Name)
		}
		st.write = append(st.write, operand{c, []byte(c.Name), st.Layout.Columns + i})
		need = append(need, slices.Index(st.table.columns, c))
	}
	if p.Kind == schemas.Remove { // it reads the lists first
		st.view = newView(t, t.columns, need, nil, false)
	}
	return nil
}

// view says which columns of a family to read.
type view struct {
	row    bool               // a row exists only if it has a marker cell or the cell of an added column
	scan   rpc.Range          // what is read, without bounds and the values of filters
	byName map[string]*wanted // the columns to decode
}

// wanted is a column of a view.
type wanted struct {
	at     int
	typ    schemas.Type
	exists bool // a cell of this column makes the row exist
}

// newView returns a view of those columns of a table at the positions need. added are the positions of the
// columns whose cells make a row exist, as its marker cell does. row says that rows have markers.
func newView(of *table, columns []*schemas.Column, need, added []int, row bool) view {
	v := view{row: row, byName: make(map[string]*wanted)}
	v.scan.Table, v.scan.Columns = of.hbase, columnsOf(of.family)
	var names [][]byte
	if row {
		names = append(names, markerQualifier)
	}
	collections := false
	for at, c := range columns {
		exists := slices.Contains(added, at)
		if exists || slices.Contains(need, at) {
			v.byName[c.Name] = &wanted{at, c.Type, exists}
			names = append(names, []byte(c.Name))
			collections = collections || c.Type.Collection()
		}
	}
	slices.SortFunc(names, bytes.Compare)
	switch {
	case len(v.byName) == len(columns): // all of the family
	case collections: // the qualifiers of their elements begin with their names
		v.scan.Filter = must(filter.NewMultipleColumnPrefixFilter(names))
	default:
		v.scan.Columns = columnsOf(of.family, names...)
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
	if p.Static {
		st.table = t.statics
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

// must returns a filter as a request has it. Marshaling cannot fail: the message has only bytes and numbers.
func must(f filter.Filter) *pb.Filter {
	m, err := f.ConstructPBFilter()
	if err != nil {
		panic(err)
	}
	return m
}

// allOf lets cells pass that all filters let pass; nil is a filter that lets all pass.
func allOf(fs ...*pb.Filter) *pb.Filter {
	some := slices.DeleteFunc(fs, func(f *pb.Filter) bool { return f == nil })
	if len(some) < 2 {
		return cmp.Or(some...)
	}
	return must(&filter.List{Operator: pb.FilterList_MUST_PASS_ALL.Enum(), Filters: some})
}

// columnIs lets rows pass whose column has the value, or none if it is null.
func columnIs(family, column string, v drivers.Value) *pb.Filter {
	value := []byte(escapeNever) // no column has this value, so rows that have the column do not pass
	if !v.IsNull() {
		value = appendValue(nil, v)
	}
	return must(filter.NewSingleColumnValueFilter([]byte(family), []byte(column), filter.Equal, bytesOf(value),
		!v.IsNull(), true))
}

// firstOnly lets the first cell of each row pass.
func firstOnly() *pb.Filter { return must(filter.NewFirstKeyOnlyFilter()) }

// bytesOf compares with bytes.
func bytesOf(value []byte) *filter.BinaryComparator {
	return filter.NewBinaryComparator(filter.NewByteArrayComparable(value))
}

// compilerOf compiles the patterns of a schema for an HBase that has its tables.
func compilerOf(s *schemas.Schema, o drivers.Options) (drivers.Compiler, error) {
	if _, err := newSettings(o); err != nil {
		return nil, err
	}
	l, err := newLayout(prefixOf(o.Namespace, s.Name), s)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", s.Name, err)
	}
	st := new(Store)
	st.tables.Add(s, l.tables)
	return plan.Compiler(st.compile), nil
}

// Explain implements drivers.Explainer: the requests and the keys that example
// arguments lead to.
func (st *statement) Explain() ([]string, error) {
	p := st.Pattern()
	if p.Kind == schemas.Batch {
		return drivers.ExplainParts("one atomic change of a row:", p, st.parts)
	}
	args := drivers.Example(p)
	fixed := append([]drivers.Value(nil), args[:len(p.By)]...)
	if st.Layout.In >= 0 {
		fixed = append(fixed, args[st.Layout.In].Elems()[0])
	}
	var scan rpc.Range
	var bounds plan.Range
	if err := st.bound(&scan, &bounds, fixed, args); err != nil {
		return nil, st.Named(err)
	}
	keys := fmt.Sprintf("row %x", scan.Start)
	switch {
	case len(fixed) < len(st.table.row):
		keys = "rows " + span(&bounds)
	case st.table.wide:
		keys += ", cells " + span(&bounds)
	}
	verb := cmp.Or(st.request, verbs[p.Kind], "Put")
	if st.searches() {
		verb = "Scan, then Delete"
	}
	line := fmt.Sprintf("%s of %s, family %s: %s", verb, st.table.hbase, st.table.family, keys)
	if st.backward {
		line += ", from the last"
	}
	if st.Layout.In >= 0 {
		line += ", for each element"
	}
	lines := []string{line, "  that is " + drivers.InWords(p)}
	for _, c := range p.Filter {
		lines = append(lines, fmt.Sprintf("  the region server leaves out rows in which %s differs", c.Name))
	}
	return lines, nil
}

// span writes a range of keys. An empty end means no bound.
func span(b *plan.Range) string {
	switch {
	case len(b.Lower)+len(b.Upper) == 0:
		return "all"
	case len(b.Upper) == 0:
		return fmt.Sprintf("from %x", b.Lower)
	}
	return fmt.Sprintf("from %x to before %x", b.Lower, b.Upper)
}

// verbs are the requests of writes that are not a Put.
var verbs = map[schemas.PatternKind]string{
	schemas.PutIf: "CheckAndMutate", schemas.Add: "Increment", schemas.Delete: "Delete",
}
