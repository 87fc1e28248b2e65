package reports

import (
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
)

// growth are how the metrics grow over a sweep: the values at each point, and how they grow.
func (v *run) growth() (all []document.Section) {
	tables, marker := GrowthTables(v.Run), NewMarker(v.Run)
	for i := range tables {
		g, marked := &tables[i], legend{}
		t := &document.Table{Columns: []document.Column{{Title: "model", Left: true}}}
		for k, p := range v.Sweep.Points {
			rank := len(v.Sweep.Points) - k // the first and the last point stay
			if k == 0 || k == len(v.Sweep.Points)-1 {
				rank = 0
			}
			t.Columns = append(t.Columns, document.Column{Title: p.Value, Rank: rank})
		}
		t.Columns = append(t.Columns, document.Column{Title: "grows", Left: true})
		for j := range g.Rows {
			row := &g.Rows[j]
			var names []string
			var marks []OverviewMarks
			for k := range row.Models {
				m := &row.Models[k]
				names, marks = append(names, v.names.Part(m.Model, m.Engine)), append(marks, marker.Grown(m))
				cells := []document.Cell{document.Text(names[k])}
				for _, p := range v.Sweep.Points {
					cells = append(cells, document.Text(GrowthAt(m, p.Value)))
				}
				t.Rows = append(t.Rows, document.Row{
					Group: row.Op + ": " + row.Figure.Name(), Cells: append(cells, document.Text(GrowthText(m))),
				})
			}
			marked.add(row.Op, names, marks)
		}
		s := document.Section{ID: "growth", Title: "Growth", Lead: g.Title(v.Sweep), Table: t}
		if len(g.Flat) > 0 {
			s.Say(document.Plain, "", fmt.Sprintf("The same at every size, for all models: %s.", strings.Join(g.Flat, ", ")))
		}
		for _, said := range marked.lines() {
			s.Note(document.Plain, said[0], said[1])
		}
		if i == len(tables)-1 {
			s.Note(document.Faint, "", GrowthLegend)
		}
		all = append(all, s)
	}
	return all
}
