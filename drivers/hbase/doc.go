// Package hbase runs access patterns on Apache HBase (2.4 or newer) through
// github.com/tsuna/gohbase.
//
// # Layout
//
// An HBase table is a root table of the schema with all that is nested in it:
// one family for each table, named "m" for the root and after the last part of
// its name for others, and "s" for static columns. Where the HBase row ends and
// the qualifier begins follows from nesting:
//
//   - A table of several plain columns, or of collections, has an HBase row for
//     each of its rows: the row key is the whole primary key, qualifiers are the
//     columns' names.
//   - A table of one plain column or none has a cell for each of its rows. They
//     lie in the HBase row of the table that it is nested in, or else in one row
//     for each partition: a wide row. What is left of the primary key is the qualifier.
//   - Static columns lie in a row of their partition key alone.
//
// For the five models that comes to
//
//	elasticinbox  MessageMetadata   row account, columns: message ‖ sub-column
//	              IndexLabels       row address:label, columns: TimeUUIDs, newest first
//	              Accounts, Counters  row account, a column for each label, counter
//	              MessageBlob       row message ‖ block, columns: sub-blocks
//	james         JAMES_MESSAGES    row mailbox ‖ (2^63-1-UID); family m: flags and properties,
//	                                family data: chunks, columns 1, 2, 3 …
//	              JAMES_MAILBOXES   row mailbox
//	              JAMES_SUBSCRIPTIONS  row user, columns: folders
//	datastax      emails_by_user_folder  row user ‖ label ‖ id, newest first
//	              attachments       row email ‖ file ‖ chunk
//	oracle        users             row user; family folder in the same row, a column for each folder
//	              users.folder.message  family message, row user ‖ folder ‖ message ‖ date
//	conversation  messages          row conversation ‖ message, newest first
//
// (testdata/layout.txt has them all.) Keys are encoded by package keys, except
// that a text or blob at the end of a row key or qualifier stands as it is, and
// so does a bigint that a hint calls unsigned: James' keys are byte for byte
// those of his document. Values are written as HBase's class Bytes does.
//
// A row that is an HBase row exists if it has its marker, a cell of its own
// beside its columns, as in Phoenix; or a column that is counted up, which
// Increment makes without one.
//
// HBase knows families and their settings; it has no columns, types or keys. So
// Apply writes the tables of the schema language into an attribute of each HBase
// table, and Inspect returns of them what has its family, with that family's
// settings as they are now.
//
// # Reading
//
// A row is a Get, rows of a wide row are a Get with a range of columns and a
// limit on cells (or of all that a list names), rows of their own are a Scan
// with HBase's own limit on rows. A read asks for the families and columns that
// it needs and no others; filters run in HBase. HBase reads rows both ways, but
// the columns of a row forwards only: read against their order, all of the range
// is read, and its end is kept. The hint "order: reversed" stores them the other
// way round. Reading the cells of several wide rows backwards, and everything
// through an index, is [drivers.ErrUnsupported].
//
// # Writing
//
// All that a write does to one HBase row is one mutation, across families: a Put,
// a Delete, an Increment, or several of them at once (RowMutations). So a batch
// with "atomic: row" is all or nothing, and so is one with partition or shard
// where the layout puts these into one HBase row: ElasticInbox's counters of an
// account, for one. All others are [drivers.ErrUnsupported]. A batch
// with "atomic: none" sends neighbours of one row together.
//
// A condition (put-if) is tested by HBase in the step that applies the write.
// Collections are cells keyed by element, and neither appending nor replacing
// them reads; removing by value from a list does.
//
// HBase deletes one row, family or column at once. Wider deletes look for what
// is there and delete that, some hundred rows a request, in key order. They
// count as one call, and one that is interrupted leaves the rest, which
// [drivers.ErrUnknown] says.
//
// Every family has NEW_VERSION_BEHAVIOR, without which a put in the same
// millisecond as an earlier delete would be lost: docs/decisions says why.
//
// # When a region server dies
//
// Its regions are nowhere until ZooKeeper misses it and others have replayed its
// log. A call for them waits, at most for the timeout; if it was never sent, it is
// known not to be applied. gohbase asks for such a region at intervals that double
// (after 8.2 s only at 16.4 s, then at 29.6 s), so that it may see it back twice as
// late as it is.
//
// # What was sent twice
//
// gohbase sends a request again when its connection was lost. A put or delete
// may be carried out twice then, which makes no difference to who waits for it;
// one that was overtaken by another's in between undoes that one, as with HBase's
// own client. An increment carries a nonce by which HBase knows it. What is
// conditional, or returns a value, is not sent again: its outcome is
// [drivers.ErrUnknown].
package hbase
