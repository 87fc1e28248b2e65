package drivers

import "github.com/mailbench/mailbench/schemas"

// additions say which values of a pattern's rows and arguments are additions to the model's document:
// all if the pattern or its table is one, else those of columns that are.
type additions struct {
	any, all   bool
	rows, args []bool
}

// additionsOf is kept for each pattern: the second call of one allocates nothing.
func (m *Meter) additionsOf(p *schemas.Pattern) *additions {
	a := m.added[p]
	if a == nil {
		a = newAdditions(p)
		m.added[p] = a
	}
	return a
}

func newAdditions(p *schemas.Pattern) *additions {
	a := &additions{all: p.Addition != "" && !p.Form}
	for t := p.Table; t != nil; t = t.Parent {
		a.all = a.all || t.Addition != ""
	}
	a.any = a.all
	of := p.Columns
	if p.Element != nil {
		of = []*schemas.Column{p.Element}
	}
	columns := make([]bool, len(of))
	for i, c := range of {
		columns[i] = c.Addition != ""
		a.any = a.any || columns[i]
	}
	if p.Kind.Reads() {
		a.rows = columns
	} else if p.Kind != schemas.Batch {
		a.args = append(make([]bool, p.ArgLayout().Columns), columns...)
	}
	return a
}

// of is the size of those of the values that are additions. The values beyond of are none.
func (a *additions) of(added []bool, vs []Value) int64 {
	if a.all {
		return size(vs)
	}
	if !a.any {
		return 0
	}
	n := 0
	for i := range min(len(vs), len(added)) {
		if added[i] {
			n += vs[i].Size()
		}
	}
	return int64(n)
}
