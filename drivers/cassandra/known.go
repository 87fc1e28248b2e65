package cassandra

import (
	"context"
	"fmt"
	"slices"

	"github.com/gocql/gocql"
)

// known are the options that a cluster knows, by the columns of its system tables.
type known struct {
	// throwAway: tables have the options throwAway, as in Cassandra 5.0. Cassandra 4.0 and ScyllaDB
	// refuse a table that has them.
	throwAway bool
	// tablets: keyspaces may have tablets, as in ScyllaDB from 6.0 on. The older of these versions
	// have no counters and no conditional writes in such a keyspace. gocql knows no tablets: it would
	// send requests to nodes that are no replicas. So mailbench's keyspaces have none.
	tablets bool
}

func readKnown(ctx context.Context, session *gocql.Session) (k known, err error) {
	tables, err := columnsOf(ctx, session, "tables")
	if err != nil {
		return k, err
	}
	keyspaces, err := columnsOf(ctx, session, "scylla_keyspaces")
	k.throwAway = slices.Contains(tables, "allow_auto_snapshot") && slices.Contains(tables, "incremental_backups")
	k.tablets = slices.Contains(keyspaces, "initial_tablets")
	return k, err
}

// columnsOf returns the columns of a table of system_schema: none if there is no such table.
func columnsOf(ctx context.Context, session *gocql.Session, table string) (names []string, err error) {
	it := session.Query("SELECT column_name FROM system_schema.columns WHERE keyspace_name = 'system_schema' AND " +
		"table_name = '" + table + "'").WithContext(ctx).Iter()
	var name string
	for it.Scan(&name) {
		names = append(names, name)
	}
	if err := it.Close(); err != nil {
		return nil, fmt.Errorf("ask for the columns of system_schema.%s: %w", table, err)
	}
	return names, nil
}
