// Package oraclenosql runs mailbench's access patterns on Oracle NoSQL Database, through
// its HTTP proxy and Oracle's SDK for Go.
//
// # Layout
//
// A schema is a namespace. A table nested in another is a child table of it, so that
// all rows below a root table's row lie on one shard. WriteMultiple is atomic within a
// shard key. The layout differs where Oracle does not have what the schema language has:
//
//   - Key columns ascend, and so do indexes. Reads in descending order say ORDER BY …
//     DESC, and go backwards. If some columns ascend and others descend, the client sorts
//     all rows of the range, and the pattern counts as emulated.
//   - Static columns are a table of their own, with the partition key as its key, and
//     the table that has them is its child "rows".
//   - A key holds no binary values: blobs in keys are hexadecimal digits. A timeuuid in a
//     key is hexadecimal digits that sort by time. keytext.go says which text is escaped.
//   - A set is an array that the client keeps free of duplicates. Keys of maps are text.
//   - A counter is a LONG that an UPDATE statement adds to.
//
// A table's comment is its mark: what Oracle does not know of the schema.
//
// # Requests
//
// A read of a whole row is a Get, other reads are prepared queries. A list of keys below one
// shard key is one query with IN that names the shard key's partition; the first query of a key
// reads it from a row. (Without it Oracle queries all partitions, even for one shard key.) Other lists are
// a request for each key. A put of a whole row is a Put; one of some columns is an UPDATE, and a Put if absent where
// there was no row. An atomic batch is one WriteMultiple of puts and deletes of whole
// rows. If a part changes only some columns, the rows are read first, and written on the
// condition that they have not changed meanwhile; such a batch counts as emulated.
//
// Retries: a read, or a put of a whole row, is sent again if its answer was lost. Other
// writes are sent again only if the server refused them; if an answer is lost, the error is
// [drivers.ErrUnknown]. After a refusal because of its access token a request logs in again.
//
// Sources: the SQL reference, release 25.1, chapters "CREATE TABLE Statement" and "Table
// Hierarchies", and the grammar and checks in the server's source
// (github.com/oracle/nosql: KVQL.g4 and TableImpl.validate). Plans, orders
// and limits are those of a server of release 25.3.
package oraclenosql

import (
	"context"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
)

const engineName = "oraclenosql"

// Engine returns the engine's entry for the list of engines.
func Engine() drivers.Engine {
	return drivers.Engine{
		Name:        engineName,
		Doc:         "Oracle NoSQL Database 23.3 or newer on premises, through its HTTP proxy",
		Remote:      true,
		Settings:    settingList,
		Environment: environment,
		Open: func(ctx context.Context, o drivers.Options) (drivers.Store, error) {
			s, err := open(ctx, o)
			if err != nil {
				return nil, fmt.Errorf("open Oracle NoSQL: %w", err)
			}
			return s, nil
		},
		Render:     renderSQL,
		Forecast:   forecastOf,
		CheckHints: checkHints,
		Compile:    compiler,
		Namespace:  "namespace",
		Server:     "\"docker compose -f docker/compose.yaml up -d --wait oraclenosql\" starts one on this machine",
		Logs:       "\"docker compose -f docker/compose.yaml logs -f oraclenosql\" prints the log of that one",
		TraceDoc: `READ are the rows returned, where Oracle reads no others. It does not report rows read by a
filter, a sort or a write, and counts no read units (ReadKB) on premises. TIME is the client's.
PLAN is from the server's plans; a query by an index on all shards reads each of them.`,
	}
}
