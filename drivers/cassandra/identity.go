package cassandra

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cassandra/ddl"
	"github.com/mailbench/mailbench/schemas"
)

var _ drivers.Identified = (*Store)(nil)

// Identity implements drivers.Identified: the ids that Cassandra gave the tables when they were made.
func (a *administration) Identity(ctx context.Context, s *schemas.Schema) (string, error) {
	if err := a.enter(); err != nil {
		return "", fmt.Errorf("ask for the ids of tables: %w", err)
	}
	defer a.leave()
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
		return "", fmt.Errorf("ask for the ids of the tables of keyspace %s: %w", d.Keyspace, err)
	}
	return strings.Join(all, ", "), nil
}
