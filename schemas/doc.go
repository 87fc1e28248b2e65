// Package schemas is mailbench's schema language: the tables of a mailbox data model
// (nested and wide-column), and its access patterns, the only reads and writes that its
// code may run. README.md in this folder has every key of a schema file.
//
// [Parse] reads a file, with every fault at its place. [Format] writes a schema as its
// canonical text, which Parse reads back. [Canonical] reduces a schema to its part that an
// engine stores, in one order. Drivers return the tables that an engine has in the same form.
// [Diff] compares two such forms and names every [Difference], the most harmful first.
package schemas
