package cassandra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
)

// owners returns the owner of each keyspace that has mailbench's prefix and tables.
func (s *Store) owners(ctx context.Context) (plan.Owners, error) {
	all := make(plan.Owners)
	var keyspace, table, comment string
	query := s.session.Query("SELECT keyspace_name, table_name, comment FROM system_schema.tables").WithContext(ctx)
	err := scan(query, func() {
		if strings.HasPrefix(keyspace, drivers.Prefix) {
			m, ok := ddl.ReadMark(comment)
			all.Of(keyspace).Add(table, m.Namespace, ok)
		}
	}, &keyspace, &table, &comment)
	if err != nil {
		return nil, fmt.Errorf("list keyspaces: %w", err)
	}
	return all, nil
}

// Inventory implements drivers.Inventory. A keyspace is as old as its row in system_schema. How much
// it takes is reported by nodes from Cassandra 4.0 on, in MiB.
func (s *Store) Inventory(ctx context.Context) ([]drivers.Namespace, error) {
	return plan.Call(s.Entry, "list namespaces", func() ([]drivers.Namespace, error) { return s.inventory(ctx) })
}

func (s *Store) inventory(ctx context.Context) ([]drivers.Namespace, error) {
	owners, err := s.owners(ctx)
	if err != nil {
		return nil, err
	}
	made, err := s.perKeyspace(ctx, "SELECT keyspace_name, WRITETIME(durable_writes) FROM system_schema.keyspaces")
	if err != nil {
		return nil, fmt.Errorf("read the age of keyspaces: %w", err)
	}
	size, err := s.perKeyspace(ctx, "SELECT keyspace_name, mebibytes FROM system_views.disk_usage")
	if err != nil {
		size = nil // an older Cassandra has no such view
	}
	all := make(map[string]drivers.Namespace)
	for name, o := range owners {
		if o.Foreign != "" || o.Namespace == "" {
			continue
		}
		n, seen := all[o.Namespace]
		if at := time.UnixMicro(made[name]); !seen || at.Before(n.Since) {
			n.Since = at
		}
		n.Name, n.Tables = o.Namespace, n.Tables+o.Tables
		if n.Bytes += size[name] << 20; size == nil {
			n.Bytes = -1
		}
		all[o.Namespace] = n
	}
	return slices.Collect(maps.Values(all)), nil
}

// perKeyspace sums the numbers that a query has for each keyspace.
func (s *Store) perKeyspace(ctx context.Context, query string) (map[string]int64, error) {
	sums := make(map[string]int64)
	var keyspace string
	var n int64
	err := scan(s.session.Query(query).WithContext(ctx), func() { sums[keyspace] += n }, &keyspace, &n)
	return sums, err
}

// remove drops a keyspace.
func (s *Store) remove(ctx context.Context, keyspace string, _ *plan.Owner) error {
	s.applied.Clear()
	return s.alter(ctx, "DROP KEYSPACE IF EXISTS "+ddl.Quote(keyspace))
}

// Left implements drivers.Leaver. A cluster without the options throwAway keeps snapshots unless
// its auto_snapshot is off. If it does not show auto_snapshot, Left assumes that it is on.
func (s *Store) Left() string {
	if s.knows.throwAway || s.server["auto_snapshot"] == "false" {
		return ""
	}
	return fmt.Sprintf("snapshots of the dropped tables: Cassandra %s keeps them (auto_snapshot), and none of its "+
		"table options prevents that; on each node, %q removes those of a keyspace",
		s.version, "nodetool clearsnapshot --all -- KEYSPACE")
}

// throwAway are the options of every table that Apply creates, if the cluster knows them. The
// rows are synthetic, so there is no need for backups of the table's files, nor the snapshot that a node
// with auto_snapshot keeps of a dropped table. Without these options each run would leave its
// data on the cluster's disks. Render leaves them out: they belong to the run and not to the model.
const throwAway = "\n  AND allow_auto_snapshot = false AND incremental_backups = false"
