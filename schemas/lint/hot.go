package lint

import (
	"slices"
	"strconv"

	"github.com/mailbench/mailbench/schemas"
)

// hotRules are about writes and reads that all go to one place.
var hotRules = []*Rule{{
	ID: "time-ordered-key", Severity: Warning, Engines: []string{hbase},
	table: func(c *checker, t *schemas.Table) {
		first := t.Partition[0]
		if t.Parent == nil && rises(t, first) && len(c.of(t, schemas.Put, schemas.PutIf)) > 0 {
			c.atColumn(t, first, "row keys of %s begin with %s %s, so that all new rows go to one region",
				t.Name, first.Type, first.Name)
		}
	},
}, {
	ID: "hot-partition-key", Severity: Warning, Engines: []string{cassandra, oracle},
	table: func(c *checker, t *schemas.Table) {
		spread := slices.ContainsFunc(t.Partition, func(col *schemas.Column) bool {
			return !fewValues(col) && !serves(t, col, schemas.Bucket)
		})
		switch fixed := c.fixed(t); {
		case t.Parent != nil || len(t.Clustering) == 0:
		case fixed != "":
			c.atTable(t, "all statements name one partition (%s): all rows and all requests are on its replicas", fixed)
		case !spread:
			c.atTable(t, "partition key (%s) has few values, or the same value for all writes at a time", names(t.Partition))
		}
	},
}, {
	ID: "long-names", Severity: Warning, Engines: []string{hbase},
	table: func(c *checker, t *schemas.Table) {
		var long []*schemas.Column
		for _, col := range slices.Concat(t.Static, t.Columns) {
			if len(col.Name) > 16 && c.rowColumns(t) == len(t.Key()) { // else the key is the name
				long = append(long, col)
			}
		}
		if len(long) > 0 {
			c.atColumn(t, long[0], "each value of (%s) is stored with its name", names(long))
		}
	},
}, {
	ID: "many-versions", Severity: Warning, Engines: []string{hbase},
	table: func(c *checker, t *schemas.Table) {
		if n, err := strconv.Atoi(t.Hints[hbase]["versions"]); err == nil && n >= 100 {
			c.atTable(t, "stores %d versions of each cell", n)
		}
	},
}, {
	ID: "many-families", Severity: Warning, Engines: []string{hbase},
	table: func(c *checker, t *schemas.Table) {
		families := 0
		for _, o := range c.tables() {
			if o.Root() == t.Root() {
				families++
			}
		}
		if families > 3 && (t.Parent == nil || t.Root().Header() && t.Root().Children[0] == t) {
			c.atTable(t, "%d tables are families of HBase table %s", families, t.Root().Name)
		}
	},
}}

// fixed returns the partition that all statements of a table name by literals, or "".
func (c *checker) fixed(t *schemas.Table) string {
	one, several := "", false
	for _, p := range c.of(t) {
		several = several || one != "" && carried(p, "fixed") != one || carried(p, "fixed") == ""
		one = carried(p, "fixed")
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
	rising := []schemas.Kind{schemas.TimeUUID, schemas.Timestamp, schemas.Bigint, schemas.Int}
	return serves(t, c, schemas.Bucket) || slices.Contains(rising, c.Type.Kind)
}
