package null

import (
	"slices"

	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// statement is a pattern with positions in place of columns.
type statement struct {
	plan.Plan
	table *samples

	out     []int // for each of a read's columns, its position in a sample, or -1
	bound   []int // for each column of by and in, its position
	element int   // position of the map of which one element is read, or -1
	written []int // position in a sample of each column that a write sets
	prefix  int   // how many leading key columns by binds
	named   bool  // the key ends in a text
	ranged  int   // position of the int or bigint bounded by from and to, or -1
	up      bool  // rows come in the order of writing, not in reverse

	parts []*statement
}

func (s *store) compile(p *schemas.Pattern) (*statement, error) {
	if p.Kind == schemas.Batch {
		parts, err := plan.Compile(p, s.compile)
		return &statement{Plan: plan.Of(p), parts: parts}, err
	}
	p, t, err := s.tables.Find(p)
	if err != nil {
		return nil, err
	}
	st := &statement{Plan: plan.Of(p), table: &t.rows}
	if err := st.InOneRow(); err != nil {
		return nil, err
	}
	if p.Static {
		st.table = &t.statics
	}
	st.bound = st.positions(p.By)
	if p.In != nil {
		st.bound = append(st.bound, st.position(p.In))
	}
	for st.prefix < len(st.bound) && st.bound[st.prefix] == st.prefix {
		st.prefix++
	}
	last := st.table.key[len(st.table.key)-1]
	st.named = last.Type.Kind == schemas.Text
	st.element = -1
	if p.Element != nil {
		st.element = st.position(p.Element)
	}
	if p.Kind.Reads() {
		st.out = st.positions(p.Columns)
	} else {
		st.written = st.positions(p.Columns)
	}
	st.direct()
	return st, nil
}

// direct finds the column of a slice's bounds, and its direction.
func (st *statement) direct() {
	p := st.Pattern()
	st.ranged, st.up = -1, !p.Reverse
	for _, b := range []*schemas.Bound{p.From, p.To} {
		if b != nil && (b.Column.Type.Kind == schemas.Int || b.Column.Type.Kind == schemas.Bigint) {
			st.ranged = st.position(b.Column)
		}
	}
	desc := false
	if p.Index != nil && len(st.bound) < len(p.Index.Columns) {
		desc = p.Index.Columns[len(st.bound)].Desc
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
