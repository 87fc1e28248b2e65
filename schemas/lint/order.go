package lint

import (
	"slices"

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
	}}
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
