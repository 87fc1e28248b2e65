package ddl

import (
	"fmt"
	"strings"

	words "github.com/mailbench/mailbench/drivers/render"
	"github.com/mailbench/mailbench/schemas"
)

// Render writes the statements of Apply in a form that cqlsh takes.
func Render(s *schemas.Schema, namespace string, r Replication) (string, error) {
	d, err := Define(s, namespace, r)
	if err != nil {
		return "", fmt.Errorf("schema %s: %w", s.Name, err)
	}
	t := words.New("--")
	t.Head(s, fmt.Sprintf("The CQL by which mailbench creates the schema %s, for replication %d in datacenter %s. "+
		"The comment of a table is mailbench's mark. The tables of a run have allow_auto_snapshot = false and incremental_backups = false, too, "+
		"where Cassandra knows these options: nobody wants backups of its mail.", s.Name, r.Factor, r.Datacenter))
	t.Statement("\n" + d.createKeyspace() + ";")
	for _, stmt := range d.createTypes() {
		t.Statement("\n" + stmt + ";")
	}
	for _, td := range d.Tables {
		t.Table(td.Table)
		comments(t, td)
		for _, stmt := range d.createAll(td) {
			t.Statement(stmt + ";")
		}
	}
	return t.String(), nil
}

// comments writes how the CQL differs from the schema.
func comments(t *words.Text, td TableDefinition) {
	for p := td.Table.Parent; p != nil; p = p.Parent {
		if p.Header() {
			t.Comment(fmt.Sprintf("Its rows are nested in %s, which stores nothing of its own and is no table here.", p.Name))
		}
	}
	for _, c := range append(td.Table.Key(), td.Table.Columns...) {
		if strings.Contains(c.Type.String(), schemas.Timestamp.String()) && c.Type.Foreign == "" {
			t.Comment(fmt.Sprintf("Column %s holds microseconds since 1970: a CQL timestamp has only milliseconds.", c.Name))
		}
	}
	for _, x := range td.Table.Indexes {
		if !td.Table.OneColumn(x) {
			t.Comment(fmt.Sprintf("Index %s over (%s) is left out: an index of Cassandra is over one plain column.", x.Name,
				strings.Join(indexNames(x), ", ")))
		}
	}
}

func indexNames(x *schemas.Index) []string {
	var names []string
	for _, c := range x.Columns {
		names = append(names, c.Column.Name)
	}
	return names
}
