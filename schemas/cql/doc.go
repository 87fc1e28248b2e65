// Package cql reads the tables of a keyspace from CQL text, as DESCRIBE
// prints it or as migrations create, alter and drop them, and the statements that
// read and write them. It knows nothing of mailbench's own schema language.
//
// Nothing is dropped in silence: a statement that the package cannot read
// whole is in [Script.Unread] with its place and the reason.
package cql
