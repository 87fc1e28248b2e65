package cql

import (
	"fmt"
	"slices"
)

// from returns the source from a token on to the last one that was read.
func (p *parser) from(first token) string {
	if p.reason != "" || p.last.end < first.at {
		return ""
	}
	return p.source[first.at:p.last.end]
}

// next returns the next token without taking it.
func (p *parser) next() token {
	if len(p.tokens) == 0 {
		return token{}
	}
	return p.tokens[0]
}

// followed reports whether the token after the next one is s.
func (p *parser) followed(s string) bool { return len(p.tokens) > 1 && p.tokens[1].is(s) }

// list reads one or more of what read reads, with commas between them.
func (p *parser) list(read func()) {
	read()
	for p.reason == "" && p.accept(",") {
		read()
	}
}

var operators = []string{"+", "-", "*", "/", "%"}

// operator passes over an arithmetic operator.
func (p *parser) operator() bool {
	return slices.ContainsFunc(operators, func(o string) bool { return p.accept(o) })
}

func (p *parser) term() Term {
	first := p.next()
	marker := first.is("?") || first.is(":")
	p.primary()
	for p.reason == "" && p.operator() {
		marker = false
		p.primary()
	}
	return Term{Text: p.from(first), Marker: marker}
}

// terms reads "(a, b)", which may be empty.
func (p *parser) terms() (all []Term) {
	p.expect("(")
	if p.accept(")") {
		return nil
	}
	p.list(func() { all = append(all, p.term()) })
	p.expect(")")
	return all
}

// primary reads a value without operators.
func (p *parser) primary() {
	switch t := p.next(); {
	case p.reason != "":
	case t.kind == text, t.kind == number, t.is("?"):
		p.take()
	case p.accept(":"):
		p.ident()
	case p.accept("-"), p.accept("+"):
		p.primary()
	case t.is("("):
		p.brackets()
	case p.accept("["):
		if !p.accept("]") {
			p.list(func() { p.term() })
			p.expect("]")
		}
	case p.accept("{"):
		p.braces()
	case t.kind == word && slices.Contains([]string{"true", "false", "null", "nan", "infinity"}, t.text):
		p.take()
	case (t.kind == word || t.kind == quoted) && p.followed("("):
		p.take()
		p.terms()
	case (t.kind == word || t.kind == quoted) && p.followed(".") && len(p.tokens) > 3 && p.tokens[3].is("("):
		p.name()
		p.terms()
	case len(p.tokens) == 0:
		p.fail("the statement ends where a value should be")
	default:
		p.fail(fmt.Sprintf("expected a value, found %q", t.text))
	}
}

// brackets reads a tuple (a, b) or a value with its type (int) a.
func (p *parser) brackets() {
	if len(p.tokens) > 2 && p.tokens[1].kind == word && p.tokens[2].is(")") && !p.tokens[1].is("null") &&
		!p.tokens[1].is("true") && !p.tokens[1].is("false") {
		p.expect("(")
		p.ident()
		p.expect(")")
		p.primary()
		return
	}
	p.terms()
}

// braces reads the rest of a set {a}, a map {a: b} or a user-defined value {field: b}.
func (p *parser) braces() {
	if p.accept("}") {
		return
	}
	p.list(func() {
		if t := p.next(); (t.kind == word || t.kind == quoted) && p.followed(":") {
			p.ident()
		} else {
			p.term()
		}
		if p.accept(":") {
			p.term()
		}
	})
	p.expect("}")
}
