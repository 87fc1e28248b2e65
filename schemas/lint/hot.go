package lint

import (
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// hotRules are about writes and reads that all go to one place.
func hotRules() []*Rule {
	return []*Rule{{
		ID: "time-ordered-key", Severity: Warning, Engines: []string{hbase},
		Doc: `Row keys begin with a time or a number that rises. HBase keeps rows in the order of their keys, so that
			all new rows go to the last region, to one server, however many there are.`,
		Source: `HBase Reference Guide, Monotonically increasing row keys / timeseries data, and Hotspotting
			(https://hbase.apache.org/book.html#timeseries)`,
		Do: "Begin the key with the user or mailbox, or with a hash of the rest of the key.",
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				first := t.Partition[0]
				if t.Parent == nil && rises(first.Type) && len(c.of(t, schemas.Put, schemas.PutIf)) > 0 {
					c.atColumn(t, first, "row keys of %s begin with %s %s, so that all new rows go to one region",
						t.Name, first.Type, first.Name)
				}
			})
		},
	}, {
		ID: "hot-partition-key", Severity: Warning, Engines: []string{cassandra, oracle},
		Doc: `The partition key is made of booleans and times only. There are few partitions, or all writes of a moment
			go to the same one, and so to the same replicas. A number or text with the name of a time (day, month,
			sent_date) counts as one.`,
		Source: `Cassandra documentation, Data Modeling: spread data evenly around the cluster
			(https://cassandra.apache.org/doc/latest/cassandra/developing/data-modeling/intro.html); DataStax,
			Cassandra data modeling best practices: time buckets alone make hot partitions`,
		Do: "Add the user, the folder or a hash to the partition key.",
		check: func(c *checker) {
			c.tables(func(t *schemas.Table) {
				spread := slices.ContainsFunc(t.Partition, func(col *schemas.Column) bool {
					return col.Type.Kind != schemas.Boolean && col.Type.Kind != schemas.Timestamp && !namesTime(col)
				})
				few := t.Partition[0].Type.Kind == schemas.Boolean
				if t.Parent == nil && !spread && (few || len(t.Clustering) > 0) {
					c.atTable(t, "partition key (%s) has booleans and times only", names(t.Partition))
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

// namesTime reports whether the name of a column says that it holds a time.
func namesTime(c *schemas.Column) bool {
	words := strings.Split(strings.ToLower(c.Name), "_")
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains([]string{"minute", "hour", "day", "date", "week", "month", "year"}, word)
	})
}

// rises reports whether values of the type are made in ascending order.
func rises(t schemas.Type) bool {
	switch t.Kind {
	case schemas.TimeUUID, schemas.Timestamp, schemas.Bigint, schemas.Int:
		return true
	}
	return false
}
