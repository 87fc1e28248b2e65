package cassandra

import (
	"context"
	"fmt"
	"slices"

	"github.com/gocql/gocql"
)

// throwAway are the options of every table that Apply creates, if the cluster knows them. The
// rows are synthetic, so nobody wants backups of the table's files, nor the snapshot that a node
// with auto_snapshot keeps of a dropped table. Without these options each run would leave its
// data on the cluster's disks. Render leaves them out: they belong to the run and not to the model.
const throwAway = "\n  AND allow_auto_snapshot = false AND incremental_backups = false"

// knowsThrowAway reports whether the cluster knows the options throwAway, as
// Cassandra 5.0 does. Cassandra 4.0 and ScyllaDB refuse a table that has them.
func knowsThrowAway(ctx context.Context, session *gocql.Session) (bool, error) {
	it := session.Query("SELECT column_name FROM system_schema.columns WHERE keyspace_name = 'system_schema' AND " +
		"table_name = 'tables'").
		WithContext(ctx).Iter()
	var have []string
	var name string
	for it.Scan(&name) {
		have = append(have, name)
	}
	if err := it.Close(); err != nil {
		return false, fmt.Errorf("ask for the options of tables: %w", err)
	}
	return slices.Contains(have, "allow_auto_snapshot") && slices.Contains(have, "incremental_backups"), nil
}
