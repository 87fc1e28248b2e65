// Package hbase runs mailbench's access patterns on Apache HBase 2.4 or newer,
// through gohbase.
//
// Parts: [Store] holds the connections and the tables of applied schemas. A place has the tables of one
// schema as they are in HBase. A session runs reads and writes, and sends their calls through a sender.
//
// Layout: an HBase table is a root table of the schema with all tables nested in it,
// each in a family of its own. If a table has several plain columns or a collection,
// each of its rows is an HBase row, whose key is the primary key. If it has one plain
// column or none, each of its rows is a cell of a wide row: the row key is that of the
// table it is nested in, or the partition key, and the rest of the primary key is the
// qualifier. Static columns have a row per partition. testdata/layout.txt shows the
// layout of every model. A marker cell makes an HBase row exist, as in Phoenix; the
// hint "marker: none" says that any cell does, since another program writes the table, and
// mailbench only reads it. A tolerant session counts the rows that it leaves out for lack of a marker. A
// table's attributes hold its columns and types, which HBase does not know.
//
// Reads: a row is a Get, a range of a wide row is a Get or a Scan, and other ranges are
// a Scan. HBase cannot read a row's cells backwards, so the driver reads the range and
// keeps its end; the hint "order: reversed" stores the cells the other way round.
//
// Indexes: HBase has none, and the driver makes none: the fallback that a schema declares runs.
//
// Writes: all changes of one HBase row are one mutation, so a batch is atomic only within
// one HBase row. Of other batches, the rows of one part go in one request to each region server,
// or the rows of all parts if the pattern is parallel. A condition is checked in the step that
// applies the write. A wide delete reads the keys and deletes some hundred at a time; if it is
// interrupted, it returns [drivers.ErrUnknown]. docs/internals/decisions/0005-hbase-timestamps.md explains
// the setting NEW_VERSION_BEHAVIOR of every family.
//
// Retries: gohbase sends a request again after it lost the connection. A put or delete may
// then take effect twice, and undo another client's write in between, as with HBase's own
// client. An increment has a nonce, by which the server that applied it recognizes it, and so
// does one that replays its log. Writes that are conditional or return a value are sent once; if
// the answer is lost, the error is [drivers.ErrUnknown]. When a region server dies, calls wait
// for its regions until the timeout.
//
// Counts: each call to a region server is one request, also the fetches and the closing of a
// scanner; calls that are sent together are one for each region server. gohbase's own batching of
// calls is off. Rows scanned are those that HBase returned. Where a filter drops rows of a scan, HBase
// reports them as scan metrics; where one drops cells of a wide row, they are not reported.
package hbase
