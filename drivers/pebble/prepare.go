package pebble

import (
	"context"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// statement is a compiled pattern: positions instead of names, ready to run.
type statement struct {
	plan.Plan
	kind  schemas.PatternKind
	table *table
	fam   *family // the columns that it reads or writes
	path  *path   // the keys that it reads in order: the family's own, or those of an index
	lead  []int   // positions of the arguments that the first columns of path equal

	out       []int // the position of each of the pattern's columns in a row: key, columns, static columns
	filters   []int // positions of the filtered columns in fam
	conds     []int // and that of each of a put-if's columns
	needRow   bool  // some output or filter is in the row's value
	needCells []int // collections to read, by ascending position in fam
	statics   bool  // some output is a static column
	staticSet []int // static collections to read, by ascending position
	mapColumn int   // position in fam of the map of which a get reads one element

	write        []operand // the scalar columns of a write, in ascending position
	op           byte      // opSet or opAdd: what it does to them
	putsWholeRow bool      // a put of all scalar columns of fam: a Set of the row
	cells        []operand // the collections of a write
	clears       []columns // the collections whose elements it deletes
	ranged       bool      // a delete of all rows below a prefix of the key
	readsRow     bool      // it has a condition or returns the new row: it reads the row before it writes
	entries      []*path   // the indexes whose entries it may change
	changesIndex bool      // some of them, or of a part of the batch, have plain columns: so does it

	parts        []*statement // of a batch; a write is its own only part
	seesOwnBatch bool         // parts of the batch must see what earlier parts wrote
}

// columns are the columns of a family from first to last.
type columns struct{ first, last int }

// Prepare implements drivers.Store.
func (s *Store) Prepare(_ context.Context, p *schemas.Pattern) (drivers.Statement, error) {
	return plan.Prepare(&s.gate, p, s.compile)
}

func (s *Store) compile(p *schemas.Pattern) (*statement, error) {
	return plan.Compile(p, s.tables.Find, compileOne, compileBatch)
}

func compileOne(p *schemas.Pattern, t *table) (*statement, error) {
	st := &statement{Plan: plan.Of(p), kind: p.Kind, table: t}
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
		x := st.table.index(p.Index.Name)
		if x == nil {
			return nil, fmt.Errorf("the store has no index %s: %w", p.Index.Name, drivers.ErrUnsupported)
		}
		st.path = x
	}
	if !p.Kind.Reads() {
		return st, st.compileWrite()
	}
	for _, c := range p.Filter {
		i := slices.Index(st.fam.columns, c)
		if i < 0 || c.Type.Collection() {
			return nil, fmt.Errorf("filter %s: the engine can compare only plain columns that are no collections", c.Name)
		}
		st.filters, st.needRow = append(st.filters, i), true
	}
	st.throughFilter()
	if c := p.Element; c != nil {
		if st.mapColumn = slices.Index(st.fam.columns, c); st.mapColumn < 0 {
			return nil, fmt.Errorf("element %s is not a column that the pattern reads", c.Name)
		}
	}
	st.outputs()
	return st, nil
}

// throughFilter makes a read that filters go through an index that begins with what the read binds and
// filters, if there is one. Behind these columns the index must have the order of the primary key.
func (st *statement) throughFilter() {
	p := st.Pattern()
	if p.Index != nil || st.fam != &st.table.rows {
		return
	}
	for _, x := range st.table.indexes {
		lead := []int(nil)
		for _, c := range x.cols[:min(len(x.cols), len(p.By)+1)] {
			at := c.At
			if c.At >= len(st.table.key) {
				if at = slices.Index(p.Filter, st.table.column(c)); at >= 0 {
					at += st.Layout.Filter
				}
			} else if at >= len(p.By) {
				at = -1
			}
			if at < 0 {
				break
			}
			lead = append(lead, at)
		}
		ordered := slices.EqualFunc(x.cols[len(lead):], st.fam.cols[len(p.By):], func(a, b keys.Column) bool {
			return a.At == b.At && a.Desc == b.Desc
		})
		if x.plain && len(lead) == len(p.By)+1 && ordered {
			st.path, st.lead = x, lead
			return
		}
	}
}

// outputs finds where the pattern's columns come from.
func (st *statement) outputs() {
	f, t := st.fam, st.table
	st.out = st.Outputs(t.key[:len(f.cols)], f.columns, t.statics.columns)
	for i, at := range st.out {
		coll := st.Pattern().Columns[i].Type.Collection()
		switch at -= len(f.cols); {
		case at >= len(f.columns):
			st.statics = true
			if coll {
				st.staticSet = append(st.staticSet, at-len(f.columns))
			}
		case at >= 0 && coll:
			st.needCells = append(st.needCells, at)
		case at >= 0:
			st.needRow = true
		}
	}
	slices.Sort(st.needCells)
	slices.Sort(st.staticSet)
}

func (st *statement) compileWrite() error {
	p, f := st.Pattern(), st.fam
	st.parts = []*statement{st}
	if err := st.InOneRow(); err != nil {
		return err
	}
	for i, c := range p.Columns {
		op := operand{slices.Index(f.columns, c), st.Layout.Columns + i}
		if c.Type.Collection() {
			st.cells = append(st.cells, op)
		} else {
			st.write = append(st.write, op)
		}
	}
	slices.SortFunc(st.write, func(a, b operand) int { return a.col - b.col })
	for _, c := range p.If {
		st.conds = append(st.conds, len(f.cols)+slices.Index(f.columns, c))
	}
	put := p.Kind == schemas.Put || p.Kind == schemas.PutIf
	st.putsWholeRow = put && len(st.write) == len(f.scalars)
	if p.Kind == schemas.Add {
		st.op = opAdd
	}
	st.ranged = st.kind == schemas.Delete && len(p.By) < len(f.cols)
	switch {
	case f.collections > 0 && (st.kind == schemas.Delete || put && len(st.cells) == f.collections):
		st.clears = []columns{{0, len(f.columns) - 1}}
	case put:
		for _, op := range st.cells {
			st.clears = append(st.clears, columns{op.col, op.col})
		}
	}
	// The indexes whose entries it may change. A delete changes those of all.
	for _, x := range st.table.indexes {
		written := slices.ContainsFunc(x.cols, func(c keys.Column) bool {
			return slices.ContainsFunc(st.write, func(w operand) bool { return len(st.table.key)+w.col == c.At })
		})
		if f == &st.table.rows && p.Kind != schemas.Remove && (st.kind == schemas.Delete || !x.plain || written) {
			st.entries = append(st.entries, x)
			st.changesIndex = st.changesIndex || x.plain
		}
	}
	if p.ReturnsNew {
		st.outputs()
	}
	if p.Conditional() || p.ReturnsNew {
		st.readsRow = true
		st.table.guarded.Store(true)
	}
	return nil
}

func compileBatch(p *schemas.Pattern, parts []*statement) (*statement, error) {
	for _, part := range parts {
		if part.readsRow && !part.Pattern().Present {
			return nil, fmt.Errorf("part %s reads before it writes: %w", part.Pattern().Name, drivers.ErrUnsupported)
		}
	}
	st := &statement{Plan: plan.Of(p), parts: parts}
	// A part that searches for the keys it deletes must see what earlier parts of the batch
	// have written to its table.
	for _, a := range st.parts {
		searches := len(a.clears) > 0 || a.kind == schemas.Remove ||
			a.kind == schemas.Delete && a.Pattern().Scope != schemas.ScopeRow
		for _, b := range st.parts {
			again := a != b || a.kind == schemas.Put || a.kind == schemas.Append // it puts keys that it could have to find
			st.seesOwnBatch = st.seesOwnBatch || searches && a.table == b.table && again
		}
		st.changesIndex = st.changesIndex || a.changesIndex
	}
	return st, nil
}

// Explain implements drivers.Explainer. It returns the keys for example arguments.
func (st *statement) Explain() ([]string, error) {
	p := st.Pattern()
	if p.Kind == schemas.Batch {
		return drivers.ExplainParts("one atomic batch of:", p, st.parts)
	}
	args := drivers.Example(p)
	var element *drivers.Value
	if st.Layout.In >= 0 {
		element = &args[st.Layout.In].Elems()[0]
	}
	var b plan.Range
	if err := b.Set(&st.Plan, st.path.cols, st.fixed(nil, args, element), args, p.Reverse); err != nil {
		return nil, st.Named(err)
	}
	line := st.verb() + fmt.Sprintf(" key %x", b.Lower)
	if p.Kind == schemas.Slice || p.Kind == schemas.Scan || p.Kind == schemas.Delete && p.Scope != schemas.ScopeRow {
		line = st.verb() + fmt.Sprintf(" keys %x ≤ key < %x", b.Lower, b.Upper)
	}
	if p.Reverse {
		line += ", from the last"
	}
	if element != nil {
		line += ", for each element"
	}
	lines := []string{line, "  that is " + drivers.InWords(p)}
	if st.changesIndex {
		lines = append(lines, "  the row is read first, and its entries in indexes over plain columns change with it")
	}
	if len(st.filters) > 0 {
		lines = append(lines, "  rows are compared after reading")
	}
	return lines, nil
}

func (st *statement) verb() string {
	switch p := st.Pattern(); {
	case p.Kind == schemas.Get:
		return "seek"
	case p.Kind.Reads():
		return "iterate"
	case p.Present && p.Kind == schemas.Delete:
		return "lock the row, and if it is there delete"
	case p.Kind == schemas.Delete:
		return "delete"
	case st.readsRow || st.changesIndex:
		return "lock the row, read and set"
	case st.putsWholeRow:
		return "set"
	}
	return "merge into"
}
