package cassandra

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/schemas"
)

// Stored implements drivers.Store. Cassandra keeps every table, the indexes for
// which schemas.Table.OneColumn is true, the options that hints set, each as a setting of
// its own (compaction.class), and how long rows live.
func (s *Store) Stored(sch *schemas.Schema) (*schemas.Schema, error) {
	d, err := ddl.Define(sch, "", ddl.Replication{})
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", sch.Name, err)
	}
	return d.Stored, nil
}

// extras finds what a schema never has: views, which cost every write of their table,
// and triggers.
func extras(ctx context.Context, session *gocql.Session, keyspace string) (all []drivers.Drift, err error) {
	for what, query := range map[string]string{
		"materialized view": "SELECT view_name, base_table_name FROM system_schema.views WHERE keyspace_name = ?",
		"trigger":           "SELECT trigger_name, table_name FROM system_schema.triggers WHERE keyspace_name = ?",
	} {
		var name, table string
		err := scan(session.Query(query, keyspace).WithContext(ctx), func() {
			drop := fmt.Sprintf("-- removes its rows: DROP MATERIALIZED VIEW %s.%s;", ddl.Quote(keyspace), ddl.Quote(name))
			if what == "trigger" {
				drop = fmt.Sprintf("DROP TRIGGER %s ON %s.%s;", ddl.Quote(name), ddl.Quote(keyspace), ddl.Quote(table))
			}
			all = append(all, drivers.Drift{
				Difference: schemas.Difference{Kind: schemas.ExtraTable, Table: ddl.PartName(name, what, table)},
				Harm:       drivers.OnlyThere, Fix: []string{drop},
			})
		}, &name, &table)
		if err != nil {
			return nil, fmt.Errorf("list views and triggers: %w", err)
		}
	}
	slices.SortFunc(all, func(a, b drivers.Drift) int { return strings.Compare(a.Table, b.Table) })
	return all, nil
}

// renderCQL writes the statements of Apply in a form that cqlsh takes. Without settings
// they are for a cluster of one node.
func renderCQL(s *schemas.Schema, o drivers.Options) (string, error) {
	set, err := readSettings(o.Settings)
	if err != nil {
		return "", err
	}
	r := ddl.Replication{Datacenter: set.localDC, Factor: max(1, set.replication)}
	if all := set.replicas; all != nil {
		if r.Datacenter == "" {
			r.Datacenter = slices.Sorted(maps.Keys(all))[0]
		}
		r.Factor, r.Others = max(1, all[r.Datacenter]), maps.Clone(all)
		delete(r.Others, r.Datacenter)
	}
	if r.Datacenter == "" {
		r.Datacenter = ddl.AnyDatacenter
	}
	return ddl.Render(s, o.Namespace, r)
}

// Keyspace returns the name of a schema's keyspace in a namespace, which may be "".
func Keyspace(namespace, schema string) (string, error) { return ddl.Keyspace(namespace, schema) }
