package cassandra

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// compiler compiles the patterns of applied schemas to statements. It needs no cluster.
type compiler struct {
	applied plan.Tables[table]
	queries atomic.Int32 // the number of compiled queries; each gets the next number
}

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
			Table: td.Table, keyspace: d.Keyspace, qualified: ddl.Quote(d.Keyspace) + "." + ddl.Quote(td.Name),
			indexed: make(map[string]bool),
		}
		t.newRows, _ = ddl.NewRows(td.Table) // Define has checked it
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

// number returns the number of the next query.
func (k *compiler) number() int { return int(k.queries.Add(1)) - 1 }

var _ drivers.Identified = (*Store)(nil)

// Identity implements drivers.Identified: the ids that Cassandra gave the tables when they were made.
func (a *administration) Identity(ctx context.Context, s *schemas.Schema) (string, error) {
	return plan.Call(a.Gate, "read the ids of tables", func() (string, error) { return a.identity(ctx, s) })
}

func (a *administration) identity(ctx context.Context, s *schemas.Schema) (string, error) {
	d, _, err := a.find(ctx, s)
	if err != nil {
		return "", err
	}
	it := a.session.Query("SELECT table_name, id FROM system_schema.tables WHERE keyspace_name = ?", d.Keyspace).
		WithContext(ctx).Iter()
	var all []string
	var name, id string
	for it.Scan(&name, &id) {
		if slices.ContainsFunc(d.Tables, func(t ddl.TableDefinition) bool { return t.Name == name }) {
			all = append(all, name+" "+id)
		}
	}
	if err := it.Close(); err != nil {
		return "", fmt.Errorf("read the ids of the tables of keyspace %s: %w", d.Keyspace, err)
	}
	return strings.Join(all, ", "), nil
}

// readKeyspace reads a keyspace. It returns nil if the keyspace does not exist.
func readKeyspace(ctx context.Context, session *gocql.Session, name string) (*ddl.LiveKeyspace, error) {
	k := &ddl.LiveKeyspace{Name: name, Tables: make(map[string]*ddl.LiveTable)}
	it := session.Query("SELECT replication, durable_writes FROM system_schema.keyspaces WHERE keyspace_name = ?", name).
		WithContext(ctx).Iter()
	there := it.Scan(&k.Replication, &k.Durable)
	if err := it.Close(); err != nil || !there {
		return nil, err
	}
	// All columns: which of the options there are depends on the version.
	it = session.Query("SELECT * FROM system_schema.tables WHERE keyspace_name = ?", name).WithContext(ctx).Iter()
	for {
		var cdc *bool // nil: a node without CDC does not say it
		row := map[string]any{"cdc": &cdc}
		if !it.MapScan(row) {
			break
		}
		if delete(row, "cdc"); cdc != nil {
			row["cdc"] = *cdc
		}
		readTable(k, row)
	}
	if err := it.Close(); err != nil {
		return nil, err
	}
	var c ddl.LiveColumn
	var table string
	it = session.Query("SELECT table_name, column_name, kind, type, clustering_order, position"+
		" FROM system_schema.columns WHERE keyspace_name = ?", name).WithContext(ctx).Iter()
	for it.Scan(&table, &c.Name, &c.Kind, &c.Type, &c.Order, &c.Position) {
		if t := k.Tables[table]; t != nil {
			t.Columns = append(t.Columns, c)
		}
	}
	if err := it.Close(); err != nil {
		return nil, err
	}
	var index, kind string
	it = session.Query("SELECT table_name, index_name, kind, options FROM system_schema.indexes WHERE keyspace_name = ?",
		name).WithContext(ctx).Iter()
	for {
		var options map[string]string
		if !it.Scan(&table, &index, &kind, &options) {
			break
		}
		if t := k.Tables[table]; t != nil {
			t.Kinds[ddl.IndexKindOf(kind, options["class_name"])] = true
			t.Indexes[index] = strings.ReplaceAll(strings.Trim(options["target"], `"`), `""`, `"`)
		}
	}
	if err := it.Close(); err != nil {
		return nil, err
	}
	it = session.Query("SELECT type_name, field_names, field_types FROM system_schema.types WHERE keyspace_name = ?",
		name).WithContext(ctx).Iter()
	for t := (ddl.LiveType{}); it.Scan(&t.Name, &t.Fields, &t.Types); t = (ddl.LiveType{}) {
		k.Types = append(k.Types, t)
	}
	return k, it.Close()
}

// readTable adds a table to the keyspace: a row of system_schema.tables.
func readTable(k *ddl.LiveKeyspace, row map[string]any) {
	t := &ddl.LiveTable{
		Indexes: make(map[string]string), Kinds: make(map[string]bool), Carried: make(map[string]string),
	}
	t.Comment, _ = row["comment"].(string)
	t.Expiry, _ = row["default_time_to_live"].(int)
	t.Mark, t.Marked = ddl.ReadMark(t.Comment)
	chance, _ := row["bloom_filter_fp_chance"].(float64)
	grace, _ := row["gc_grace_seconds"].(int)
	t.Numbers = map[string]string{
		"bloom_filter_fp_chance": strconv.FormatFloat(chance, 'g', -1, 64), "gc_grace_seconds": strconv.Itoa(grace),
	}
	t.Fields = make(map[string]map[string]string)
	for _, name := range []string{"caching", "compaction", "compression"} {
		t.Fields[name], _ = row[name].(map[string]string)
	}
	for _, name := range ddl.CarriedOptions() {
		if value, there := row[name]; there {
			t.Carried[name] = fmt.Sprint(value)
		}
	}
	name, _ := row["table_name"].(string)
	k.Tables[name] = t
}

// absent is the error for a keyspace that does not exist. It names those that do, but for Cassandra's own.
func (c *cluster) absent(ctx context.Context, keyspace string) error {
	e := &drivers.AbsentError{What: "keyspace", Name: keyspace, Where: "at " + strings.Join(c.contact, ", ")}
	it := c.session.Query("SELECT keyspace_name FROM system_schema.keyspaces").WithContext(ctx).Iter()
	for name := ""; it.Scan(&name); {
		if name != "system" && !strings.HasPrefix(name, "system_") {
			e.There = append(e.There, name)
		}
	}
	if err := it.Close(); err != nil {
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
		return nil, fmt.Errorf("read the columns of system_schema.%s: %w", table, err)
	}
	return names, nil
}
