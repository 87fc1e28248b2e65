package reports

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// growth are how the metrics grow over a sweep: what grows, the values at each point, and folded the exponents.
func (v *run) growth() (all []document.Section) {
	tables := grownTables(v.Run)
	verdict := document.Section{ID: "verdict"}
	verdict.Say(document.Strong, "", v.grown(tables))
	if n, of := unclear(tables); n > 0 {
		verdict.Say(document.Plain, "Inconclusive", fmt.Sprintf(
			"the growth of %d of %d metrics; add points over a wider range, then trials", n, of))
	}
	all = append(all, verdict)
	exponents := &document.Table{Columns: []document.Column{
		{Title: "operation", Left: true, Once: true},
		{Title: "model", Left: true},
		{Title: "exponent"},
		{Title: "from"},
		{Title: "to"},
		{Title: "points", Rank: 1},
		{Title: "class", Left: true},
	}}
	for i := range tables {
		all = append(all, v.grownSection(&tables[i]))
		for _, row := range tables[i].rows {
			for k := range row.models {
				exponents.Add(strings.TrimPrefix(row.phase+": "+row.heading, ": "), v.exponentCells(row.op, &row.models[k])...)
			}
		}
	}
	all[len(all)-1].Note(document.Faint, "", growthLegend)
	return append(all, document.Section{
		ID: "exponents", Title: "Growth exponents", Fold: true, Table: exponents,
		Lead: "10 times the size costs 10^exponent times as much: 0 is the same, 1 is 10 times; with the 95% interval",
	})
}

// grownSection has the values of a table's metrics at each point, with charts of its operations and remarks on them.
func (v *run) grownSection(g *grownTable) document.Section {
	what := g.phase + ": cost"
	if g.phase == "" {
		what = "forecast: largest partition"
	}
	s := document.Section{ID: "growth", Title: "Growth", Lead: what + " against " + v.Sweep.Path, Table: v.points()}
	if p := v.Sweep.Points; len(p) > 0 {
		s.Lead += fmt.Sprintf(", %s to %s in %d points", p[0].Value, p[len(p)-1].Value, len(p))
	}
	var remarks [len(remarkLeads)][]string
	drawn := map[string]bool{} // operations that have a chart
	for j := range g.rows {
		row := &g.rows[j]
		var of [len(remarkLeads)][]string
		for k := range row.models {
			m := &row.models[k]
			name := v.names.Part(m.Model, m.Engine)
			for n, text := range v.remarks(m) {
				if text != "" {
					of[n] = append(of[n], name+" ("+text+")")
				}
			}
			cells := []any{row.op, name}
			for _, p := range v.Sweep.Points {
				cells = append(cells, pointText(m, p.Value))
			}
			grows := document.Cell{Text: grows(m)}
			if m.Class == growth.Unclear {
				grows.Style = document.Faint
			}
			s.Table.Add(row.heading, append(cells, grows)...)
		}
		for n := range of {
			if line := row.op + " of " + strings.Join(of[n], ", "); len(of[n]) > 0 && !slices.Contains(remarks[n], line) {
				remarks[n] = append(remarks[n], line)
			}
		}
		if c, ok := v.growthChart(row); ok && !drawn[row.op] {
			s.Charts, drawn[row.op] = append(s.Charts, c), true
		}
	}
	if len(g.flat) > 0 {
		of := ""
		if len(modelsOf(v.Run)) > 1 {
			of = ", for all models"
		}
		s.Note(document.Plain, "", fmt.Sprintf("The same at every size%s: %s.", of, strings.Join(g.flat, ", ")))
	}
	for n, lead := range remarkLeads {
		s.Note(document.Plain, lead, strings.Join(remarks[n], "; "))
	}
	return s
}

// remarkLeads are what a reader must know about operations that grow.
var remarkLeads = [...]string{"fallback pattern", "schema lint reports an error"}

// remarks are those of an operation: the patterns whose fallback ran, and those that schema lint calls an error, with
// the rules.
func (v *run) remarks(g *results.Growth) (all [len(remarkLeads)]string) {
	var rules []string
	for c := range v.All {
		if c.Model != g.Model || c.Engine != g.Engine || c.Phase != g.Phase {
			continue
		}
		o := c.Ops[g.Op]
		all[0] = cmp.Or(all[0], o.Fallback)
		for _, p := range o.Patterns {
			rule := v.explainer.errors[[2]string{c.Model, p.Name}]
			if said := p.Name + ": " + rule; rule != "" && !slices.Contains(rules, said) {
				rules = append(rules, said)
			}
		}
	}
	all[1] = strings.Join(rules, ", ")
	return all
}

// growthLegend explains the column of classes.
const growthLegend = "grows: no = 10 times the size costs at most a quarter more; linear = 10 times as much"

// points is a table without rows that has a column for each point of the sweep.
func (v *run) points() *document.Table {
	t := &document.Table{Columns: []document.Column{{Left: true, Once: true}, {Title: "", Left: true}}}
	for k, p := range v.Sweep.Points {
		rank := len(v.Sweep.Points) - k // the first and the last point stay
		if k == 0 || k == len(v.Sweep.Points)-1 {
			rank = 0
		}
		t.Columns = append(t.Columns, document.Column{Title: p.Value, Rank: rank})
	}
	t.Columns = append(t.Columns, document.Column{Title: "grows", Left: true})
	return t
}

// classes are the classes of growth as a column shows them.
var classes = map[growth.Class]string{
	growth.Falling: "falls", growth.Flat: "no", growth.Logarithmic: "log", growth.Worse: "above linear",
	growth.Unclear: "inconclusive",
}

// grows says how a metric grows, in a word or two.
func grows(g *results.Growth) string {
	if g.Class == growth.FlatFrom {
		return "not from " + words.Amount(g.From) + " on"
	}
	return cmp.Or(classes[g.Class], string(g.Class))
}

// rising reports whether a class says that a metric grows. The larger the number, the more.
func rising(c growth.Class) int {
	return slices.Index([]growth.Class{growth.Logarithmic, growth.Root, growth.Linear, growth.Worse}, c)
}

// grown says which operations of which models grow, each by its worst class.
func (v *run) grown(tables []grownTable) string {
	type who struct {
		op, name string
		class    growth.Class
	}
	var all []who
	for i := range tables {
		for _, row := range tables[i].rows {
			for _, m := range row.models {
				if rising(m.Class) >= 0 {
					all = append(all, who{row.op, v.names.Part(m.Model, m.Engine), m.Class})
				}
			}
		}
	}
	var parts []string
	for _, same := range results.Grouped(all, func(w who) string { return w.op }) {
		var of []string
		for _, metrics := range results.Grouped(same, func(w who) string { return w.name }) {
			w := slices.MaxFunc(metrics, func(a, b who) int { return rising(a.class) - rising(b.class) })
			of = append(of, w.name+" ("+cmp.Or(classes[w.class], string(w.class))+")")
		}
		op := same[0].op
		if op == results.PartitionOp {
			op = "largest partition"
		}
		parts = append(parts, op+" of "+strings.Join(of, ", "))
	}
	if len(parts) == 0 {
		return "Nothing grows with " + v.Sweep.Path + " for certain."
	}
	return "Grows with " + v.Sweep.Path + ": " + strings.Join(parts, "; ") + "."
}

// unclear is of how many metrics the growth is inconclusive, and how many there are. A time of an operation
// whose counters are the same at every size is not among them.
func unclear(tables []grownTable) (n, of int) {
	for i := range tables {
		rows := tables[i].rows
		for j := range rows {
			if !rows[j].figure.Counted() && !slices.ContainsFunc(rows, func(o grown) bool {
				return o.op == rows[j].op && o.figure.Counted()
			}) {
				continue
			}
			for _, m := range rows[j].models {
				if of++; m.Class == growth.Unclear {
					n++
				}
			}
		}
	}
	return n, of
}

// pointText is the value at a point in the unit of the heading.
func pointText(g *results.Growth, point string) string {
	at := slices.IndexFunc(g.Points, func(p growth.Point) bool { return p.Name == point })
	if at < 0 {
		return "-"
	}
	switch value := g.Points[at].Value; {
	case !g.Figure.Counted():
		return results.MS(value)
	case g.Figure == results.Bytes || g.Figure == results.PartitionSize:
		return ranking.KB(value)
	default:
		return words.Amount(value)
	}
}

func (v *run) exponentCells(op string, m *results.Growth) []any {
	exponent := func(x float64) string { // adding 0 makes 0 of -0
		return strconv.FormatFloat(math.Round(100*x)/100+0, 'f', 2, 64)
	}
	low, high := "-", "-"
	if m.Low != nil && m.High != nil {
		low, high = exponent(*m.Low), exponent(*m.High)
	}
	return []any{op, v.names.Part(m.Model, m.Engine), exponent(m.Exponent), low, high, len(m.Points), grows(m)}
}

// growthChart draws a metric. Both axes are logarithmic, so that a power is a straight line. It is false if
// there is nothing to draw.
func (v *run) growthChart(row *grown) (document.Chart, bool) {
	points := v.Sweep.Points
	if len(points) == 0 || points[len(points)-1].Size <= points[0].Size {
		return document.Chart{}, false
	}
	first, last := points[0].Size, points[len(points)-1].Size
	ch := document.Chart{
		Title: row.op + ", " + row.heading,
		X:     document.Axis{Label: v.Sweep.Path, Scale: document.Log, From: first, To: last},
		Y:     document.Axis{Scale: document.Log, Text: row.figure.Text},
	}
	for _, p := range points {
		ch.X.Ticks = append(ch.X.Ticks, document.Tick{At: p.Size, Label: p.Value})
	}
	var said []string
	some := false
	for i := range row.models {
		m := &row.models[i]
		l := document.Line{Name: v.names.Part(m.Model, m.Engine)}
		for _, p := range m.Points {
			at := document.Point{X: p.Size, Y: p.Value, Text: l.Name + " at " + p.Name + ": " + row.figure.Text(p.Value)}
			if p.Value <= 0 || p.Size < first || p.Size > last {
				at.Y = math.NaN()
			}
			l.Points, some = append(l.Points, at), some || p.Value > 0
		}
		ch.Lines = append(ch.Lines, l)
		said = append(said, l.Name+" "+grows(m))
	}
	ch.Summary = fmt.Sprintf("%s against %s: %s.", ch.Title, v.Sweep.Path, strings.Join(said, ", "))
	return ch, some
}

// grown is how one metric of one operation grows in all models, the least exponent first.
type grown struct {
	phase, op string
	figure    results.Figure
	models    []results.Growth
	place     int    // of the metric among the others
	heading   string // above its rows
}

// isFlat reports whether the metric is flat in all models, and counted: it then needs no line of its own.
func (g *grown) isFlat() bool {
	grows := func(m results.Growth) bool { return m.Class != growth.Flat }
	return g.figure.Counted() && !slices.ContainsFunc(g.models, grows)
}

// hides reports whether rows returned of the same operation grow as g says and rows scanned do not.
func (g *grown) hides(all []grown) bool {
	if g.figure != results.Rows {
		return false
	}
	for i := range all {
		if o := &all[i]; o.phase == g.phase && o.op == g.op && o.figure == results.Examined {
			return !o.isFlat() || len(o.models) < len(g.models)
		}
	}
	return false
}

// headings are above the rows of each metric. Counters are first, since they do not depend on the machine.
var headings = []struct {
	of   results.Figure
	text string
}{
	{results.Examined, "rows scanned per operation"},
	{results.Rows, "rows returned and written per operation"},
	{results.Requests, "requests per operation"},
	{results.Bytes, "KB read and written per operation"},
	{results.P50, "p50, ms"},
	{results.PartitionSize, "largest partition, KB"},
}

// grownTable is how the metrics of one phase grow.
type grownTable struct {
	phase string // "" for the forecast
	rows  []grown
	// flat are counters that are the same at every size in all models: "list requests". Rows returned are
	// not among them if rows scanned grow, or are not known.
	flat []string
}

// grownTables are the tables of all measured phases, and the table of the forecast. Counters are first.
func grownTables(r *results.Run) []grownTable {
	var tables []grownTable
	var all []grown
	metric := func(g results.Growth) [3]string { return [3]string{g.Phase, g.Op, string(g.Figure)} }
	for _, of := range results.Grouped(trials.Growths(r), metric) {
		slices.SortStableFunc(of, func(a, b results.Growth) int { return cmp.Compare(a.Exponent, b.Exponent) })
		g := grown{of[0].Phase, of[0].Op, of[0].Figure, of, len(headings), string(of[0].Figure)}
		for at, h := range headings {
			if h.of == g.figure {
				g.place, g.heading = at, h.text
			}
		}
		all = append(all, g)
	}
	for _, of := range results.Grouped(all, func(g grown) string { return g.phase }) {
		t := grownTable{phase: of[0].phase}
		for _, g := range of {
			switch {
			case !g.isFlat():
				t.rows = append(t.rows, g)
			case !g.hides(all):
				t.flat = append(t.flat, g.op+" "+g.figure.Name())
			}
		}
		slices.SortStableFunc(t.rows, func(a, b grown) int { return a.place - b.place })
		tables = append(tables, t)
	}
	return tables
}

// WriteGrowthCSV writes how cost grows as CSV (RFC 4180): a row for each figure at each point. Times are
// nanoseconds. A run without a sweep has a head only.
func WriteGrowthCSV(w io.Writer, r *results.Run) error {
	out := document.NewCSV(w,
		"model", "engine", "phase", "op", "figure", "class", "exponent", "low", "high", "point", "size", "value")
	for _, g := range trials.Growths(r) {
		for _, p := range g.Points {
			out.Line(g.Model, g.Engine, g.Phase, g.Op, g.Figure, g.Class, g.Exponent, g.Low, g.High, p.Name, p.Size, p.Value)
		}
	}
	return out.End()
}
