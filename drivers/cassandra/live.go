package cassandra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/drivers"
)

// liveKeyspace is a keyspace as system_schema describes it.
type liveKeyspace struct {
	name        string
	replication map[string]string
	durable     bool                  // writes go into the commit log
	tables      map[string]*liveTable // by name
}

type liveTable struct {
	comment string
	mark    mark
	marked  bool
	columns []liveColumn
	indexes map[string]string            // name → column
	kinds   map[string]bool              // the kinds of its indexes: legacy, sai, or another class
	numbers map[string]string            // the options that are numbers
	fields  map[string]map[string]string // the options that are maps
	expiry  int                          // default_time_to_live: rows expire after so many seconds; 0 is never
}

type liveColumn struct {
	name, typ string
	kind      string // partition_key, clustering, static or regular
	order     string // asc, desc or none
	position  int
}

// readKeyspace reads a keyspace. It returns nil if the keyspace does not exist.
func (s *Store) readKeyspace(ctx context.Context, name string) (*liveKeyspace, error) {
	k := &liveKeyspace{name: name, tables: make(map[string]*liveTable)}
	it := s.session.Query("SELECT replication, durable_writes FROM system_schema.keyspaces WHERE keyspace_name = ?", name).
		WithContext(ctx).Iter()
	there := it.Scan(&k.replication, &k.durable)
	if err := it.Close(); err != nil || !there {
		return nil, err
	}
	it = s.session.Query("SELECT table_name, comment, bloom_filter_fp_chance, gc_grace_seconds, caching, compaction, "+
		"compression,"+
		" default_time_to_live FROM system_schema.tables WHERE keyspace_name = ?", name).WithContext(ctx).Iter()
	for {
		var table string
		var chance float64
		var grace int
		var caching, compaction, compression map[string]string
		t := &liveTable{indexes: make(map[string]string), kinds: make(map[string]bool)}
		if !it.Scan(&table, &t.comment, &chance, &grace, &caching, &compaction, &compression, &t.expiry) {
			break
		}
		t.mark, t.marked = readMark(t.comment)
		t.numbers = map[string]string{
			"bloom_filter_fp_chance": strconv.FormatFloat(chance, 'g', -1, 64), "gc_grace_seconds": strconv.Itoa(grace),
		}
		t.fields = map[string]map[string]string{"caching": caching, "compaction": compaction, "compression": compression}
		k.tables[table] = t
	}
	if err := it.Close(); err != nil {
		return nil, err
	}
	var c liveColumn
	var table string
	it = s.session.Query("SELECT table_name, column_name, kind, type, clustering_order, position"+
		" FROM system_schema.columns WHERE keyspace_name = ?", name).WithContext(ctx).Iter()
	for it.Scan(&table, &c.name, &c.kind, &c.typ, &c.order, &c.position) {
		if t := k.tables[table]; t != nil {
			t.columns = append(t.columns, c)
		}
	}
	if err := it.Close(); err != nil {
		return nil, err
	}
	var index, kind string
	it = s.session.Query("SELECT table_name, index_name, kind, options FROM system_schema.indexes WHERE keyspace_name = ?",
		name).WithContext(ctx).Iter()
	for {
		var options map[string]string
		if !it.Scan(&table, &index, &kind, &options) {
			break
		}
		if t := k.tables[table]; t != nil {
			t.kinds[indexKindOf(kind, options["class_name"])] = true
			t.indexes[index] = strings.ReplaceAll(strings.Trim(options["target"], `"`), `""`, `"`)
		}
	}
	return k, it.Close()
}

// indexKindOf returns the kind of an index: legacy, sai, or its class.
func indexKindOf(kind, class string) string {
	switch {
	case kind != "CUSTOM":
		return legacyIndex
	case strings.EqualFold(class, sai) || strings.HasSuffix(class, "StorageAttachedIndex"):
		return sai
	}
	return class
}

// owned returns an error if some table of the keyspace lacks mailbench's mark, or
// is of another schema or namespace whose keyspace has the same name. A keyspace
// without tables passes: its creation may have only begun.
func (k *liveKeyspace) owned(namespace, schema string) error {
	for _, name := range slices.Sorted(maps.Keys(k.tables)) {
		t := k.tables[name]
		if !t.marked {
			return fmt.Errorf("table %s of keyspace %s: %w, so the keyspace is left alone", name, k.name, drivers.ErrForeign)
		}
		if t.mark.Schema != schema || t.mark.Namespace != namespace {
			return fmt.Errorf("keyspace %s holds the schema %s in the namespace %q", k.name, t.mark.Schema, t.mark.Namespace)
		}
	}
	return nil
}

// markAs gives each table without a mark the one that Apply would have written for the
// definition of that name. If there is no such definition, the mark has only the table's name
// in CQL. A copy of a table, which has the original's mark, counts as a table without a mark.
func (k *liveKeyspace) markAs(definitions []tableDefinition) {
	for name, t := range k.tables {
		copied := slices.ContainsFunc(definitions, func(td tableDefinition) bool {
			return td.table.Name == t.mark.Table && td.name != name
		})
		if t.marked && !copied {
			continue
		}
		t.mark = mark{Table: name}
		for _, td := range definitions {
			if td.name == name {
				t.mark, _ = readMark(td.comment)
			}
		}
	}
}

// factor returns the number of replicas in a datacenter.
func (k *liveKeyspace) factor(datacenter string) string {
	if n := k.replication[datacenter]; n != "" {
		return n
	}
	return k.replication["replication_factor"]
}

// ofKind returns the columns of a kind in order: key columns by position, others by
// name.
func (t *liveTable) ofKind(kind string) []liveColumn {
	var all []liveColumn
	for _, c := range t.columns {
		if c.kind == kind {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b liveColumn) int {
		if a.position != b.position {
			return a.position - b.position
		}
		return strings.Compare(a.name, b.name)
	})
	return all
}

func (t *liveTable) indexed(column string) bool {
	return slices.Contains(slices.Collect(maps.Values(t.indexes)), column)
}
