package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

// partitionRules are about how many partitions answer a pattern.
var partitionRules = []*Rule{{
	ID: "scan-all", Severity: Note,
	kinds: []schemas.PatternKind{schemas.Scan},
	pattern: func(c *checker, p *schemas.Pattern) {
		if a := accessOf(p); len(a.dropped)+len(a.indexes) == 0 && !c.onlyFallback(p) && !counts(p) {
			c.atPattern(p, "scans all partitions of %s", p.Table.Name)
		}
	},
}, {
	ID: "count-all", Severity: Warning,
	kinds: []schemas.PatternKind{schemas.Scan},
	pattern: func(c *checker, p *schemas.Pattern) {
		if counts(p) {
			c.atPattern(p, "counts the rows of all partitions of %s", p.Table.Name)
		}
	},
}, {
	ID: "scan-filter", Severity: Error,
	kinds: []schemas.PatternKind{schemas.Scan},
	pattern: func(c *checker, p *schemas.Pattern) {
		if a := accessOf(p); len(a.dropped) > 0 && len(a.indexes) == 0 && !c.onlyFallback(p) {
			c.atFilter(p, "scans all partitions of %s and filters the rows by %s", p.Table.Name, names(a.dropped))
		}
	},
}, {
	ID: "index-all-nodes", Severity: Warning,
	kinds: []schemas.PatternKind{schemas.Slice, schemas.Scan},
	pattern: func(c *checker, p *schemas.Pattern) {
		if a := accessOf(p); len(a.indexes) > 0 && !bindsPartition(p) && !c.onlyFallback(p) {
			var through []string
			for _, x := range a.indexes {
				through = append(through, "index "+x.Name)
			}
			c.atPattern(p, "reads all nodes through %s: it does not bind the partition key (%s)",
				words.List(through), names(p.Table.Partition))
		}
	},
}, {
	ID: "many-partitions", Severity: Warning,
	kinds: []schemas.PatternKind{schemas.Get, schemas.Slice},
	pattern: func(c *checker, p *schemas.Pattern) {
		var lists []*schemas.Column // of values of the partition key
		for _, col := range p.Table.Partition {
			if p.In == col || slices.Contains(strings.Split(carried(p, "where"), " and "), col.Name+" in ?") {
				lists = append(lists, col)
			}
		}
		how := "sequentially"
		if p.Imported != nil {
			how = "in one query, which one node coordinates"
		}
		if len(lists) > 0 && p.Parallel == 0 {
			c.atPattern(p, "reads one partition of %s per %s, %s", p.Table.Name, names(lists), how)
		}
	},
}}

// counts reports whether a scan returns the number of all rows, and no group of them.
func counts(p *schemas.Pattern) bool {
	number := strings.Contains(strings.ToLower(carried(p, "select")), "count(")
	return number && carried(p, "group by") == "" && carried(p, "where") == "" && len(p.Filter) == 0
}

// orderRules are about where the order of a pattern's rows comes from.
var orderRules = []*Rule{{
	ID: "order-by-index", Severity: Warning,
	kinds: []schemas.PatternKind{schemas.Slice},
	pattern: func(c *checker, p *schemas.Pattern) {
		if ordered := orderedBy(p); ordered != nil && !c.onlyFallback(p) {
			c.atPattern(p, "sorts by (%s): index %s has that order, and the primary key of %s (%s) does not",
				names(ordered), p.Index.Name, p.Table.Name, names(p.Table.Key()))
		}
	},
}, {
	ID: "order-backwards", Severity: Warning,
	kinds: []schemas.PatternKind{schemas.Slice},
	pattern: func(c *checker, p *schemas.Pattern) {
		if !p.Reverse || c.onlyFallback(p) {
			return
		}
		f := c.atPattern(p, "reads %s against its clustering order", p.Table.Name)
		for _, o := range c.of(p.Table, schemas.Slice) {
			if !o.Reverse && o.Index == nil && o.In == nil {
				f.Do = fmt.Sprintf("Write a second table in that order, or accept it: %s needs the order of this one.", o.Name)
				return
			}
		}
	},
}, {
	ID: "sorted-by-client", Severity: Warning, Engines: []string{oracle},
	kinds: []schemas.PatternKind{schemas.Slice},
	pattern: func(c *checker, p *schemas.Pattern) {
		if order := readingOrder(p); mixed(order) && !c.onlyFallback(p) {
			c.atPattern(p, "sorts by (%s): the client reads and sorts all rows of %s that match",
				directed(order), p.Table.Name)
		}
	},
}}

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

// indexRules are about secondary indexes.
var indexRules = []*Rule{{
	ID: "index-unused", Severity: Warning,
	index: func(c *checker, t *schemas.Table, x *schemas.Index, _ *schemas.Column) {
		if len(c.schema.Patterns) > 0 && len(c.through(t, x)) == 0 && !c.unread[t.Name] {
			c.atIndex(t, x, "no pattern reads through index %s", x.Name)
		}
	},
}, {
	ID: "index-is-key", Severity: Warning,
	index: func(c *checker, t *schemas.Table, x *schemas.Index, _ *schemas.Column) {
		key := t.Key()
		if len(x.Columns) < len(t.Partition) {
			return
		}
		for i, ic := range x.Columns {
			if i >= len(key) || ic.Column != key[i] || ic.Desc != key[i].Desc {
				return
			}
		}
		c.atIndex(t, x, "index %s is over the first columns of the primary key (%s)", x.Name, names(key))
	},
}, {
	ID: "index-few-values", Severity: Warning,
	index: func(c *checker, t *schemas.Table, x *schemas.Index, first *schemas.Column) {
		if first != nil && first.Type.Kind == schemas.Boolean && c.everyNode(t, x) {
			c.atIndex(t, x, "index %s has two values of %s, and is read without the partition key (%s)",
				x.Name, first.Name, names(t.Partition))
		}
	},
}, {
	ID: "index-many-values", Severity: Warning,
	index: func(c *checker, t *schemas.Table, x *schemas.Index, first *schemas.Column) {
		if first != nil && unique(t, first) && !c.refers(t, first) && !finds(t, x, ">") && c.everyNode(t, x) {
			c.atIndex(t, x, "%s %s is nearly unique in %s, and index %s is read without the partition key (%s)",
				first.Type, first.Name, t.Name, x.Name, names(t.Partition))
		}
	},
}}

// refers reports whether a column names rows of another table, whose partition key it is: several rows can name one.
func (c *checker) refers(t *schemas.Table, col *schemas.Column) bool {
	return slices.ContainsFunc(c.tables(), func(other *schemas.Table) bool {
		key := other.Partition[0]
		return other != t && len(other.Partition) == 1 && key.Name == col.Name && key.Type.String() == col.Type.String()
	})
}

// everyNode reports whether some pattern reads through the index without the
// partition key.
func (c *checker) everyNode(t *schemas.Table, x *schemas.Index) bool {
	return slices.ContainsFunc(c.through(t, x), func(p *schemas.Pattern) bool { return !bindsPartition(p) })
}
