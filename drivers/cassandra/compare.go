package cassandra

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/schemas"
)

// Compare implements drivers.Comparer.
func (a *administration) Compare(ctx context.Context, sch *schemas.Schema) (*drivers.Comparison, error) {
	if err := a.enter(); err != nil {
		return nil, fmt.Errorf("compare schema %s: %w", sch.Name, err)
	}
	defer a.leave()
	c, err := a.compare(ctx, sch)
	if err != nil {
		return nil, fmt.Errorf("compare schema %s: %w", sch.Name, err)
	}
	return c, nil
}

func (a *administration) compare(ctx context.Context, sch *schemas.Schema) (*drivers.Comparison, error) {
	d, there, err := a.find(ctx, sch)
	if err != nil {
		return nil, err
	}
	d.NamesLegacy = a.server[defaultIndex] != ""
	extra, err := extras(ctx, a.session, d.Keyspace)
	if err != nil {
		return nil, err
	}
	exact := a.settings.replication != 0 || a.settings.replicas != nil
	return d.Compare(there, extra, exact, a.server[defaultCompaction])
}

// extras finds what a schema never has: views, which cost every write of their table,
// and triggers.
func extras(ctx context.Context, session *gocql.Session, keyspace string) (all []drivers.Drift, err error) {
	for what, query := range map[string]string{
		"MATERIALIZED VIEW": "SELECT view_name, base_table_name FROM system_schema.views WHERE keyspace_name = ?",
		"TRIGGER":           "SELECT trigger_name, table_name FROM system_schema.triggers WHERE keyspace_name = ?",
	} {
		it := session.Query(query, keyspace).WithContext(ctx).Iter()
		var name, table string
		for it.Scan(&name, &table) {
			drop := fmt.Sprintf("-- removes its rows: DROP MATERIALIZED VIEW %s.%s;", ddl.Quote(keyspace), ddl.Quote(name))
			if what == "TRIGGER" {
				drop = fmt.Sprintf("DROP TRIGGER %s ON %s.%s;", ddl.Quote(name), ddl.Quote(keyspace), ddl.Quote(table))
			}
			all = append(all, drivers.Drift{
				Difference: schemas.Difference{
					Kind: schemas.ExtraTable, Table: fmt.Sprintf("%s (%s of %s)", name, strings.ToLower(what), table),
				},
				Harm: drivers.OnlyThere,
				Mend: []string{drop},
			})
		}
		if err := it.Close(); err != nil {
			return nil, fmt.Errorf("list views and triggers: %w", err)
		}
	}
	slices.SortFunc(all, func(a, b drivers.Drift) int { return strings.Compare(a.Table, b.Table) })
	return all, nil
}
