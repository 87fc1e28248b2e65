package cql

import "fmt"

// statement reads a statement that begins at the next token; ok is false if no
// statement begins so.
func (p *parser) statementOf() (s Statement, ok bool) {
	first := p.next()
	s.Line = first.line
	switch {
	case p.accept("select"):
		s.tableAt = first.at
		p.selection(&s)
	case p.accept("insert", "into"):
		p.insertion(&s)
	case p.accept("update"):
		p.update(&s)
	case p.accept("delete"):
		p.deletion(&s)
	case p.accept("begin", "batch"), p.accept("begin", "logged", "batch"):
		s.Batch = "logged"
		p.batch(&s)
	case p.accept("begin", "unlogged", "batch"):
		s.Batch = "unlogged"
		p.batch(&s)
	case p.accept("begin", "counter", "batch"):
		s.Batch = "counter"
		p.batch(&s)
	default:
		return s, false
	}
	s.Text = p.from(first)
	return s, true
}

func (p *parser) insertion(s *Statement) {
	s.Kind = Insert
	s.Table = p.name()
	if s.JSON = p.accept("json"); s.JSON {
		s.Values = []Term{p.term()}
		if p.accept("default") && !p.accept("unset") {
			p.expect("null")
		}
	} else {
		s.Columns = p.idents()
		p.expect("values")
		s.Values = p.terms()
		if len(s.Values) != len(s.Columns) {
			p.fail(fmt.Sprintf("%d columns and %d values", len(s.Columns), len(s.Values)))
		}
	}
	s.IfNotExists = p.accept("if", "not", "exists")
	p.using(s)
}

// using reads USING TTL and TIMESTAMP, if they are next.
func (p *parser) using(s *Statement) {
	if !p.accept("using") {
		return
	}
	for p.reason == "" {
		name := p.ident()
		if name != "ttl" && name != "timestamp" {
			p.fail(fmt.Sprintf("expected TTL or TIMESTAMP after USING, found %q", name))
		}
		s.Using = append(s.Using, Using{name, p.term()})
		if !p.accept("and") {
			return
		}
	}
}

func (p *parser) update(s *Statement) {
	s.Kind = Update
	s.Table = p.name()
	p.using(s)
	p.expect("set")
	p.list(func() { s.Set = append(s.Set, p.assignment()) })
	p.expect("where")
	s.Where = p.relations()
	p.condition(s)
}

func (p *parser) assignment() Assignment {
	first := p.next()
	a := Assignment{Column: p.ident()}
	a.Within = p.within()
	switch {
	case p.accept("+", "="):
		a.Add = true
	case p.accept("-", "="):
		a.Remove = true
	default:
		p.expect("=")
		if t := p.next(); (t.kind == word || t.kind == quoted) && t.text == a.Column && !a.Within {
			p.take()
			if a.Add = p.accept("+"); !a.Add {
				p.expect("-")
				a.Remove = true
			}
		}
	}
	value := p.next()
	p.primary() // not term: [?] + list is a sum of the value and the column
	marker := value.is("?") || value.is(":")
	for p.reason == "" && p.operator() {
		if t := p.next(); (t.kind == word || t.kind == quoted) && t.text == a.Column && !a.Add && !a.Remove {
			p.take()
			a.Add, a.Prepend = true, true
			break
		}
		marker = false
		p.primary()
	}
	a.Value = Term{Text: p.from(value), Marker: marker && !a.Prepend}
	a.Text = p.from(first)
	return a
}

// condition reads IF, if it is next.
func (p *parser) condition(s *Statement) {
	switch {
	case p.accept("if", "exists"):
		s.IfExists = true
	case p.accept("if"):
		s.If = p.relations()
	}
}

func (p *parser) deletion(s *Statement) {
	s.Kind = Delete
	if !p.accept("from") {
		p.list(func() { s.Delete = append(s.Delete, p.selector()) })
		p.expect("from")
	}
	s.Table = p.name()
	p.using(s)
	p.expect("where")
	s.Where = p.relations()
	p.condition(s)
}

func (p *parser) batch(s *Statement) {
	s.Kind = Batch
	p.using(s)
	for p.reason == "" && !p.accept("apply", "batch") {
		part, ok := p.statementOf()
		if !ok || part.Kind == Select || part.Kind == Batch {
			p.fail("a batch holds INSERT, UPDATE and DELETE, and ends with APPLY BATCH")
		}
		s.Parts = append(s.Parts, part)
		p.accept(";")
	}
	if len(s.Parts) == 0 {
		p.fail("a batch without statements")
	}
}
