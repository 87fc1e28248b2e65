// Package oraclenosql is for Oracle NoSQL Database. It writes a schema as the DDL of its
// SQL, and the schema's patterns as the statements that a driver would send. There is no
// driver yet, so no workload runs on it.
//
// # Layout
//
// A schema is a namespace. A table nested in another is a child table of it, so that
// all rows below a root table's row lie on one shard. WriteMultiple is atomic within a
// shard key. The layout differs where Oracle lacks what the schema language has:
//
//   - Key columns ascend, and so do indexes. Reads in descending order say ORDER BY …
//     DESC, and go backwards.
//   - Static columns are a table of their own, with the partition key as its key, and
//     the table that has them is its child "rows".
//   - A key holds no binary values: blobs in keys are hexadecimal digits.
//   - A set is an array that the client keeps free of duplicates. Keys of maps are text.
//   - A counter is a LONG that an UPDATE statement adds to.
//
// Sources: the SQL reference, release 25.1, chapters "CREATE TABLE Statement" and "Table
// Hierarchies", and the grammar and checks in the server's source
// (github.com/oracle/nosql: KVQL.g4 and TableImpl.validate).
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
