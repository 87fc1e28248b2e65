// Package pebble is the embedded engine: it runs access patterns on Pebble, an
// ordered key-value store in this process, as somebody who builds directly on
// it would.
//
// # Layout
//
// A table has key spaces of its own, each with a two-byte number before every key:
//
//	rows      primary key → all plain columns but collections, in one value
//	cells     primary key, column, element → value: one key-value pair an element
//	statics   partition key → static columns
//	index     index columns, rest of the primary key → nothing
//
// Nested tables have spaces of their own too, so a scan of metadata never
// touches bodies. Keys are encoded by package keys. A put of all columns is a
// Set. A put of some columns and an add are Merges, which do not read the row
// (see merger.go). Elements of a list get ascending numbers, so appending reads
// nothing.
//
// A write that must read its row first (put-if, returns: new) takes the row's
// lock while it reads and applies, but not while it syncs.
//
// Indexes are entries written in one batch with their rows. Those of an index over
// key columns only never change. A write that may change those of an index with
// plain columns reads the old row first, under its lock, and so does each delete
// (index.go). A row with null in such a column has no entry. A filter by such a
// column is answered from its index. CheckIndexes compares entries with rows.
//
// # What is counted
//
// Nothing goes over a wire. A read, a write or a batch counts as one request, and so does each
// element of a parallel get, which is a look-up of its own. Rows scanned are those that an
// iterator stopped at or a look-up found, whether a filter drops them or not, the index entries
// that led to them, and the old rows that writes read for their index entries. The elements of a
// row's collections are no rows.
package pebble
