// Package schemas is mailbench's schema language: what a mailbox data model
// stores (nested wide-column tables) and the only ways in which its code may
// touch it (access patterns). A schema file is YAML:
//
//	schema: 1
//	name: datastax
//	doc: Messaging tables after DataStax's data modeling example (document 002).
//	native: cassandra
//	tables:
//	  emails_by_user_folder:
//	    doc: One partition a folder, newest first.
//	    partition: [username text, label text]
//	    clustering: [id timeuuid desc]
//	    columns: {from: text, subject: text, is_read: boolean}
//	patterns:
//	  page: {doc: Q2, slice: emails_by_user_folder, by: [username, label], after: id, limit: arg,
//	         columns: [id, from, subject, is_read]}
//
// # Tables
//
// A table has partition columns, clustering columns ("name type", with "desc"
// for descending order), static columns (one value a partition) and plain
// columns. Types are text, blob, int, bigint, boolean, uuid, timeuuid,
// timestamp, counter, set<T>, list<T> and map<K,V>. A table may be nested with
// "in: PARENT": it inherits the whole primary key of its parent and adds
// clustering columns of its own. A parent without columns is only a row header.
// That one construct is ElasticInbox's super column, James' second column
// family and Oracle's child table; drivers decide from it where partition, row
// and qualifier end. "indexes" declares local secondary indexes by the columns
// they are sorted by. "addition" marks what the source document leaves out and
// mailbench adds, with the reason. "hints" carries settings an engine
// understands; they never change what is stored.
//
// # Patterns
//
// A pattern names its kind and its table in one key (get, slice, scan, count,
// put, put-if, add, append, remove, delete) or lists its parts (batch). The
// comments of [Pattern] say what each further key means and in which order the
// arguments of a call stand.
package schemas
