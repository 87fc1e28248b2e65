package lint

import "github.com/mailbench/mailbench/schemas"

// indexRules are about secondary indexes.
func indexRules() []*Rule {
	return []*Rule{{
		ID: "index-unused", Severity: Warning,
		check: func(c *checker) {
			c.indexes(func(t *schemas.Table, x *schemas.Index, _ *schemas.Column) {
				if len(c.schema.Patterns) > 0 && len(c.through(t, x)) == 0 {
					c.atIndex(t, x, "no pattern reads through index %s", x.Name)
				}
			})
		},
	}, {
		ID: "index-is-key", Severity: Warning,
		check: func(c *checker) {
			c.indexes(func(t *schemas.Table, x *schemas.Index, _ *schemas.Column) {
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
			})
		},
	}, {
		ID: "index-few-values", Severity: Warning,
		check: func(c *checker) {
			c.indexes(func(t *schemas.Table, x *schemas.Index, first *schemas.Column) {
				if first != nil && first.Type.Kind == schemas.Boolean && c.everyNode(t, x) {
					c.atIndex(t, x, "index %s has two values of %s, and is read without the partition key (%s)",
						x.Name, first.Name, names(t.Partition))
				}
			})
		},
	}, {
		ID: "index-many-values", Severity: Warning,
		check: func(c *checker) {
			c.indexes(func(t *schemas.Table, x *schemas.Index, first *schemas.Column) {
				if first != nil && unique(t, first) && c.everyNode(t, x) {
					const what = "nearly every row of %s has a %s %s of its own, and index %s is read without the partition key (%s)"
					c.atIndex(t, x, what, t.Name, first.Type, first.Name, x.Name, names(t.Partition))
				}
			})
		},
	}}
}

// indexes calls yield for every index with the first of its columns that is not in
// the partition key; nil if all are.
func (c *checker) indexes(yield func(t *schemas.Table, x *schemas.Index, first *schemas.Column)) {
	c.tables(func(t *schemas.Table) {
		for _, x := range t.Indexes {
			var first *schemas.Column
			for _, ic := range x.Columns {
				if first == nil && ic.Column.Role != schemas.Partition {
					first = ic.Column
				}
			}
			yield(t, x, first)
		}
	})
}

// everyNode reports whether some pattern reads through the index without the
// partition key.
func (c *checker) everyNode(t *schemas.Table, x *schemas.Index) bool {
	for _, p := range c.through(t, x) {
		if !bindsPartition(p) {
			return true
		}
	}
	return false
}
