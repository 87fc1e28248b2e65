// Package oraclenosql is Oracle NoSQL Database. It writes a schema as the DDL of its
// SQL, and its patterns as the statements that a driver would send; there is no driver
// yet, so that no workload runs on it.
//
// # Layout
//
// A schema is a namespace. A table nested in another is a child table of it, so that
// all rows below a root table's row lie on one shard, which is what WriteMultiple
// changes as a whole. What the schema language has and Oracle has not:
//
//   - Key columns ascend, and so do indexes. Reads in descending order say so, and go
//     backwards.
//   - Static columns are a table of their own, with the partition key as its key, and
//     the table that has them is its child "rows".
//   - A key holds no binary values: they are hexadecimal digits.
//   - A set is an array that the client keeps free of doubles. Keys of maps are text.
//   - A counter is a LONG that an UPDATE statement adds to.
//
// The facts are those of the SQL reference, release 25.1, chapters "CREATE TABLE
// Statement" and "Table Hierarchies", and of the grammar and checks in the server's
// source (github.com/oracle/nosql: KVQL.g4 and TableImpl.validate).
package oraclenosql

import "github.com/mailbench/mailbench/drivers"

const engineName = "oraclenosql"

// Engine returns the engine's entry, which has no Open.
func Engine() drivers.Engine {
	return drivers.Engine{
		Name:    engineName,
		Doc:     "Oracle NoSQL Database: schemas are written as SQL, there is no driver yet",
		Remote:  true,
		Render:  renderSQL,
		Compile: compiler,
	}
}
