package lint

import "github.com/mailbench/mailbench/schemas"

// indexRules are about secondary indexes.
func indexRules() []*Rule {
	return []*Rule{{
		ID: "index-unused", Severity: Warning,
		Doc: `No pattern reads through an index, and every write keeps it up to date. On Cassandra an overwrite reads
			the old row for that.`,
		Source: `Cassandra guardrail secondary_indexes_per_table_warn_threshold
			(https://cassandra.apache.org/_/blog/Apache-Cassandra-4.1-Features-Guardrails-Framework.html)`,
		Do: "Remove the index, or name it in the slice that needs it.",
		check: func(c *checker) {
			c.indexes(func(t *schemas.Table, x *schemas.Index, _ *schemas.Column) {
				if len(c.schema.Patterns) > 0 && len(c.through(t, x)) == 0 {
					c.atIndex(t, x, "no pattern reads through index %s", x.Name)
				}
			})
		},
	}, {
		ID: "index-is-key", Severity: Warning,
		Doc: "The columns of an index are the first ones of the primary key, in its order. The key finds the same rows " +
			"in the same order, and every write keeps the index up to date for nothing.",
		Source: judgement,
		Do:     "Remove the index, and let its patterns read by the key.",
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
		Doc: `An index finds rows by a boolean, and some pattern reads through it without the partition key. Each node
			keeps all rows with one of two values in one partition of its index, which grows with the node.`,
		Source: `DataStax, When to use an index (https://docs.datastax.com/en/cql/3.3/cql/cql_using/useWhenIndex.html): an
			index on an extremely low-cardinality column, such as a boolean, makes no sense`,
		Do: "Bind the partition key too, or add a table that has rows for one of the values only.",
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
		Doc: `An index finds rows by a column that is nearly unique, and some pattern reads through it without the
			partition key. Every node is read for the one row that one of them has. The rows of a table say whether
			a text is unique, as the address in a row for each user is.`,
		Source: `DataStax, When to use an index (https://docs.datastax.com/en/cql/3.0/cql/ddl/ddl_when_use_index_c.html):
			problems using a high-cardinality column index`,
		Do: "Add a table whose partition key is the column, and write it together with this one.",
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
