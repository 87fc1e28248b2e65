// Package cassandra is the engine Cassandra, reached over its native protocol
// with gocql: it runs access patterns as prepared CQL statements.
package cassandra
