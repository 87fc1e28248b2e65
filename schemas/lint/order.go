package lint

import (
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
)

// orderRules are about where the order of a pattern's rows comes from.
func orderRules() []*Rule {
	return []*Rule{{
		ID: "order-by-index", Severity: Warning,
		Doc: `A slice returns its rows in an order that the primary key does not have. Every write keeps a second copy of
			the order, the index. An engine without such an index reads all rows and sorts them.`,
		Source: `measured on Oracle NoSQL 25.3: ORDER BY createdDate DESC LIMIT has no sort in its plan with a composite
			index, and one without; Cassandra documentation, Selecting data: ORDER BY is limited to the clustering
			order (https://cassandra.apache.org/doc/latest/cassandra/developing/cql/dml.html#ordering-clause)`,
		Do: "Put the column that orders the rows first among the clustering columns.",
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if ordered := orderedBy(p); ordered != nil && !c.onlyFallback(p) {
					c.atPattern(p, "is in the order of (%s), which index %s has and the primary key of %s (%s) has not",
						names(ordered), p.Index.Name, p.Table.Name, names(p.Table.Key()))
				}
			}, schemas.Slice)
		},
	}, {
		ID: "order-backwards", Severity: Warning,
		Doc: `A slice reads against the clustering order. Engines read blocks forwards: Cassandra skips back through the
			index of the partition, an HBase scan in reverse seeks for each row, and HBase cannot read the cells of
			one wide row backwards at all.`,
		Source: `Cassandra documentation, CREATE TABLE, CLUSTERING ORDER BY: a query in reverse order is slower
			(https://cassandra.apache.org/doc/latest/cassandra/developing/cql/ddl.html#clustering-order); HBASE-4811,
			reverse scan`,
		Do: "Declare the column in the order in which it is read most (desc for newest first).",
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if p.Reverse && !c.onlyFallback(p) {
					c.atPattern(p, "reads %s against its clustering order", p.Table.Name)
				}
			}, schemas.Slice)
		},
	}, {
		ID: "sorted-by-client", Severity: Warning, Engines: []string{oracle},
		Doc: `A slice returns its rows in an order in which some columns ascend and others descend. Oracle's keys and
			indexes all ascend: it reads one forwards or backwards, and for any other order the client reads all rows
			of the range and sorts them, also for a page of 25.`,
		Source: `plans of Oracle NoSQL 25.3.21: a SORT above the RECEIVE, which runs in the client, unless all columns of
			ORDER BY have one direction`,
		Do: `Give all columns that follow the bound ones the same direction. In an index name the rest of the primary key
			too, in that direction: it follows in ascending order otherwise.`,
		check: func(c *checker) {
			c.patterns(func(p *schemas.Pattern) {
				if order := readingOrder(p); mixed(order) && !c.onlyFallback(p) {
					c.atPattern(p, "is in the order of (%s), so the client reads all rows of %s that it may return, and sorts them",
						directed(order), p.Table.Name)
				}
			}, schemas.Slice)
		},
	}}
}

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
