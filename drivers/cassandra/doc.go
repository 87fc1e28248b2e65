// Package cassandra runs mailbench's access patterns on Apache Cassandra, through
// gocql. Each pattern is a prepared statement, sent to a replica of its row, as an
// application written for Cassandra would send it.
//
// Layout: a schema is a keyspace, and each of its tables is a CQL table. A row
// header gets no CQL table; if only one table is nested in it, that table has the
// header's name. A timestamp is a bigint of microseconds, because CQL's own type
// counts milliseconds. Each table's comment holds what CQL cannot say, and marks
// the keyspace as mailbench's. Package ddl writes the statements, and reads what
// system_schema says; it needs no cluster.
//
// A [Store] has the cluster, which is the connection with what the cluster reports of itself, and the
// compiler, which makes statements of patterns and needs no cluster.
//
// Reads: a read is one SELECT. A list of clustering keys is one IN, and the driver
// restores the list's order. A list of partitions is one SELECT each, in parallel
// as the pattern allows. A page that continues after a row in columns of mixed
// direction is one SELECT for each column, because CQL has no comparison for it.
// Filters use a secondary index if there is one, and ALLOW FILTERING otherwise.
//
// Writes: a put is an INSERT, and an append is an UPDATE that reads nothing. A
// conditional write is a Paxos round. Deleting a range or a partition writes one
// tombstone. An atomic batch within one partition is one mutation, atomic and
// isolated. A batch over several partitions is logged: it is applied whole in the
// end, but readers may see a part of it before.
//
// The driver returns [drivers.ErrUnsupported] for what Cassandra cannot do: add to
// a column that is no counter, return old or new values, sort by an index.
//
// Retries: the driver sends an idempotent request again, at once, if its connection
// was lost or a node refused it. It sends all others once. A write that timed out or
// lost its connection is [drivers.ErrUnknown], even if a later attempt was refused.
//
// Counts: a statement, a batch and each further page of a result are one request.
// Cassandra reports rows scanned only for traced requests.
package cassandra
