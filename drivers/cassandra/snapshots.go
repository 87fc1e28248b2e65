package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
)

var _ drivers.Leaver = (*Store)(nil)

// throwAway are the options of every table that Apply creates, if the cluster knows them. The
// rows are synthetic, so nobody wants backups of the table's files, nor the snapshot that a node
// with auto_snapshot keeps of a dropped table. Without these options each run would leave its
// data on the cluster's disks. Render leaves them out: they belong to the run and not to the model.
const throwAway = "\n  AND allow_auto_snapshot = false AND incremental_backups = false"

// readTableOptions finds out whether the cluster knows the options throwAway, as
// Cassandra 5.0 does. Cassandra 4.0 and ScyllaDB refuse a table that has them.
func (s *Store) readTableOptions(ctx context.Context) error {
	it := s.session.Query("SELECT column_name FROM system_schema.columns WHERE keyspace_name = 'system_schema' AND " +
		"table_name = 'tables'").
		WithContext(ctx).Iter()
	var have []string
	var name string
	for it.Scan(&name) {
		have = append(have, name)
	}
	if err := it.Close(); err != nil {
		return fmt.Errorf("ask for the options of tables: %w", err)
	}
	s.throwsAway = slices.Contains(have, "allow_auto_snapshot") && slices.Contains(have, "incremental_backups")
	return nil
}

// Left implements drivers.Leaver. A cluster without the options throwAway keeps snapshots unless
// its auto_snapshot is off. If it does not show auto_snapshot, Left assumes that it is on.
func (s *Store) Left() string {
	if s.throwsAway || s.server["auto_snapshot"] == "false" {
		return ""
	}
	return fmt.Sprintf("snapshots of the dropped tables: Cassandra %s keeps them (auto_snapshot), and none of its "+
		"table options prevents that; on each node, %q removes those of a keyspace",
		s.version, "nodetool clearsnapshot --all -- KEYSPACE")
}

// hidden reports whether an error says that the cluster lacks the system table of a query, or
// does not show it to this user.
func hidden(err error) bool {
	var refused gocql.RequestError
	return errors.As(err, &refused) && (refused.Code() == gocql.ErrCodeInvalid ||
		refused.Code() == gocql.ErrCodeUnauthorized)
}
