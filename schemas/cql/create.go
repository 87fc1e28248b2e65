package cql

import (
	"fmt"
	"slices"
)

func (p *parser) table(line int) Table {
	t := Table{Name: p.name(), Line: line}
	p.expect("(")
	for p.reason == "" {
		if p.accept("primary", "key") {
			p.keys(&t)
		} else {
			c := p.column(",", ")", "static", "primary")
			c.Static = p.accept("static")
			if p.accept("primary", "key") {
				if len(t.Partition) > 0 {
					p.fail("a second primary key")
				}
				t.Partition = []string{c.Name}
			}
			if t.has(c.Name) {
				p.fail("a second column " + c.Name)
			}
			t.Columns = append(t.Columns, c)
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	if len(t.Partition) == 0 {
		p.fail("a table without a primary key")
	}
	for _, o := range t.Cluster {
		t.Partition = append(t.Partition, o.Column)
	}
	for _, c := range t.Partition {
		if !t.has(c) {
			p.fail("the key names the column " + c + ", which the table does not have")
		}
	}
	t.Partition = t.Partition[:len(t.Partition)-len(t.Cluster)]
	if p.accept("with") {
		p.options(&t)
	}
	return t
}

func (t *Table) has(name string) bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// Clusters reports whether a column is a clustering column.
func (t *Table) Clusters(column string) bool {
	return slices.ContainsFunc(t.Cluster, func(o Order) bool { return o.Column == column })
}

// keys reads (a, b) or ((a, b), c).
func (p *parser) keys(t *Table) {
	if len(t.Partition) > 0 {
		p.fail("a second primary key")
	}
	p.expect("(")
	if p.accept("(") {
		t.Partition = append(t.Partition, p.ident())
		for p.accept(",") {
			t.Partition = append(t.Partition, p.ident())
		}
		p.expect(")")
	} else {
		t.Partition = append(t.Partition, p.ident())
	}
	for p.accept(",") {
		t.Cluster = append(t.Cluster, Order{Column: p.ident()})
	}
	p.expect(")")
}

func (p *parser) options(t *Table) {
	for p.reason == "" {
		switch {
		case p.accept("clustering", "order", "by"):
			p.orders(t)
		case p.accept("compact", "storage"):
			t.Options = append(t.Options, Option{"compact storage", "", p.last.line})
		default:
			o := Option{Name: p.ident(), Line: p.last.line}
			p.expect("=")
			o.Value = p.value()
			t.Options = append(t.Options, o)
		}
		if !p.accept("and") {
			return
		}
	}
}

func (p *parser) orders(t *Table) {
	p.expect("(")
	for i := 0; p.reason == ""; i++ {
		name := p.ident()
		if i >= len(t.Cluster) || t.Cluster[i].Column != name {
			p.fail(fmt.Sprintf("CLUSTERING ORDER BY names %s, which is not clustering column %d", name, i+1))
			return
		}
		t.Cluster[i].Descending = p.accept("desc")
		if !t.Cluster[i].Descending {
			p.accept("asc")
		}
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
}

func (p *parser) createKeyspace(line int) Keyspace {
	p.accept("if", "not", "exists")
	k := Keyspace{Name: p.ident(), Line: line}
	p.expect("with")
	for p.reason == "" {
		o := Option{Name: p.ident(), Line: p.last.line}
		p.expect("=")
		o.Value = p.value()
		k.Options = append(k.Options, o)
		if !p.accept("and") {
			break
		}
	}
	return k
}

func (p *parser) userType(line int) UserType {
	u := UserType{Name: p.name(), Line: line}
	p.expect("(")
	for p.reason == "" {
		u.Fields = append(u.Fields, p.column(",", ")"))
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	return u
}

func (p *parser) index(line int) Index {
	x := Index{Line: line}
	p.accept("if", "not", "exists")
	if !p.accept("on") {
		x.Name = p.name()
		p.expect("on")
	}
	x.Table = p.name()
	p.expect("(")
	x.Target = p.ident()
	if p.accept("(") {
		x.Part, x.Target = x.Target, p.ident()
		p.expect(")")
	}
	p.expect(")")
	if p.accept("using") {
		x.Using = p.take().text
	}
	if p.accept("with", "options", "=") {
		x.Options = p.value()
	}
	return x
}
