package cassandra

import (
	"context"
	"strconv"
	"strings"

	"github.com/gocql/gocql"

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
	it = session.Query("SELECT table_name, comment, bloom_filter_fp_chance, gc_grace_seconds, caching, compaction, "+
		"compression,"+
		" default_time_to_live FROM system_schema.tables WHERE keyspace_name = ?", name).WithContext(ctx).Iter()
	for {
		var table string
		var chance float64
		var grace int
		var caching, compaction, compression map[string]string
		t := &ddl.LiveTable{Indexes: make(map[string]string), Kinds: make(map[string]bool)}
		if !it.Scan(&table, &t.Comment, &chance, &grace, &caching, &compaction, &compression, &t.Expiry) {
			break
		}
		t.Mark, t.Marked = ddl.ReadMark(t.Comment)
		t.Numbers = map[string]string{
			"bloom_filter_fp_chance": strconv.FormatFloat(chance, 'g', -1, 64), "gc_grace_seconds": strconv.Itoa(grace),
		}
		t.Fields = map[string]map[string]string{"caching": caching, "compaction": compaction, "compression": compression}
		k.Tables[table] = t
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
	return k, it.Close()
}
