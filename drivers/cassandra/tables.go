package cassandra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// compiler compiles the patterns of applied schemas to statements. It needs no cluster.
type compiler struct{ applied plan.Tables[table] }

// table is a table of an applied schema.
type table struct {
	*schemas.Table
	keyspace  string
	qualified string          // its name in statements
	indexed   map[string]bool // the columns that have an index of their own
	// conditional is true if some pattern writes to the table by compare-and-set.
	conditional bool
	newRows     bool              // puts write rows that are not there yet
	options     map[string]string // present values in Cassandra of the options that hints can set
}

// add records the tables, so that patterns can be prepared for them.
func (k *compiler) add(d *ddl.Definition, sch *schemas.Schema, there *ddl.LiveKeyspace) {
	tables := make(map[*schemas.Table]*table)
	for _, td := range d.Tables {
		t := &table{
			Table: td.Table, keyspace: d.Keyspace, qualified: d.Qualified(td.Name), indexed: make(map[string]bool),
			newRows: ddl.NewRows(td.Table),
		}
		if live := there.Tables[td.Name]; live != nil {
			t.options = live.Hints()
		}
		for _, x := range td.Indexes {
			t.indexed[x.Column.Name] = true
		}
		for _, p := range sch.Patterns {
			t.conditional = t.conditional || p.Conditional() && p.Table == td.Table
		}
		tables[td.Table] = t
	}
	k.applied.Add(sch, tables)
}

// Identity implements drivers.Identified: the ids that Cassandra gave the tables when they were made.
func (s *Store) Identity(ctx context.Context, sch *schemas.Schema) (string, error) {
	return plan.Call(s.Gate, "read the ids of tables", func() (string, error) {
		found, err := s.find(ctx, sch)
		if err != nil {
			return "", err
		}
		p := found.(*place)
		var all []string
		var name, id string
		query := s.session.Query("SELECT table_name, id FROM system_schema.tables WHERE keyspace_name = ?", p.Keyspace)
		err = scan(query.WithContext(ctx), func() {
			if slices.ContainsFunc(p.Tables, func(t ddl.TableDefinition) bool { return t.Name == name }) {
				all = append(all, name+" "+id)
			}
		}, &name, &id)
		if err != nil {
			err = fmt.Errorf("read the ids of the tables of keyspace %s: %w", p.Keyspace, err)
		}
		return strings.Join(all, ", "), err
	})
}

// scan runs a query and calls row for each row of its result, with the columns in dest.
func scan(q *gocql.Query, row func(), dest ...any) error {
	it := q.Iter()
	for it.Scan(dest...) {
		row()
	}
	return it.Close()
}

// readKeyspace reads a keyspace. It returns nil if the keyspace does not exist.
func readKeyspace(ctx context.Context, session *gocql.Session, name string) (*ddl.LiveKeyspace, error) {
	var k *ddl.LiveKeyspace
	var err error
	query := func(columns, from string) *gocql.Query {
		return session.Query("SELECT "+columns+" FROM system_schema."+from+" WHERE keyspace_name = ?", name).WithContext(ctx)
	}
	read := func(columns, from string, row func(), dest ...any) {
		if err == nil {
			err = scan(query(columns, from), row, dest...)
		}
	}
	var replication map[string]string
	var durable bool
	read("replication, durable_writes", "keyspaces", func() {
		k = &ddl.LiveKeyspace{Name: name, Replication: replication, Durable: durable, Tables: make(map[string]*ddl.LiveTable)}
	}, &replication, &durable)
	if k == nil && err == nil {
		return nil, nil
	}
	if err == nil {
		err = readTables(query("*", "tables"), k) // which of the options there are depends on the version
	}
	var c ddl.LiveColumn
	var table, index, kind string
	var options map[string]string
	var fields, types []string
	read("table_name, column_name, kind, type, clustering_order, position", "columns", func() {
		if t := k.Tables[table]; t != nil {
			t.Columns = append(t.Columns, c)
		}
	}, &table, &c.Name, &c.Kind, &c.Type, &c.Order, &c.Position)
	read("table_name, index_name, kind, options", "indexes", func() {
		if t := k.Tables[table]; t != nil {
			t.Kinds[ddl.IndexKindOf(kind, options["class_name"])] = true
			t.Indexes[index] = unquote(options["target"])
		}
	}, &table, &index, &kind, &options)
	read("type_name, field_names, field_types", "types", func() { k.AddType(table, fields, types) },
		&table, &fields, &types)
	if err != nil {
		return nil, fmt.Errorf("read keyspace %s: %w", name, err)
	}
	return k, nil
}

// readTables adds the tables of a result of system_schema.tables to the keyspace.
func readTables(q *gocql.Query, k *ddl.LiveKeyspace) error {
	it := q.Iter()
	for {
		var cdc *bool // nil: a node without CDC does not report it
		row := map[string]any{"cdc": &cdc}
		if !it.MapScan(row) {
			return it.Close()
		}
		if delete(row, "cdc"); cdc != nil {
			row["cdc"] = *cdc
		}
		t := &ddl.LiveTable{Indexes: make(map[string]string), Kinds: make(map[string]bool), Settings: ddl.ReadSettings(row)}
		t.Comment, _ = row["comment"].(string)
		t.Mark, t.Marked = ddl.ReadMark(t.Comment)
		name, _ := row["table_name"].(string)
		k.Tables[name] = t
	}
}

// absent is the error for a keyspace that does not exist. It names those that do, but for Cassandra's own.
func (c *cluster) absent(ctx context.Context, keyspace string) error {
	e := &drivers.AbsentError{What: "keyspace", Name: keyspace, Where: "at " + strings.Join(c.contact, ", ")}
	var name string
	err := scan(c.session.Query("SELECT keyspace_name FROM system_schema.keyspaces").WithContext(ctx), func() {
		if name != "system" && !strings.HasPrefix(name, "system_") {
			e.There = append(e.There, name)
		}
	}, &name)
	if err != nil {
		return fmt.Errorf("list keyspaces: %w", err)
	}
	return e
}

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
	const query = "SELECT column_name FROM system_schema.columns WHERE keyspace_name = 'system_schema' AND " +
		"table_name IN ('tables', 'scylla_keyspaces')"
	var name string
	has := make(map[string]bool)
	if err := scan(session.Query(query).WithContext(ctx), func() { has[name] = true }, &name); err != nil {
		return k, fmt.Errorf("read the columns of system_schema: %w", err)
	}
	return known{
		throwAway: has["allow_auto_snapshot"] && has["incremental_backups"], tablets: has["initial_tablets"],
	}, nil
}

// throwAway are the options of every table that Apply creates, if the cluster knows them. The
// rows are synthetic, so there is no need for backups of the table's files, nor the snapshot that a node
// with auto_snapshot keeps of a dropped table. Without these options each run would leave its
// data on the cluster's disks. Render leaves them out: they belong to the run and not to the model.
const throwAway = "\n  AND allow_auto_snapshot = false AND incremental_backups = false"

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

// Inventory implements drivers.Inventory. A keyspace is as old as its row in system_schema. How much
// it takes is reported by nodes from Cassandra 4.0 on, in MiB.
func (s *Store) Inventory(ctx context.Context) ([]drivers.Namespace, error) {
	return plan.Call(s.Entry, "list namespaces", func() ([]drivers.Namespace, error) {
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
	})
}

// perKeyspace sums the numbers that a query has for each keyspace.
func (s *Store) perKeyspace(ctx context.Context, query string) (map[string]int64, error) {
	sums := make(map[string]int64)
	var keyspace string
	var n int64
	err := scan(s.session.Query(query).WithContext(ctx), func() { sums[keyspace] += n }, &keyspace, &n)
	return sums, err
}
