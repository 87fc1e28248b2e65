package lint

import (
	"slices"
	"strconv"

	"github.com/mailbench/mailbench/schemas"
)

// hotRules are about writes and reads that all go to one place.
func hotRules() []*Rule {
	return []*Rule{{
		ID: "time-ordered-key", Severity: Warning, Engines: []string{hbase},
		Doc: `Row keys begin with a time, with the name of one, or with a number that rises and is no salt. HBase keeps rows in the order of their keys, so that
			all new rows go to the last region, to one server, however many there are.`,
		Source: `HBase Reference Guide, Monotonically increasing row keys / timeseries data, and Hotspotting
			(https://hbase.apache.org/book.html#timeseries)`,
		Do: "Begin the key with the user or mailbox, or with a hash of the rest of the key (salt: COLUMN says which it is).",
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				first := t.Partition[0]
				if t.Parent == nil && rises(t, first) && len(c.of(t, schemas.Put, schemas.PutIf)) > 0 {
					c.atColumn(t, first, "row keys of %s begin with %s %s, so that all new rows go to one region",
						t.Name, first.Type, first.Name)
				}
			})
		},
	}, {
		ID: "hot-partition-key", Severity: Warning, Engines: []string{cassandra, oracle},
		Doc: `The partition key has few values: it is made of booleans, buckets of time (day, month, sent_date) and what
			is called a status, type or the like; or all statements name one value. There are few partitions,
			or all writes of a moment go to the same one, and so to the same replicas.`,
		Source: `Cassandra documentation, Data Modeling: spread data evenly around the cluster
			(https://cassandra.apache.org/doc/latest/cassandra/developing/data-modeling/intro.html); DataStax,
			Cassandra data modeling best practices: time buckets alone make hot partitions`,
		Do: "Add the user, the folder or a hash to the partition key.",
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				spread := slices.ContainsFunc(t.Partition, func(col *schemas.Column) bool {
					return !fewValues(col) && !serves(t, col, schemas.Bucket)
				})
				switch fixed := c.fixed(t); {
				case t.Parent != nil || len(t.Clustering) == 0:
				case fixed != "":
					c.atTable(t, "all statements name one partition (%s): all rows and all requests are on its replicas", fixed)
				case !spread:
					c.atTable(t, "partition key (%s) has few values, or one for all writes of a moment", names(t.Partition))
				}
			})
		},
	}, {
		ID: "long-names", Severity: Warning, Engines: []string{hbase},
		Doc: `Names of columns have more than 16 bytes. HBase stores the name of its column with each value, in the
			memory of the servers and on disk, so that a short value is mostly name.`,
		Source: `HBase Reference Guide, Try to minimize row and column sizes: prefer shorter attribute names
			(https://hbase.apache.org/book.html#keysize); the threshold is mailbench's own judgement, twice the largest
			number`,
		Do: "Give the columns names of one to three letters, and say in doc what they are.",
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				var long []*schemas.Column
				for _, col := range slices.Concat(t.Static, t.Columns) {
					if len(col.Name) > 16 && c.rowColumns(t) == len(t.Key()) { // else the key is the name
						long = append(long, col)
					}
				}
				if len(long) > 0 {
					c.atColumn(t, long[0], "each value of (%s) is stored with its name", names(long))
				}
			})
		},
	}, {
		ID: "many-versions", Severity: Warning, Engines: []string{hbase},
		Doc: `A table keeps a hundred versions of each cell, or more. Each is a cell of its own in the row's files, which
			a read of the newest steps over, and a row with all its versions must fit into memory.`,
		Source: `HBase Reference Guide, Maximum number of versions: hundreds or more are not recommended
			(https://hbase.apache.org/book.html#schema.versions.max)`,
		Do: "Make a version a row: put its time, in reverse order, behind the key.",
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				if n, err := strconv.Atoi(t.Hints[hbase]["versions"]); err == nil && n >= 100 {
					c.atTable(t, "keeps %d versions of each cell", n)
				}
			})
		},
	}, {
		ID: "many-families", Severity: Warning, Engines: []string{hbase},
		Doc: `More than three column families in one HBase table. Each flush and compaction of a region touches the
			files of all.`,
		Source: `HBase Reference Guide, On the number of column families: two or three
			(https://hbase.apache.org/book.html#number.of.cfs)`,
		Do: "Nest fewer tables in one, or make some of them tables of their own.",
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				families := 0
				c.tables(func(o *schemas.Table) {
					if o.Root() == t.Root() {
						families++
					}
				})
				if families > 3 && (t.Parent == nil || t.Root().Header() && t.Root().Children[0] == t) {
					c.atTable(t, "%d tables are families of HBase table %s", families, t.Root().Name)
				}
			})
		},
	}}
}

// fixed returns the partition that all statements of a table name by literals, or "".
func (c *checker) fixed(t *schemas.Table) string {
	one, several := "", false
	for _, p := range c.schema.Patterns {
		if p.Table == t {
			several = several || one != "" && carried(p, "fixed") != one || carried(p, "fixed") == ""
			one = carried(p, "fixed")
		}
	}
	if several {
		return ""
	}
	return one
}

// fewValues guesses whether a column has a handful of values: a boolean, or what is named
// after a state or a kind.
func fewValues(c *schemas.Column) bool {
	few := []string{
		"status", "state", "type", "kind", "gender", "sex", "country", "priority", "severity", "level", "role",
		"flag", "active", "enabled",
	}
	words := wordsOf(c.Name)
	return c.Type.Kind == schemas.Boolean || (c.Type.Kind == schemas.Text || c.Type.Kind == schemas.Int) &&
		slices.Contains(few, words[len(words)-1])
}

// rises reports whether values of a key column are made in ascending order.
func rises(t *schemas.Table, c *schemas.Column) bool {
	if serves(t, c, schemas.Salt) {
		return false
	}
	if serves(t, c, schemas.Bucket) {
		return true
	}
	switch c.Type.Kind {
	case schemas.TimeUUID, schemas.Timestamp, schemas.Bigint, schemas.Int:
		return true
	}
	return false
}
