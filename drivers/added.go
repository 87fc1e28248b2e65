package drivers

import "github.com/mailbench/mailbench/schemas"

// additions say which values of a pattern's rows and arguments are additions to the model's document:
// all if the pattern or its table is one, else those of columns that are.
type additions struct {
	all        bool
	rows, args []int // positions of the columns
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
	of, first := p.Columns, 0
	if p.Element != nil {
		of = []*schemas.Column{p.Element}
	}
	if !p.Kind.Reads() && p.Kind != schemas.Batch {
		first = p.ArgLayout().Columns
	}
	var at []int
	for i, c := range of {
		if c.Addition != "" {
			at = append(at, first+i)
		}
	}
	if p.Kind.Reads() {
		a.rows = at
	} else {
		a.args = at
	}
	return a
}

// of is the size of those of the values that are additions, which are at these positions.
func (a *additions) of(at []int, vs []Value) int64 {
	if a.all {
		return size(vs)
	}
	n := 0
	for _, i := range at {
		if i < len(vs) { // a put may lack its last columns
			n += vs[i].Size()
		}
	}
	return int64(n)
}
