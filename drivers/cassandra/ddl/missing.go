package ddl

import (
	"fmt"
	"strconv"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// Missing returns the statements that create what the keyspace lacks. It returns
// an error if the keyspace differs in any other way.
func (d *Definition) Missing(there *LiveKeyspace) ([]string, error) {
	if there == nil {
		return d.Statements(), nil
	}
	if err := there.Owned(d.namespace, d.Stored.Name); err != nil {
		return nil, err
	}
	for dc, want := range d.Replication.All() {
		if there.factor(dc) != strconv.Itoa(want) {
			return nil, fmt.Errorf("keyspace %s has %s, but replication is to be %s: drop the keyspace, or change the setting",
				d.Keyspace, cqlMap(there.Replication), d.Replication)
		}
	}
	missing, err := drivers.Missing(d.Stored, there.Schema(d.Stored.Name))
	if err != nil {
		return nil, fmt.Errorf("keyspace %s: %w", d.Keyspace, err)
	}
	var stmts []string
	for _, td := range d.Tables {
		t := there.Tables[td.Name]
		if t == nil {
			stmts = append(stmts, d.createTable(td))
		}
		for _, m := range missing {
			if t != nil && t.Comment != td.Comment && m.Table == td.Table.Name { // it was created without this index
				return nil, fmt.Errorf("keyspace %s: %w", d.Keyspace, drivers.Conflict([]schemas.Difference{m}))
			}
		}
		for _, x := range td.Indexes {
			if t == nil || !t.Indexed(x.Column.Name) {
				stmts = append(stmts, d.createIndex(td, x))
			}
		}
	}
	return stmts, nil
}
