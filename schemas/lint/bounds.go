package lint

import (
	"github.com/mailbench/mailbench/schemas"
)

// boundRules are about what grows without end, in the store and in what is read.
func boundRules() []*Rule {
	return []*Rule{{
		ID: "unbounded-partition", Severity: Warning, Engines: []string{cassandra},
		Doc: `Each message or event adds rows to a partition, nothing in its key begins a new one, and no row expires. A partition is
			read, compacted, repaired and streamed as a whole, by the same replicas.`,
		Source: `aim: under 10 MB a partition; 100 MB and 100,000 rows are where it begins to hurt: DataStax, Calculating
			partition size
			(https://docs.datastax.com/en/cassandra_win/2.2/cassandra/planning/planPlanningPartitionSize.html);
			cassandra.yaml 4.0, compaction_large_partition_warning_threshold 100MiB (partition_size_warn_threshold
			since 4.1); limit: 2 billion cells (https://docs.datastax.com/en/cql/hcd/reference/cql-limits.html)`,
		Do: `Add a column that begins a new partition to its key: a month, or a number that rises when the partition is
			full. bucket: COLUMN says which it is.`,
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				if col := growing(t, 0); col != nil && !c.ends(t) {
					c.atTable(t, "a partition (%s) gets rows for each %s, without an end", names(t.Partition), col.Name)
				}
			})
		},
	}, {
		ID: "unbounded-row", Severity: Warning, Engines: []string{hbase},
		Doc: `Each message or event adds a cell to one HBase row, and nothing in its key begins a new one. A row is
			never split between regions, and a Get of it must fit into memory.`,
		Source: `HBase Reference Guide, Tall vs. wide: rows should not grow past a region's size
			(https://hbase.apache.org/book.html#schema.smackdown.rowscols); hbase.table.max.rowsize, 1 GB`,
		Do: `Let each message be a row: give the table a second plain column, or nest it in a table that has rows of
			its own. Or add a column that begins a new row (bucket: COLUMN).`,
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				n := c.rowColumns(t)
				if col := growing(t, n-len(t.Partition)); col != nil && !c.ends(t) {
					c.atTable(t, "an HBase row (%s) gets a cell for each %s, without an end",
						names(t.Key()[:n]), col.Name)
				}
			})
		},
	}, {
		ID: "growth-unknown", Severity: Warning, Engines: []string{cassandra},
		Doc: `A pattern reads a partition in pages, so that many rows are expected, and nothing says of what: the table
			has no rows section, and its clustering columns are text, int or boolean. If they name messages, the
			partition grows without an end.`,
		Source: "the package comment of schemas, Population; limits as for unbounded-partition",
		Do: `Say which rows mail leaves in the table, as in rows: [{each: message, partition: folder}]. If they are many,
			add a column that begins a new partition to its key.`,
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				if len(t.Rows) > 0 || len(t.Clustering) == 0 || growing(t, 0) != nil || c.ends(t) {
					return
				}
				for _, p := range c.of(t, schemas.Slice) {
					if p.LimitArg || p.Limit > 1 {
						c.atTable(t, "%s reads pages of it, and nothing says how many rows a partition (%s) gets by (%s)",
							p.Name, names(t.Partition), names(t.Clustering))
						return
					}
				}
			})
		},
	}, {
		ID: "unbounded-read", Severity: Warning,
		Doc: `A slice has no limit, and what it reads grows with each message or event. A call that was fast in a new
			mailbox times out in an old one. (A bucket in the partition key bounds it, and so does a time to live.)`,
		Source: `Cassandra guardrail page_size_warn_threshold
			(https://cassandra.apache.org/_/blog/Apache-Cassandra-4.1-Features-Guardrails-Framework.html); HBase
			Reference Guide, hbase.client.scanner.max.result.size
			(https://hbase.apache.org/book.html#hbase_default_configurations)`,
		Do: "Add limit: arg and after, and read in pages; or keep a counter of what is counted.",
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				ends := p.Index == nil && (c.ends(p.Table) || c.drained(p) != nil) // rule queue has the latter
				if col := leftToGrow(p); col != nil && !limited(p) && !ends && !c.onlyFallback(p) {
					c.atPattern(p, "has no limit, and its rows of %s grow in number by %s", p.Table.Name, col.Name)
				}
			}, schemas.Slice)
		},
	}, {
		ID: "filter-reads-more", Severity: Warning,
		Doc: `A slice compares a column that neither the key nor an index of the table finds rows by. The engine reads the rows that it
			drops, and a limit bounds only what it returns.`,
		Source: `Cassandra documentation, ALLOW FILTERING
			(https://cassandra.apache.org/doc/latest/cassandra/developing/cql/dml.html#allow-filtering); HBase
			Reference Guide, Filters (https://hbase.apache.org/book.html#client.filter)`,
		Do: `Add the column to the key of a table of its own, or declare an index over the partition key and the
			column.`,
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				a := accessOf(p)
				if c.noIndex(p) {
					a.dropped = p.Filter
				}
				if len(a.dropped) > 0 && (p.Kind == schemas.Slice || len(a.indexes) > 0) && !c.onlyFallback(p) {
					c.atPattern(p, "reads rows of %s that it drops after it has compared %s", p.Table.Name, names(a.dropped))
				}
			}, schemas.Slice, schemas.Scan)
		},
	}, {
		ID: "large-delete", Severity: Note, Engines: []string{hbase},
		Doc: `A delete of many HBase rows reads their keys first and deletes them in parts. It is not atomic. (Cassandra
			writes one tombstone for the range.)`,
		Source: `HBase has a Delete for one row only (https://hbase.apache.org/book.html#_delete); the package comment of
			drivers/hbase`,
		Do: `Let the caller find the rows and delete them in pages, so that it can go on where it was stopped.`,
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if p.Scope != schemas.ScopeRow && len(p.By) < c.rowColumns(p.Table) {
					c.atPattern(p, "deletes all HBase rows below (%s) of %s, which it has to read",
						names(p.By), p.Table.Name)
				}
			}, schemas.Delete)
		},
	}}
}

// noIndex reports whether the index that would answer p's filter is over plain columns,
// and the schema was written for an engine that keeps no such index.
func (c *checker) noIndex(p *schemas.Pattern) bool {
	return c.schema.Native == hbase && indexOf(p) != nil && !indexOf(p).OverKeys()
}
