// Package cql reads the tables of a keyspace from CQL text, as DESCRIBE
// prints it, and the statements that read and write them. It reads CREATE
// KEYSPACE, TABLE, TYPE and INDEX, SELECT, INSERT, UPDATE, DELETE and BATCH, and
// knows nothing of mailbench's own schema language.
//
// Nothing is dropped in silence: a statement that the package cannot read
// whole stands in [Script.Unread] with its line and the reason.
package cql
