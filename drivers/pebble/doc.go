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
// Set; a put of some, an add and a delete of cells are Merges: blind, whatever
// the row holds (see merger.go). Elements of a list get ascending numbers, so
// appending reads nothing.
//
// What Pebble has no way to do blindly takes a lock for the time of its
// reading and applying, never of its syncing: put-if, returns, and writes to rows with collections.
//
// Indexes over key columns are entries written with their rows. An index over
// plain columns would need the old row read on each write, which Pebble does
// not do by itself: slices through one are [drivers.ErrUnsupported], and the
// schema's declared fallback runs.
package pebble
