// Package cassandra is the engine Cassandra, reached over its native protocol
// with gocql. It runs access patterns as somebody would who builds on Cassandra
// directly: as prepared statements, each sent to a replica of its row.
//
// # Layout
//
// A schema is a keyspace, a table that is no row header a CQL table with the whole
// primary key; [CQL] writes it out. The only table below a row header bears the
// header's name. A timestamp, which the schema language counts in microseconds
// and CQL in milliseconds, is a bigint of microseconds. What CQL cannot tell
// stands as a mark in each table's comment, by which a keyspace is known to be
// mailbench's; all else [Store.Inspect] reads from system_schema.
//
// # Reads
//
// A read is one SELECT, with one exception: a page that goes on after a row in
// columns of both directions, which CQL has no comparison for, is one for each
// column, until the page is full. A list of clustering keys is one IN, put into
// the list's order here; a list of partitions is one SELECT each, as many at once
// as the pattern says. Filters are ALLOW FILTERING, or the index where there is
// one: a legacy local index, which finds equal values and has no order. Pages are
// fetched when they are needed, none ahead; those of a scan grow while they come
// quickly.
//
// # Writes
//
// A put is an INSERT, so that a row of nulls is a row; an append is an UPDATE,
// which reads nothing and makes a row that goes with its last value. Counters are
// added to, conditional writes are Paxos rounds, and deletes of ranges, prefixes
// and partitions one tombstone. Timestamps are the store's own: see clock, and
// [statement.setsTimestamp] for tables that are written to conditionally.
//
// An atomic batch whose rows lie in one partition is one mutation: atomic and
// isolated. One over several partitions is logged: all of it is applied in the
// end, and readers may see part of it meanwhile. Parts that need not be atomic
// are requests of their own.
//
// What Cassandra has no way to do (add to what is no counter, give old or new
// values back, sort by an index) is [drivers.ErrUnsupported]; the fallback that
// the schema declares runs instead.
//
// # Outcomes
//
// A request that may be sent twice is sent again, at once, when its connection is
// lost or a node turns it away. Counters, elements of lists and conditional writes
// are sent once. A write that timed out, or lost its connection, is
// [drivers.ErrUnknown], also if a later attempt was refused.
package cassandra
