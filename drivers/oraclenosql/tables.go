package oraclenosql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// table is a table of Oracle.
type table struct {
	of      *schemas.Table // the schema's table of which it has the columns, or the static columns
	path    string         // its name, with those of its parents: users.folder
	full    string         // its name in requests: mailbench_run_oracle:users.folder
	parent  *table         // nil for a root table
	shard   []*schemas.Column
	key     []*schemas.Column // its own key columns, without the shard's and without those of its parents
	columns []*schemas.Column
	absent  []*schemas.Index // those that a namespace of somebody else's lacks
	notes   []string         // sentences on how it differs from the schema's table
}

// layout returns the tables of a schema, parents first.
func layout(s *schemas.Schema) ([]*table, error) {
	if err := drivers.Portable(s); err != nil {
		return nil, err
	}
	var all []*table
	of := make(map[*schemas.Table]*table)
	paths := make(map[string]string) // keys are in lower case, since Oracle's names have no case
	add := func(t *table) error {
		if other, taken := paths[strings.ToLower(t.path)]; taken {
			return fmt.Errorf("tables %s and %s would both be %s in Oracle, which ignores case: rename one", other,
				t.of.Name, t.path)
		}
		paths[strings.ToLower(t.path)] = t.of.Name
		all = append(all, t)
		return t.checkColumns()
	}
	for _, st := range s.Tables {
		t := &table{of: st, columns: st.Columns, parent: of[st.Parent]}
		switch {
		case st.Parent == nil && len(st.Static) == 0:
			t.path, t.shard, t.key = identifier(st.Name), st.Partition, st.Clustering
		case st.Parent == nil:
			t.parent = &table{of: st, path: identifier(st.Name), shard: st.Partition, columns: st.Static}
			t.parent.notes = []string{"Oracle has no static columns: this table has them, and its child rows has the rows."}
			if err := add(t.parent); err != nil {
				return nil, err
			}
			t.path, t.key = t.parent.path+".rows", st.Clustering
		default:
			t.path, t.key = t.parent.path+"."+lastName(st), st.Clustering[st.Inherited:]
		}
		of[st] = t
		if err := add(t); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// checkColumns returns an error if Oracle, which ignores case, takes two names for one.
func (t *table) checkColumns() error {
	seen := make(map[string]string)
	for _, c := range slices.Concat(t.of.Key(), t.columns) {
		id := identifier(c.Name)
		if other, taken := seen[strings.ToLower(id)]; taken {
			return fmt.Errorf("columns %s and %s of table %s are one column in Oracle, which ignores case: rename one",
				other, c.Name, t.of.Name)
		}
		seen[strings.ToLower(id)] = c.Name
	}
	return nil
}
