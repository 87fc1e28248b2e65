package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// orderRules are about where the order of a pattern's rows comes from.
func orderRules() []*Rule {
	return []*Rule{{
		ID: "order-by-index", Severity: Warning,
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if ordered := orderedBy(p); ordered != nil && !c.onlyFallback(p) {
					c.atPattern(p, "is in the order of (%s), which index %s has and the primary key of %s (%s) has not",
						names(ordered), p.Index.Name, p.Table.Name, names(p.Table.Key()))
				}
			}, schemas.Slice)
		},
	}, {
		ID: "order-backwards", Severity: Warning,
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if !p.Reverse || c.onlyFallback(p) {
					return
				}
				f := c.atPattern(p, "reads %s against its clustering order", p.Table.Name)
				if i := slices.IndexFunc(c.of(p.Table, schemas.Slice), forwards); i >= 0 {
					f.Do = fmt.Sprintf("Write a second table in that order, or accept it: %s needs the order of this one.",
						c.of(p.Table, schemas.Slice)[i].Name)
				}
			}, schemas.Slice)
		},
	}, {
		ID: "sorted-by-client", Severity: Warning, Engines: []string{oracle},
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if order := readingOrder(p); mixed(order) && !c.onlyFallback(p) {
					c.atPattern(p, "is in the order of (%s), so the client reads all rows of %s that it may return, and sorts them",
						directed(order), p.Table.Name)
				}
			}, schemas.Slice)
		},
	}}
}

// forwards reports whether a slice needs the clustering order as it is declared.
func forwards(p *schemas.Pattern) bool { return !p.Reverse && p.Index == nil && p.In == nil }

// readingOrder returns the columns that order the rows of a slice after those that it binds: of its
// index, then of the primary key.
func readingOrder(p *schemas.Pattern) (order []schemas.IndexColumn) {
	if p.Index != nil {
		order = slices.Clone(p.Index.Columns)
	}
	for _, k := range p.Table.Key() {
		if !slices.ContainsFunc(order, func(c schemas.IndexColumn) bool { return c.Column == k }) {
			order = append(order, schemas.IndexColumn{Column: k, Desc: k.Desc})
		}
	}
	return slices.DeleteFunc(order, func(c schemas.IndexColumn) bool {
		return slices.Contains(p.By, c.Column) || c.Column == p.In
	})
}

// mixed reports whether some columns ascend and others descend.
func mixed(order []schemas.IndexColumn) bool {
	return slices.ContainsFunc(order, func(c schemas.IndexColumn) bool { return c.Desc != order[0].Desc })
}

func directed(order []schemas.IndexColumn) string {
	var words []string
	for _, c := range order {
		word := c.Column.Name
		if c.Desc {
			word += " desc"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// orderedBy returns the columns of an index that order the rows of a slice through
// it, or nil if the primary key orders them as well.
func orderedBy(p *schemas.Pattern) []*schemas.Column {
	if p.Index == nil {
		return nil
	}
	var by []*schemas.Column
	for _, ic := range p.Index.Columns[len(p.By):] {
		by = append(by, ic.Column)
	}
	key := p.Table.Key()
	if len(p.By) <= len(key) && slices.Equal(p.By, key[:len(p.By)]) && len(by) <= len(key)-len(p.By) &&
		slices.Equal(by, key[len(p.By):len(p.By)+len(by)]) {
		return nil
	}
	return by
}
