package cql

import (
	"fmt"
	"slices"
)

// A parser reads one statement. After the first fault it reads nothing more.
type parser struct {
	source    string
	use       string  // the keyspace of names that do not say it
	tokens    []token // what is still to be read
	last      token
	statement string
	reason    string
	fault     int
}

func (p *parser) fail(reason string) {
	if p.reason != "" {
		return
	}
	p.reason, p.fault = reason, p.last.line
	if len(p.tokens) > 0 {
		p.fault = p.tokens[0].line
	}
	p.tokens = nil
}

// accept passes over the words if they are next.
func (p *parser) accept(words ...string) bool {
	if len(p.tokens) < len(words) {
		return false
	}
	for i, w := range words {
		if !p.tokens[i].is(w) {
			return false
		}
	}
	p.last = p.tokens[len(words)-1]
	p.tokens = p.tokens[len(words):]
	return true
}

func (p *parser) expect(w string) {
	if p.accept(w) || p.reason != "" {
		return
	}
	if len(p.tokens) == 0 {
		p.fail(fmt.Sprintf("expected %q, found the end of the statement", w))
		return
	}
	p.fail(fmt.Sprintf("expected %q, found %q", w, p.tokens[0].text))
}

func (p *parser) take() token {
	if len(p.tokens) == 0 {
		p.fail("the statement ends too early")
		return token{}
	}
	p.last = p.tokens[0]
	p.tokens = p.tokens[1:]
	return p.last
}

// ident reads a name of a column, table, type or keyspace.
func (p *parser) ident() string {
	if len(p.tokens) > 0 && p.tokens[0].kind != word && p.tokens[0].kind != quoted {
		p.fail(fmt.Sprintf("expected a name, found %q", p.tokens[0].text))
	}
	return p.take().text
}

func (p *parser) name() Name {
	p.accept("if", "not", "exists")
	n := p.ident()
	if p.accept(".") {
		return Name{n, p.ident()}
	}
	return Name{p.use, n}
}

// column reads a column's name and type, up to one of the ends outside of brackets.
func (p *parser) column(ends ...string) Column {
	c := Column{Name: p.ident(), Line: p.last.line}
	depth, i := 0, 0
	for ; i < len(p.tokens); i++ {
		t := p.tokens[i]
		if depth == 0 && slices.ContainsFunc(ends, t.is) {
			break
		}
		switch {
		case t.is("<"):
			depth++
		case t.is(">"):
			depth--
			if depth < 0 {
				p.fail("a > too many")
				return c
			}
		case t.kind == bad || t.kind == sign && !t.is(",") && !t.is("."):
			p.tokens = p.tokens[i:]
			p.fail(fmt.Sprintf("%q in a type", t.text))
			return c
		case i > 0 && t.kind != sign && p.tokens[i-1].kind != sign:
			p.tokens = p.tokens[i:]
			p.fail(fmt.Sprintf("%q after a type", t.text))
			return c
		}
	}
	if i == 0 || depth != 0 {
		p.fail("the type of " + c.Name + " is missing or its < and > do not match")
		return c
	}
	c.Type = join(p.tokens[:i])
	p.tokens = p.tokens[i:]
	return c
}

// value reads one value as the text has it: a literal, or what is in brackets.
// Outside of brackets a space ends it.
func (p *parser) value() string {
	depth, i := 0, 0
	for ; i < len(p.tokens); i++ {
		t := p.tokens[i]
		if depth == 0 && i > 0 && t.at > p.tokens[i-1].end {
			break
		}
		switch {
		case t.kind == bad:
			p.tokens = p.tokens[i:]
			p.fail("a quote or comment that nothing closes, or a strange character")
			return ""
		case t.is("{"), t.is("["), t.is("("):
			depth++
		case t.is("}"), t.is("]"), t.is(")"):
			depth--
		}
	}
	if depth != 0 {
		p.fail("the brackets of a value do not match")
	}
	return p.cut(i)
}

func (p *parser) cut(n int) string {
	if n == 0 {
		p.fail("a value is missing")
		return ""
	}
	if len(p.tokens) < n { // it failed before
		return ""
	}
	s := p.source[p.tokens[0].at:p.tokens[n-1].end]
	p.last = p.tokens[n-1]
	p.tokens = p.tokens[n:]
	return s
}
