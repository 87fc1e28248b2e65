package schemas

import (
	"slices"
	"testing"
)

// TestArgLayout finds by name, in the arguments of every pattern, what ArgLayout says
// is there.
func TestArgLayout(t *testing.T) {
	patterns := slices.Clone(valid(t).Patterns)
	for _, name := range BundledVariants("") {
		s, err := Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		patterns = append(patterns, s.Patterns...)
	}
	for _, p := range patterns {
		if p.Kind == Batch {
			continue
		}
		args, layout := p.Args(), p.ArgLayout()
		found := 0 // arguments that some group claims
		group := func(what string, at int, names ...string) {
			for i, name := range names {
				found++
				if at < 0 || at+i >= len(args) || args[at+i].Name != name {
					t.Errorf("%s: %s %s is not at argument %d of %v", p.Name, what, name, at+i, args)
				}
			}
			if len(names) == 0 && at != -1 && (what == "in" || what == "element" || what == "from" || what == "to" || what == "limit") {
				t.Errorf("%s: %s is at %d, and there is none", p.Name, what, at)
			}
		}
		one := func(what string, at int, c *Column) {
			if c == nil {
				group(what, at)
				return
			}
			group(what, at, c.Name)
		}
		many := func(what string, at int, cs []*Column) {
			var names []string
			for _, c := range cs {
				names = append(names, c.Name)
			}
			group(what, at, names...)
		}
		bound := func(b *Bound) *Column {
			if b == nil {
				return nil
			}
			return b.Column
		}
		many("by", 0, p.By)
		one("in", layout.In, p.In)
		one("element", layout.Element, p.Element)
		many("filter", layout.Filter, p.Filter)
		one("from", layout.From, bound(p.From))
		one("to", layout.To, bound(p.To))
		many("after", layout.After, p.After)
		if p.LimitArg {
			group("limit", layout.Limit, "limit")
		} else {
			group("limit", layout.Limit)
		}
		if !p.Kind.Reads() && p.Kind != Delete {
			many("columns", layout.Columns, p.Columns)
		}
		many("if", layout.If, p.If)
		if found != len(args) {
			t.Errorf("%s: %d of %d arguments have a place", p.Name, found, len(args))
		}
	}
}
