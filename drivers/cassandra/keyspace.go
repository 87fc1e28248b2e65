package cassandra

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
)

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
	for row := make(map[string]any); it.MapScan(row); row = make(map[string]any) {
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
