package lint

import (
	"slices"

	"github.com/mailbench/mailbench/schemas"
)

const cellSources = `HBase Reference Guide, hbase.client.keyvalue.maxsize and hbase.server.keyvalue.maxsize, 10 MiB
	(https://hbase.apache.org/book.html#hbase_default_configurations);
	cassandra.yaml, max_mutation_size: half of commitlog_segment_size of 32 MiB
	(https://cassandra.apache.org/doc/latest/cassandra/managing/configuration/cass_yaml_file.html);
	DataStax, CQL limits: less than 1 MB is recommended (https://docs.datastax.com/en/cql/hcd/reference/cql-limits.html)`

// cellRules are about single values: how large they can be, and how they grow.
func cellRules() []*Rule {
	return []*Rule{{
		ID: "content-in-one-cell", Severity: Warning,
		Doc: `A column holds a body, an attachment or a whole message in one cell. It is as large as what somebody sends,
			and an engine refuses a cell that is too large: HBase from 10 MiB on, Cassandra a mutation from 16 MiB on.
			Long before that each read and each compaction holds all of it in memory. The rows of a table say what its
			columns hold. Without them, a blob is taken for content if no int or bigint in the key numbers its parts.`,
		Source: cellSources,
		Do: `Store it in chunks of a fixed size, numbered by an int or bigint key column; or accept it if something else
			bounds it.`,
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				for _, col := range slices.Concat(t.Static, t.Columns) {
					switch what := schemas.Content[holds(t, col)]; {
					case what != "":
						c.atColumn(t, col, "%s %s holds %s in one cell, of any size", col.Type, col.Name, what)
					case unnumbered(t, col):
						c.atColumn(t, col, "%s %s is one cell of any size: no int or bigint in the key (%s) numbers its parts",
							col.Type, col.Name, names(t.Key()))
					}
				}
			})
		},
	}, {
		ID: "list-reads-content", Severity: Warning,
		Doc: `A slice of many messages also reads what is in them: bodies, attachments or whole messages. A page of 25
			then costs as much as the opening of 25 messages.`,
		Source: `Cassandra and HBase read and send whole cells (https://hbase.apache.org/book.html#client.filter); the
			Oracle document's inbox, whose whole rows a run of mailbench measures`,
		Do: "Name the columns that a list shows (columns: […]), and keep content in a table or family of its own.",
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				for _, col := range p.Columns {
					if leftToGrow(p) == nil && !limited(p) || c.onlyFallback(p) {
						return
					}
					if holds(p.Table, col) != "" || unnumbered(p.Table, col) {
						c.atPattern(p, "reads %s %s of every row that it lists", col.Type, col.Name)
					}
				}
			}, schemas.Slice)
		},
	}, {
		ID: "collection-grows", Severity: Warning,
		Doc: `A pattern appends to a list, and so it grows with each call. An engine reads a collection as a whole,
			without pages, and Cassandra keeps a cell for each element.`,
		Source: `Cassandra documentation, Collections: insertion and retrieval as a collection, not paged
			(https://cassandra.apache.org/doc/latest/cassandra/developing/cql/collections/collection-create.html);
			guardrails items_per_collection_warn_threshold and collection_size_warn_threshold; a map holds 65,535 keys
			at most`,
		Do: "Make each element a row: a table with the element in its clustering key.",
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				for _, col := range p.Columns {
					c.atPattern(p, "adds to %s %s of %s with each call", col.Type, col.Name, p.Table.Name)
				}
			}, schemas.Append)
		},
	}, {
		ID: "collection-replaced", Severity: Note, Engines: []string{cassandra},
		Doc: `A put writes a whole set, list or map. Cassandra first writes a tombstone over the old elements, also if
			the row is new, and then a cell for each element.`,
		Source: `DataStax, What are tombstones
			(https://docs.datastax.com/en/ddac/doc/datastax_enterprise/dbInternals/archTombstones.html): inserting or
			updating a non-frozen collection`,
		Do: `Keep collections small. If the elements are always written and read together, store them as one text or
			blob.`,
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				var replaced []*schemas.Column
				for _, col := range p.Columns {
					if col.Type.Collection() {
						replaced = append(replaced, col)
					}
				}
				if len(replaced) > 0 {
					c.atPattern(p, "writes a tombstone for each of (%s), %d a row", names(replaced), len(replaced))
				}
			}, schemas.Put, schemas.PutIf)
		},
	}}
}

// numbersParts reports whether a key column can be the number of a chunk.
func numbersParts(c *schemas.Column) bool {
	return c.Type.Kind == schemas.Int || c.Type.Kind == schemas.Bigint
}

// unnumbered reports whether a column can hold content as far as is known: it is a blob,
// the table does not say what its columns hold, and its key numbers no parts.
func unnumbered(t *schemas.Table, c *schemas.Column) bool {
	blobs := c.Type.Kind == schemas.Blob || c.Type.Collection() && c.Type.Elem.Kind == schemas.Blob
	return blobs && c.Role != schemas.Partition && c.Role != schemas.Clustering && len(t.Rows) == 0 &&
		!slices.ContainsFunc(t.Key(), numbersParts)
}
