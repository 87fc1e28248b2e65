package lint

import (
	"cmp"
	"slices"
	"strings"

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
			columns hold. Without them, a blob is taken for content if no column of the key numbers its pieces (chunk).`,
		Source: cellSources,
		Do: `Store it in chunks of a fixed size, numbered by an int or bigint key column (chunk: COLUMN says which); or accept it if something else
			bounds it.`,
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				var whole []*schemas.Column
				what := ""
				for _, col := range slices.Concat(t.Static, t.Columns) {
					if content := schemas.Content[holds(t, col)]; content != "" || unnumbered(t, col) {
						what = cmp.Or(what, content)
						whole = append(whole, col)
					}
				}
				switch {
				case what != "":
					c.atColumn(t, whole[0], "%s holds %s in one cell, of any size", described(whole), what)
				case len(whole) > 0:
					c.atColumn(t, whole[0], "%s is in one cell of any size: no column of the key (%s) numbers its pieces",
						described(whole), names(t.Key()))
				}
			})
		},
	}, {
		ID: "list-reads-content", Severity: Warning,
		Doc: `A slice of many messages also reads what is in them: bodies, attachments or whole messages. A page of 25
			then costs as much as the opening of 25 messages. The rows of a table say what its columns hold. Without
			them, a text counts as content if it is called body, content, html, raw, payload or the like.`,
		Source: `Cassandra and HBase read and send whole cells (https://hbase.apache.org/book.html#client.filter); the
			Oracle document's inbox, whose whole rows a run of mailbench measures`,
		Do: "Name the columns that a list shows (columns: […]), and keep content in a table or family of its own.",
		check: func(c *checker) {
			said := make(map[*schemas.Table]int)
			c.patterns(func(p *schemas.Pattern) {
				if !listed(p) || c.onlyFallback(p) {
					return
				}
				content := slices.DeleteFunc(slices.Clone(p.Columns), func(col *schemas.Column) bool {
					return holds(p.Table, col) == "" && !unnumbered(p.Table, col) && !namesContent(p.Table, col)
				})
				if len(content) == 0 {
					return
				}
				accepts := slices.ContainsFunc(p.Accept, func(a schemas.Acceptance) bool { return a.Rule == c.rule.ID })
				if i, found := said[p.Table]; found && !accepts {
					c.found[i].Message += ", and so does " + p.Name
					return
				}
				c.atPattern(p, "reads %s of every row that it lists", described(content))
				if !accepts {
					said[p.Table] = len(c.found) - 1
				}
			}, schemas.Slice)
		},
	}, {
		ID: "collection-listed", Severity: Note,
		Doc: `A slice of many rows also reads a collection of each, and an engine reads a collection whole. It counts if
			it is a map, or if some pattern appends to it, unless the table says how large it becomes (rows).`,
		Source: `Cassandra documentation, Collections: a collection is read in its entirety
			(https://cassandra.apache.org/doc/latest/cassandra/developing/cql/collections/collection-create.html);
			guardrails items_per_collection_warn_threshold and collection_size_warn_threshold`,
		Do: "Leave the collection out of the list (columns: […]), or make each of its elements a row of a table of its own.",
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if !listed(p) || c.onlyFallback(p) {
					return
				}
				for _, col := range p.Columns {
					grows := col.Type.Kind == schemas.Map || c.appended(p.Table, col)
					if grows && len(p.Table.Rows) == 0 {
						c.atPattern(p, "reads all of %s %s of every row that it lists", col.Type, col.Name)
					}
				}
			}, schemas.Slice)
		},
	}, {
		ID: "collection-grows", Severity: Warning,
		Doc: `A pattern appends to a list, and so it grows with each call (a set or a map has an element once). An engine reads a collection as a whole,
			without pages, and Cassandra keeps a cell for each element.`,
		Source: `Cassandra documentation, Collections: insertion and retrieval as a collection, not paged
			(https://cassandra.apache.org/doc/latest/cassandra/developing/cql/collections/collection-create.html);
			guardrails items_per_collection_warn_threshold and collection_size_warn_threshold; a map holds 65,535 keys
			at most`,
		Do: "Make each element a row: a table with the element in its clustering key.",
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				for _, col := range p.Columns {
					if col.Type.Kind == schemas.List && c.appended(p.Table, col) {
						c.atPattern(p, "adds to %s %s of %s with each call", col.Type, col.Name, p.Table.Name)
					}
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

// unnumbered reports whether a column can hold content as far as is known: it is a blob that is not
// called something small, the table does not say what its columns hold, and its key numbers no parts.
func unnumbered(t *schemas.Table, c *schemas.Column) bool {
	blobs := c.Type.Kind == schemas.Blob || c.Type.Collection() && c.Type.Elem.Kind == schemas.Blob
	return blobs && c.Role != schemas.Partition && c.Role != schemas.Clustering && len(t.Rows) == 0 && !namesSmall(c) &&
		!slices.ContainsFunc(t.Key(), func(k *schemas.Column) bool { return serves(t, k, schemas.Chunk) })
}

// namesSmall guesses by its name whether a blob is an identifier, a hash, a key or another short value.
func namesSmall(c *schemas.Column) bool {
	small := []string{
		"id", "hash", "sha", "md", "crc", "mac", "checksum", "digest", "fingerprint", "thumbprint", "signature", "sig",
		"key", "token", "secret", "password", "passwd", "pwd", "salt", "nonce", "iv", "seed", "credential", "cert",
		"challenge", "url", "uri", "link", "host", "ip", "address", "addr", "port", "name", "code", "type", "kind",
		"version", "etag", "encoding", "format", "flag", "state", "status", "cursor", "checkpoint", "offset", "position",
		"parent", "span", "trace", "time", "ts", "timestamp", "date", "bitmap", "mask", "count", "index", "hashes",
	}
	if named(c, []string{"body", "content", "file", "document", "attachment", "data"}) {
		return false
	}
	words := wordsOf(c.Name)
	last := strings.TrimRight(words[len(words)-1], "0123456789")
	return named(c, small) || slices.ContainsFunc(small, func(word string) bool { // such as passwordhash
		return strings.HasSuffix(last, word) && (len(word) > 2 || word == "id")
	})
}

// namesContent guesses whether a text holds content: the table does not say what its
// columns hold, and the name does.
func namesContent(t *schemas.Table, c *schemas.Column) bool {
	return c.Type.Kind == schemas.Text && c.Role == schemas.Plain && len(t.Rows) == 0 &&
		named(c, []string{"body", "content", "html", "raw", "payload", "document", "attachment", "mime", "eml"})
}

// listed reports whether a slice can return many rows.
func listed(p *schemas.Pattern) bool { return p.Limit != 1 && (leftToGrow(p) != nil || limited(p)) }

// described lists columns with their types.
func described(cs []*schemas.Column) string {
	words := make([]string, len(cs))
	for i, c := range cs {
		words[i] = c.Type.String() + " " + c.Name
	}
	return list(words)
}

// appended reports whether some pattern appends to a column.
func (c *checker) appended(t *schemas.Table, col *schemas.Column) bool {
	return slices.ContainsFunc(c.of(t, schemas.Append), func(p *schemas.Pattern) bool {
		return slices.Contains(p.Columns, col) && carried(p, "set") == "" // that sets one place of a list
	})
}
