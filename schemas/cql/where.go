package cql

import "fmt"

// relations reads relations with AND between them.
func (p *parser) relations() (all []Relation) {
	for p.reason == "" {
		all = append(all, p.relation())
		if !p.accept("and") {
			break
		}
	}
	return all
}

func (p *parser) relation() Relation {
	first := p.next()
	var r Relation
	switch {
	case first.is("token") && p.followed("("):
		p.take()
		r.Token = true
		r.Columns = p.idents()
	case first.is("("):
		r.Tuple = true
		r.Columns = p.idents()
	default:
		r.Columns = []string{p.ident()}
		r.Within = p.within()
	}
	p.compare(&r)
	r.Text = p.from(first)
	return r
}

// idents reads "(a, b)".
func (p *parser) idents() (names []string) {
	p.expect("(")
	p.list(func() { names = append(names, p.ident()) })
	p.expect(")")
	return names
}

// within passes over the rest of m['a'] or address.city.
func (p *parser) within() bool {
	switch {
	case p.accept("["):
		p.term()
		p.expect("]")
	case p.accept("."):
		p.ident()
	default:
		return false
	}
	return true
}

func (p *parser) compare(r *Relation) {
	for _, op := range []string{"=", "<=", ">=", "!=", "<", ">", "like"} {
		if p.accept(op) {
			r.Op = op
			r.Terms = p.sides(r)
			return
		}
	}
	switch {
	case p.accept("in"):
		r.Op = "in"
		if p.next().is("(") {
			r.Terms = p.terms()
		} else {
			r.Terms = []Term{p.term()}
		}
	case p.accept("contains", "key"):
		r.Op = "contains key"
		r.Terms = []Term{p.term()}
	case p.accept("contains"):
		r.Op = "contains"
		r.Terms = []Term{p.term()}
	case p.accept("between"):
		r.Op = "between"
		r.Terms = []Term{p.term()}
		p.expect("and")
		r.Terms = append(r.Terms, p.term())
	case p.accept("is", "not", "null"):
		r.Op = "is not null"
	default:
		p.fail(fmt.Sprintf("expected a comparison, found %q", p.next().text))
	}
}

// sides reads the right side: the values of a tuple, or one value.
func (p *parser) sides(r *Relation) []Term {
	if r.Tuple && p.next().is("(") {
		return p.terms()
	}
	return []Term{p.term()}
}
