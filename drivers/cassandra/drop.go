package cassandra

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
)

// owner says who made a keyspace, by the marks of its tables.
type owner struct {
	namespace string
	tables    int
	foreign   string // a table without a mark, or of another namespace; "" if there is none
}

// owners returns the owner of each keyspace that has mailbench's prefix and tables.
func (a *administration) owners(ctx context.Context) (map[string]owner, error) {
	all := make(map[string]owner)
	it := a.session.Query("SELECT keyspace_name, table_name, comment FROM system_schema.tables").WithContext(ctx).Iter()
	var keyspace, table, comment string
	for it.Scan(&keyspace, &table, &comment) {
		if !strings.HasPrefix(keyspace, drivers.Prefix) {
			continue
		}
		o, seen := all[keyspace]
		o.tables++
		m, ok := ddl.ReadMark(comment)
		switch {
		case !ok || seen && o.foreign == "" && m.Namespace != o.namespace:
			o.foreign = table
		case o.foreign == "":
			o.namespace = m.Namespace
		}
		all[keyspace] = o
	}
	if err := it.Close(); err != nil {
		return nil, fmt.Errorf("list keyspaces: %w", err)
	}
	return all, nil
}

// Namespaces implements drivers.Admin.
func (a *administration) Namespaces(ctx context.Context) ([]string, error) {
	return plan.Call(a.Gate, "list namespaces", func() ([]string, error) {
		all, err := a.owners(ctx)
		names := make(map[string]bool)
		for _, o := range all {
			if o.foreign == "" && o.namespace != "" {
				names[o.namespace] = true
			}
		}
		return slices.Sorted(maps.Keys(names)), err
	})
}

// Inventory implements drivers.Inventory. A keyspace is as old as its row in system_schema. How much
// it takes is told by nodes from Cassandra 4.0 on, in MiB.
func (a *administration) Inventory(ctx context.Context) ([]drivers.Namespace, error) {
	return plan.Call(a.Gate, "list namespaces", func() ([]drivers.Namespace, error) { return a.inventory(ctx) })
}

func (a *administration) inventory(ctx context.Context) ([]drivers.Namespace, error) {
	owners, err := a.owners(ctx)
	if err != nil {
		return nil, err
	}
	made, err := a.perKeyspace(ctx, "SELECT keyspace_name, WRITETIME(durable_writes) FROM system_schema.keyspaces")
	if err != nil {
		return nil, fmt.Errorf("read the age of keyspaces: %w", err)
	}
	size, err := a.perKeyspace(ctx, "SELECT keyspace_name, mebibytes FROM system_views.disk_usage")
	if err != nil {
		size = nil // an older Cassandra has no such view
	}
	all := make(map[string]drivers.Namespace)
	for name, o := range owners {
		if o.foreign != "" || o.namespace == "" {
			continue
		}
		n, seen := all[o.namespace]
		if at := time.UnixMicro(made[name]); !seen || at.Before(n.Since) {
			n.Since = at
		}
		n.Name, n.Tables = o.namespace, n.Tables+o.tables
		if n.Bytes += size[name] << 20; size == nil {
			n.Bytes = -1
		}
		all[o.namespace] = n
	}
	return slices.Collect(maps.Values(all)), nil
}

// perKeyspace sums the numbers that a query has for each keyspace.
func (a *administration) perKeyspace(ctx context.Context, query string) (map[string]int64, error) {
	sums := make(map[string]int64)
	it := a.session.Query(query).WithContext(ctx).Iter()
	var keyspace string
	var n int64
	for it.Scan(&keyspace, &n) {
		sums[keyspace] += n
	}
	return sums, it.Close()
}

// Drop implements drivers.Admin.
func (a *administration) Drop(ctx context.Context) error {
	return a.During("drop", func() error { return a.drop(ctx) })
}

func (a *administration) drop(ctx context.Context) error {
	if a.ReadOnly {
		return drivers.ErrReadOnly
	}
	all, err := a.owners(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch o := all[name]; {
		case o.foreign == "" && o.namespace == a.namespace:
			if err := a.alter(ctx, "DROP KEYSPACE IF EXISTS "+ddl.Quote(name)); err != nil {
				errs = append(errs, fmt.Errorf("drop keyspace %s: %w", name, err))
			}
		case o.foreign != "" && a.namespace != "" && strings.HasPrefix(name, drivers.Prefix+a.namespace+"_"):
			errs = append(errs, fmt.Errorf("drop keyspace %s: table %s: %w, so the keyspace is left alone",
				name, o.foreign, drivers.ErrForeign))
		}
	}
	a.compiler.applied.Clear()
	return errors.Join(errs...)
}

// Left implements drivers.Leaver. A cluster without the options throwAway keeps snapshots unless
// its auto_snapshot is off. If it does not show auto_snapshot, Left assumes that it is on.
func (a *administration) Left() string {
	if a.knows.throwAway || a.server["auto_snapshot"] == "false" {
		return ""
	}
	return fmt.Sprintf("snapshots of the dropped tables: Cassandra %s keeps them (auto_snapshot), and none of its "+
		"table options prevents that; on each node, %q removes those of a keyspace",
		a.version, "nodetool clearsnapshot --all -- KEYSPACE")
}

// throwAway are the options of every table that Apply creates, if the cluster knows them. The
// rows are synthetic, so nobody wants backups of the table's files, nor the snapshot that a node
// with auto_snapshot keeps of a dropped table. Without these options each run would leave its
// data on the cluster's disks. Render leaves them out: they belong to the run and not to the model.
const throwAway = "\n  AND allow_auto_snapshot = false AND incremental_backups = false"
