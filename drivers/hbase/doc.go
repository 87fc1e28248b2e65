// Package hbase runs mailbench's access patterns on Apache HBase 2.4 or newer,
// through gohbase.
//
// Layout: an HBase table is a root table of the schema with all tables nested in it,
// each in a family of its own, or, with the hint "family", in that of the table it is
// nested in (docs/decisions/0009-one-family.md). If a table has several plain columns or a collection,
// each of its rows is an HBase row, whose key is the primary key. If it has one plain
// column or none, each of its rows is a cell of a wide row: the row key is that of the
// table it is nested in, or the partition key, and the rest of the primary key is the
// qualifier. Static columns have a row per partition. testdata/layout.txt shows the
// layout of every model. A marker cell makes an HBase row exist, as in Phoenix. A
// table's attributes hold its columns and types, which HBase does not know.
//
// Reads: a row is a Get, a range of a wide row is a Get or a Scan, and other ranges are
// a Scan. HBase cannot read a row's cells backwards, so the driver reads the range and
// keeps its end; the hint "order: reversed" stores the cells the other way round.
//
// Writes: all changes of one HBase row are one mutation, so a batch is atomic only within
// one HBase row. A condition is checked in the step that applies the write. A wide delete
// reads the keys and deletes some hundred at a time; if it is interrupted, it returns
// [drivers.ErrUnknown]. docs/decisions/0005-hbase-timestamps.md explains the setting
// NEW_VERSION_BEHAVIOR of every family.
//
// Retries: gohbase sends a request again after it lost the connection. A put or delete may
// then take effect twice, and undo another client's write in between, as with HBase's own
// client. A nonce makes HBase recognise an increment. Writes that are conditional or return
// a value are sent once; if the answer is lost, the error is [drivers.ErrUnknown]. When a
// region server dies, calls wait for its regions until the timeout.
package hbase
