// Package ddl translates a schema into CQL's tables, and back. [Define] gives the
// statements that create a schema's keyspace. A [LiveKeyspace] is a keyspace as
// system_schema describes it; it is compared with a [Definition], and says which
// statements would mend each difference. The package talks to no cluster.
package ddl
