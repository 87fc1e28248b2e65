package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// writeRules are about writes that read, writes that race, and writes together.
func writeRules() []*Rule {
	return []*Rule{{
		ID: "read-before-write", Severity: Note,
		Doc: `A write has to read first: a condition, an added number that is returned, an element that is taken out of
			a list by its value, and on Cassandra each counter. It costs what a read costs, and it cannot simply be
			sent again after a timeout.`,
		Source: `Cassandra documentation: lightweight transactions take four round trips
			(https://cassandra.apache.org/doc/latest/cassandra/architecture/guarantees.html#lightweight-transactions-with-linearizable-consistency),
			lists incur a read before a write
			(https://cassandra.apache.org/doc/latest/cassandra/developing/cql/collections/collection-create.html),
			counters are not idempotent
			(https://cassandra.apache.org/doc/latest/cassandra/developing/cql/types.html#counters); guardrail
			read_before_write_list_operations_enabled`,
		Do: "Keep such writes out of the way of every delivery, or change the data so that a plain put does.",
		check: func(c *checker) {
			for _, p := range c.schema.Patterns {
				if why := readsFirst(p); why != "" {
					c.atPattern(p, "%s", why)
				}
			}
		},
	}, {
		ID: "null-written", Severity: Note, Engines: []string{cassandra},
		Doc: `An INSERT writes null to a column. That is a tombstone for a value that mostly was never there, and reads
			step over it.`,
		Source: `DataStax, What are tombstones: inserting null values
			(https://docs.datastax.com/en/ddac/doc/datastax_enterprise/dbInternals/archTombstones.html)`,
		Do: "Leave the column out of the INSERT, or leave its parameter unset.",
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if null := carried(p, "null"); null != "" {
					c.atPattern(p, "writes null, a tombstone, to %s of %s", null, p.Table.Name)
				}
			}, schemas.Put, schemas.PutIf)
		},
	}, {
		ID: "condition-on-one-row", Severity: Warning, Engines: []string{cassandra},
		Doc: `A conditional write names its row by literals, so that all clients race for one row. Each write is four round
			trips between replicas, one at a time, and those that lose a race try again: a few hundred a second at most,
			and time-outs of which the client does not learn whether the write was applied.`,
		Source: `Cassandra documentation: lightweight transactions take four round trips
			(https://cassandra.apache.org/doc/latest/cassandra/architecture/guarantees.html#lightweight-transactions-with-linearizable-consistency);
			apache/cassandra-gocql-driver#690, time-outs by contention`,
		Do: "Let each client reserve a range at a time, divide the row into several, or use ids that need no counter (timeuuid).",
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if fixed := carried(p, "fixed"); fixed != "" && conditional(p) && !p.Absent {
					c.atPattern(p, "changes one row of %s (%s) under a condition", p.Table.Name, fixed)
				}
			}, schemas.Put, schemas.PutIf, schemas.Delete)
		},
	}, {
		ID: "mixed-conditional", Severity: Warning, Engines: []string{cassandra},
		Doc: `Conditional and plain writes change the rows of one table. A conditional write is ordered by its ballot, a
			plain one by its writer's clock. A plain write can be lost behind a conditional one that came before it,
			and a condition can hold though a plain write has just changed the value.`,
		Source: `Cassandra documentation, Guarantees
			(https://cassandra.apache.org/doc/latest/cassandra/architecture/guarantees.html); CASSANDRA-13767,
			timestamps of Paxos and plain writes; drivers/cassandra leaves the timestamps of such tables to the nodes`,
		Do: `Make all writes of these rows conditional, or keep what the condition guards in a table of its own.`,
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				conditional := c.of(t, schemas.PutIf)
				plain := slices.DeleteFunc(c.of(t, schemas.Put, schemas.Append, schemas.Remove, schemas.Delete),
					func(p *schemas.Pattern) bool { return p.Static || c.guarded(p) })
				if len(conditional) > 0 && len(plain) > 0 {
					c.atTable(t, "a condition guards the writes of %s, and none those of %s", patternNames(conditional),
						patternNames(plain))
				}
			})
		},
	}, {
		ID: "time-as-key", Severity: Warning,
		Doc: `Nothing but a time in milliseconds tells the rows of a partition apart, and a plain put writes them. Two
			messages of one millisecond have one key: the second overwrites the first, and no engine reports it. It is a
			note where the rows are measurements of one source.`,
		Source: `Cassandra documentation: a timestamp is a number of milliseconds
			(https://cassandra.apache.org/doc/latest/cassandra/developing/cql/types.html#timestamps), INSERT
			overwrites a row that is there
			(https://cassandra.apache.org/doc/latest/cassandra/developing/cql/dml.html#insert-statement)`,
		Do: "Let the column be a timeuuid, or add one with an id behind it.",
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				own := t.Clustering[t.Inherited:]
				named := slices.ContainsFunc(own, func(col *schemas.Column) bool {
					switch col.Type.Kind {
					case schemas.Timestamp, schemas.Int, schemas.Boolean:
						return false
					}
					return true
				})
				at := slices.IndexFunc(own, func(col *schemas.Column) bool {
					return col.Type.Kind == schemas.Timestamp && col.Type.Foreign != "date"
				})
				puts := slices.DeleteFunc(c.of(t, schemas.Put), func(p *schemas.Pattern) bool { return p.Static })
				if at >= 0 && !named && len(puts) > 0 {
					f := c.atColumn(t, own[at], "timestamp %s alone tells the rows below (%s) apart, and %s overwrites one that is there",
						own[at].Name, names(t.Key()[:len(t.Key())-len(own)]), puts[0].Name)
					if series(t) {
						f.Severity = Note
					}
				}
			})
		},
	}, {
		ID: "counter-deleted", Severity: Warning, Engines: []string{cassandra},
		Doc: `A pattern deletes rows of counters, and another one adds to them. Cassandra promises nothing of a counter
			that is added to after it was deleted: the delete may hide what was added.`,
		Source: `DataStax, Using a counter: a counter cannot be deleted and added again
			(https://docs.datastax.com/en/cql-oss/3.1/cql/cql_using/use_counter_t.html); CASSANDRA-7346, a tombstone
			always wins over a counter cell`,
		Do: "Delete counters only with all that they count, and never use their key again; else add the negative number.",
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				counters := slices.DeleteFunc(c.of(p.Table, schemas.Add), func(add *schemas.Pattern) bool {
					return add.Columns[0].Type.Kind != schemas.Counter
				})
				if len(counters) > 0 {
					c.atPattern(p, "deletes counters of %s, to which %s adds", p.Table.Name, patternNames(counters))
				}
			}, schemas.Delete)
		},
	}, {
		ID: "copy-not-deleted", Severity: Warning,
		Doc: `Rows are in two tables, and a pattern deletes them from one. They are found in the other for ever. Two
			tables have the same rows if a batch puts into both, or if one has the key of the other, columns beside
			its key, and no column that the other does not have.`,
		Source: `Cassandra documentation, Data Modeling: the application keeps denormalised tables in step
			(https://cassandra.apache.org/doc/latest/cassandra/developing/data-modeling/data-modeling_rdbms.html)`,
		Do: "Delete the copy in one batch with the row, or let both expire (ttl); accept it where the copy is a history.",
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				deletes := c.of(t, schemas.Delete)
				if len(deletes) == 0 {
					return
				}
				c.tables(func(copied *schemas.Table) {
					if copied.Root() != t.Root() && len(c.of(copied, schemas.Delete)) == 0 &&
						len(c.of(copied, schemas.Put, schemas.PutIf)) > 0 && !c.expires(copied) &&
						(c.putTogether(t, copied) || repeats(t, copied)) {
						c.atTable(copied, "has rows of %s, from which %s deletes, and nothing deletes them here",
							t.Name, patternNames(deletes))
					}
				})
			})
		},
	}, {
		ID: "batch-unbounded", Severity: Warning, Engines: []string{cassandra},
		Doc: `One batch writes a row for each element of a list, into several partitions. A single node gathers them
			all, a logged batch goes to two more nodes first, and Cassandra refuses one of more than 50 KiB.`,
		Source: `Cassandra documentation, BATCH
			(https://cassandra.apache.org/doc/latest/cassandra/developing/cql/dml.html#batch_statement); DataStax, Using
			and misusing batches (https://docs.datastax.com/en/cql-oss/3.1/cql/cql_using/useBatch.html); cassandra.yaml,
			batch_size_fail_threshold 50KiB, unlogged_batch_across_partitions_warn_threshold 10`,
		Do: `Write the rows each by itself, many at once (atomic: none, parallel: N); keep a batch for the few rows that
			must change together, and accept it if the list is short.`,
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				each := slices.IndexFunc(p.Parts, func(part schemas.Part) bool { return part.Each != "" })
				together := p.Atomic == schemas.AtomicAll ||
					p.Atomic == schemas.AtomicNone && p.Parts[0].Pattern.Table.Hints[cassandra]["batches"] == "unlogged"
				if each >= 0 && carried(p, "rows") == "" && together && spreads(p) && !c.onlyFallback(p) {
					c.atPattern(p, "one batch writes a row of %s for each %s, in several partitions",
						p.Parts[each].Pattern.Table.Name, p.Parts[each].Each)
				}
			}, schemas.Batch)
		},
	}, {
		ID: "batch-spreads", Severity: Note,
		Doc: `A batch changes rows of several partitions together. Cassandra logs it on two other nodes first: it is
			applied whole in the end, readers may see a part of it before, it warns above 5 KiB and refuses above 50
			KiB. HBase is atomic in one row only, Oracle NoSQL below one shard key. Without atomic, an
			interruption leaves a part.`,
		Source: `Cassandra documentation, BATCH
			(https://cassandra.apache.org/doc/latest/cassandra/developing/cql/dml.html#batch_statement);
			cassandra.yaml, batch_size_warn_threshold 5KiB, batch_size_fail_threshold 50KiB,
			unlogged_batch_across_partitions_warn_threshold 10; HBase ACID properties
			(https://hbase.apache.org/acid-semantics.html); Oracle NoSQL, WriteMultiple`,
		Do: `Keep bodies out of it. Put what must change together into one partition, or order the parts so that an
			interruption leaves nothing that is wrong.`,
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if !c.onlyFallback(p) && spreads(p) && !(p.Imported != nil && conditional(p)) { // that has one partition
					c.atPattern(p, "%s", c.guarantee(p))
				}
			}, schemas.Batch)
		},
	}}
}

// conditional reports whether a write, or a batch, has a condition. Some are of CQL only.
func conditional(p *schemas.Pattern) bool { return p.Conditional() || carried(p, "if") != "" }

// guarded reports whether a write has a condition of its own, or that of a batch.
func (c *checker) guarded(p *schemas.Pattern) bool {
	return carried(p, "if") != "" || slices.ContainsFunc(c.schema.Patterns, func(batch *schemas.Pattern) bool {
		return carried(batch, "if") != "" &&
			slices.ContainsFunc(batch.Parts, func(part schemas.Part) bool { return part.Pattern == p })
	})
}

// readsFirst says what a write reads, or "".
func readsFirst(p *schemas.Pattern) string {
	switch p.Kind {
	case schemas.PutIf:
		if p.Absent || p.Present {
			return fmt.Sprintf("checks whether the row of %s is there", p.Table.Name)
		}
		return fmt.Sprintf("compares (%s) of %s before it writes", names(p.If), p.Table.Name)
	case schemas.Remove:
		if p.Columns[0].Type.Kind != schemas.List {
			return ""
		}
		return fmt.Sprintf("reads the list (%s) of %s to find the element", names(p.Columns), p.Table.Name)
	case schemas.Append:
		if carried(p, "set") != "" && p.Columns[0].Type.Kind == schemas.List {
			return fmt.Sprintf("reads the list (%s) of %s to set one place of it", names(p.Columns), p.Table.Name)
		}
	case schemas.Add:
		if p.ReturnsNew {
			return fmt.Sprintf("returns (%s) of %s after adding to it", names(p.Columns), p.Table.Name)
		}
		if p.Columns[0].Type.Kind == schemas.Counter {
			return fmt.Sprintf("adds to counters (%s) of %s, which Cassandra reads first", names(p.Columns), p.Table.Name)
		}
	}
	return ""
}

// spreads reports whether a batch changes several partitions. One of these is enough:
//   - atomic: all
//   - tables under several root tables
//   - atomic: none, and a part that is repeated
func spreads(p *schemas.Pattern) bool {
	repeated := false
	for _, part := range p.Parts {
		if part.Pattern.Table.Root() != p.Parts[0].Pattern.Table.Root() {
			return true
		}
		repeated = repeated || part.Each != ""
	}
	return p.Atomic == schemas.AtomicAll || p.Atomic == schemas.AtomicNone && repeated
}

// guarantee says what a batch writes and what an interruption leaves.
func (c *checker) guarantee(p *schemas.Pattern) string {
	var tables []string
	for _, part := range p.Parts {
		if name := part.Pattern.Table.Name; !slices.Contains(tables, name) {
			tables = append(tables, name)
		}
	}
	what := fmt.Sprintf("writes %s in several partitions", strings.Join(tables, ", "))
	if p.Atomic == schemas.AtomicNone {
		return what + ", and no engine makes it all or nothing (atomic: none)"
	}
	able := slices.DeleteFunc(EngineNames(), func(engine string) bool { return c.unable(engine, p) != "" })
	if len(able) == 0 {
		return what + ", which no engine can do as a whole"
	}
	return fmt.Sprintf("%s (atomic: %s), which %s can do as a whole", what, p.Atomic, strings.Join(able, " and "))
}

func patternNames(ps []*schemas.Pattern) string {
	words := make([]string, len(ps))
	for i, p := range ps {
		words[i] = p.Name
	}
	return strings.Join(words, ", ")
}

// putTogether reports whether a batch puts rows into both tables.
func (c *checker) putTogether(a, b *schemas.Table) bool {
	found := false
	c.patterns(func(p *schemas.Pattern) {
		into := func(t *schemas.Table) bool {
			return slices.ContainsFunc(p.Parts, func(part schemas.Part) bool {
				return part.Pattern.Table == t && (part.Pattern.Kind == schemas.Put || part.Pattern.Kind == schemas.PutIf)
			})
		}
		found = found || into(a) && into(b)
	}, schemas.Batch)
	return found
}

// repeats reports whether rows of a table are copies of those of another one: it has the
// key of the other and a column more, and the other has all of its columns.
func repeats(of, t *schemas.Table) bool {
	if len(t.Static)+len(t.Columns) == 0 {
		return false // keys alone relate two things, in both directions
	}
	has := func(t *schemas.Table, c *schemas.Column) bool {
		found := t.Column(c.Name)
		return found != nil && found.Type.String() == c.Type.String()
	}
	for _, c := range of.Key() {
		if !has(t, c) {
			return false
		}
	}
	for _, c := range slices.Concat(t.Key(), t.Static, t.Columns) {
		if !has(of, c) {
			return false
		}
	}
	return true
}

// series guesses whether the rows of a table are measurements of one source.
func series(t *schemas.Table) bool {
	measured := slices.ContainsFunc(t.Columns, func(c *schemas.Column) bool {
		return slices.Contains([]string{"float", "double", "decimal"}, c.Type.Foreign)
	})
	return measured || slices.ContainsFunc(t.Partition, func(c *schemas.Column) bool {
		return named(c, []string{"sensor", "series", "metric", "device", "station", "meter", "probe", "symbol"})
	})
}
