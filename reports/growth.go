package reports

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/growth"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas/words"
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

// GrowthText says how the figure grows: linear (0.98 ±0.05).
func GrowthText(g *results.Growth) string {
	// Adding 0 makes 0 of -0.
	class := string(g.Class)
	if g.Class == growth.FlatFrom {
		class += " " + words.Amount(g.From) + " on"
	}
	exponent := class + " (" + strconv.FormatFloat(math.Round(100*g.Exponent)/100+0, 'f', 2, 64)
	switch {
	case g.Low == nil || g.High == nil:
		return exponent + fmt.Sprintf("; %d points)", len(g.Points))
	case (*g.High-*g.Low)/2 >= 0.005:
		return exponent + fmt.Sprintf(" ±%.2f)", (*g.High-*g.Low)/2)
	}
	return exponent + ")"
}

// GrowthAt is the figure at a point, or a dash.
func GrowthAt(g *results.Growth, point string) string {
	for i := range g.Points {
		if p := &g.Points[i]; p.Point == point {
			return g.Figure.Text(p.Value)
		}
	}
	return "-"
}

// Grown is how one figure of one operation grows in all models, the least exponent first.
type Grown struct {
	Phase, Op string
	Figure    results.Figure
	Models    []results.Growth
}

// grown groups by phase, operation and figure.
func grown(all []results.Growth) []Grown {
	var groups []Grown
	for _, g := range all {
		at := slices.IndexFunc(groups, func(o Grown) bool {
			return o.Phase == g.Phase && o.Op == g.Op && o.Figure == g.Figure
		})
		if at < 0 {
			at, groups = len(groups), append(groups, Grown{Phase: g.Phase, Op: g.Op, Figure: g.Figure})
		}
		groups[at].Models = append(groups[at].Models, g)
	}
	for i := range groups {
		slices.SortStableFunc(groups[i].Models, func(a, b results.Growth) int { return cmp.Compare(a.Exponent, b.Exponent) })
	}
	return groups
}

// Flat reports whether the figure is flat in all models, and counted: it then needs no line
// of its own.
func (g *Grown) Flat() bool {
	grows := func(m results.Growth) bool { return m.Class != growth.Flat }
	return g.Figure.Counted() && !slices.ContainsFunc(g.Models, grows)
}

// hides reports whether rows returned of the same operation grow as g says and rows examined do not.
func (g *Grown) hides(all []Grown) bool {
	if g.Figure != results.Rows {
		return false
	}
	for i := range all {
		if o := &all[i]; o.Phase == g.Phase && o.Op == g.Op && o.Figure == results.Examined {
			return !o.Flat() || len(o.Models) < len(g.Models)
		}
	}
	return false
}

// flatName names a figure that is flat in all models.
func (g *Grown) flatName() string {
	switch g.Figure {
	case results.Examined:
		return g.Op + " rows examined"
	case results.Rows:
		return g.Op + " rows returned"
	}
	return g.Op + " " + string(g.Figure)
}

// GrowthTable is how the figures of one phase grow.
type GrowthTable struct {
	Phase string // "" for the forecast
	Rows  []Grown
	// Flat are counted figures that are flat in all models: "list calls". Rows returned are not
	// among them if rows examined are not flat, or not known.
	Flat []string
}

// GrowthTables are the tables of all measured phases, and the table of the forecast.
func GrowthTables(r *results.Run) []GrowthTable {
	var tables []GrowthTable
	all := grown(trials.Growths(r))
	for _, g := range all {
		at := slices.IndexFunc(tables, func(t GrowthTable) bool { return t.Phase == g.Phase })
		if at < 0 {
			at, tables = len(tables), append(tables, GrowthTable{Phase: g.Phase})
		}
		switch t := &tables[at]; {
		case !g.Flat():
			t.Rows = append(t.Rows, g)
		case !g.hides(all):
			t.Flat = append(t.Flat, g.flatName())
		}
	}
	return tables
}

// Title names the table: the phase, what was swept, and how far.
func (t *GrowthTable) Title(s *results.Sweep) string {
	what := t.Phase + ": cost against " + s.Path
	if t.Phase == "" {
		what = "forecast: largest partition against " + s.Path
	}
	if n := len(s.Points); n > 0 {
		what += fmt.Sprintf(", %s to %s in %d points", s.Points[0].Value, s.Points[n-1].Value, n)
	}
	return what
}

// GrowthLegend explains the numbers behind the classes.
const GrowthLegend = "exponent of the size with its 95% interval: 0 is the same at every size, 1 is twice for twice the size; " +
	"cannot tell: the points leave several answers; more points, over a wider range, and trials tell more"

var growthHead = []string{
	"model", "engine", "phase", "op", "figure", "class", "exponent", "low", "high", "point", "size", "value",
}

// WriteGrowthCSV writes how cost grows as CSV (RFC 4180): a row for each figure at each point. Times are
// nanoseconds. A run without a sweep has a head only.
func WriteGrowthCSV(w io.Writer, r *results.Run) error {
	out := csv.NewWriter(w) // keeps the first error
	_ = out.Write(growthHead)
	bound := func(v *float64) string {
		if v == nil {
			return ""
		}
		return float(*v)
	}
	for _, g := range trials.Growths(r) {
		for _, p := range g.Points {
			_ = out.Write([]string{
				field(g.Model), field(g.Engine), field(g.Phase), field(g.Op), string(g.Figure), string(g.Class),
				float(g.Exponent), bound(g.Low), bound(g.High), field(p.Point), float(p.Size), float(p.Value),
			})
		}
	}
	if out.Flush(); out.Error() != nil {
		return fmt.Errorf("write CSV: %w", out.Error())
	}
	return nil
}
