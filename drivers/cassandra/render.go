package cassandra

import (
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/render"
	"github.com/mailbench/mailbench/schemas"
)

// anyDatacenter is the datacenter of a node whose configuration names none.
const anyDatacenter = "datacenter1"

// renderCQL writes the statements of Apply in a form that cqlsh takes. Without settings
// they are for a cluster of one node.
func renderCQL(s *schemas.Schema, o drivers.Options) (string, error) {
	set, err := readSettings(o.Settings)
	if err != nil {
		return "", err
	}
	r := Replication{set.localDC, max(1, set.replication)}
	if r.Datacenter == "" {
		r.Datacenter = anyDatacenter
	}
	d, err := define(s, o.Namespace, r)
	if err != nil {
		return "", fmt.Errorf("schema %s: %w", s.Name, err)
	}
	t := render.New("--")
	t.Head(s, fmt.Sprintf("The CQL by which mailbench creates the schema %s, for replication %d in datacenter %s. "+
		"The comment of a table is mailbench's mark. The tables of a run have allow_auto_snapshot = false and incremental_backups = false, too, "+
		"where Cassandra knows these options: nobody wants backups of its mail.", s.Name, r.Factor, r.Datacenter))
	t.Statement("\n" + d.createKeyspace() + ";")
	for _, td := range d.tables {
		t.Table(td.table)
		comments(t, td)
		for _, stmt := range d.createAll(td) {
			t.Statement(stmt + ";")
		}
	}
	return t.String(), nil
}

// comments writes how the CQL differs from the schema.
func comments(t *render.Text, td tableDefinition) {
	for p := td.table.Parent; p != nil; p = p.Parent {
		if p.Header() {
			t.Comment(fmt.Sprintf("Its rows are nested in %s, which stores nothing of its own and is no table here.", p.Name))
		}
	}
	for _, c := range append(td.table.Key(), td.table.Columns...) {
		if strings.Contains(c.Type.String(), schemas.Timestamp.String()) {
			t.Comment(fmt.Sprintf("Column %s holds microseconds since 1970: a CQL timestamp has only milliseconds.", c.Name))
		}
	}
	for _, x := range td.table.Indexes {
		if !td.table.OneColumn(x) {
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
