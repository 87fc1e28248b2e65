package cql

func (p *parser) selection(s *Statement) {
	s.Kind = Select
	s.JSON = p.prefix("json")
	s.Distinct = p.prefix("distinct")
	if !p.accept("*") {
		p.list(func() {
			x := p.selector()
			if p.accept("as") {
				p.ident()
			}
			s.Select = append(s.Select, x)
		})
	}
	p.expect("from")
	s.tableAt, s.tableNamed = p.next().at-s.tableAt, p.followed(".")
	s.Table = p.name()
	if p.accept("where") {
		s.Where = p.relations()
	}
	if p.accept("group", "by") {
		p.list(func() { s.GroupBy = append(s.GroupBy, p.selector().Text) })
	}
	if p.accept("order", "by") {
		p.list(func() { s.OrderBy = append(s.OrderBy, p.ordering()) })
	}
	if p.accept("per", "partition", "limit") {
		t := p.term()
		s.PerPartition = &t
	}
	if p.accept("limit") {
		t := p.term()
		s.Limit = &t
	}
	s.AllowFiltering = p.accept("allow", "filtering")
}

// prefix passes over a word unless it is a column: SELECT json, a FROM t.
func (p *parser) prefix(w string) bool {
	for _, after := range []string{",", "from", "as", "(", "[", "."} {
		if p.followed(after) {
			return false
		}
	}
	return p.accept(w)
}

func (p *parser) ordering() Ordering {
	o := Ordering{Column: p.ident()}
	if p.accept("ann", "of") {
		o.ANN = true
		p.term()
		return o
	}
	if o.Descending = p.accept("desc"); !o.Descending {
		p.accept("asc")
	}
	return o
}

// selector reads a column, an element, a function or a sum of them.
func (p *parser) selector() Selector {
	first := p.next()
	var x Selector
	p.selected(&x)
	for p.reason == "" && p.operator() {
		p.selected(&x)
		x.Column = ""
	}
	x.Text = p.from(first)
	return x
}

func (p *parser) selected(x *Selector) {
	t := p.next()
	isName := t.kind == word || t.kind == quoted
	switch {
	case t.is("cast") && p.followed("("):
		p.take()
		p.expect("(")
		p.selected(x)
		p.expect("as")
		p.ident()
		p.expect(")")
		x.Column = ""
	case isName && p.followed("("):
		p.take()
		p.arguments(x)
	case isName && p.followed(".") && len(p.tokens) > 3 && p.tokens[3].is("("):
		p.name()
		p.arguments(x)
	case isName && !t.is("null") && !t.is("true") && !t.is("false"):
		x.Column = p.ident()
		x.Columns = append(x.Columns, x.Column)
		x.Within = p.within()
	default:
		p.term()
	}
}

// arguments reads those of a function.
func (p *parser) arguments(x *Selector) {
	p.expect("(")
	if !p.accept("*") && !p.next().is(")") {
		p.list(func() {
			p.selected(x)
			for p.reason == "" && p.operator() {
				p.selected(x)
			}
		})
	}
	p.expect(")")
	x.Column = ""
}
