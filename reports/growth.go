package reports

import (
	"cmp"
	"fmt"
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

// growth are how the metrics grow over a sweep: what grows, and for each phase the values at each point.
func (v *run) growth() []document.Section {
	curves := trials.Growths(v.Run)
	verdict := document.Section{ID: "verdict"}
	verdict.Say(document.Strong, "", v.grown(curves))
	// A time may vary although what the operation does is the same at every size.
	matter := slices.DeleteFunc(slices.Clone(curves), func(g results.Growth) bool {
		return !g.Figure.Counted() && !slices.ContainsFunc(curves, func(o results.Growth) bool {
			return o.Phase == g.Phase && o.Op == g.Op && o.Figure.Counted() && o.Class != growth.Flat
		})
	})
	unclear := slices.DeleteFunc(slices.Clone(matter), func(g results.Growth) bool { return g.Class != growth.Unclear })
	if len(unclear) > 0 {
		verdict.Say(document.Plain, "Inconclusive", fmt.Sprintf(
			"the growth of %d of %d metrics; add points over a wider range, then trials", len(unclear), len(matter)))
	}
	all := []document.Section{verdict}
	for _, of := range results.Grouped(curves, func(g results.Growth) string { return g.Phase }) {
		all = append(all, v.grownSection(of))
	}
	all[len(all)-1].Note(document.Faint, "", "grows: no = 10 times the size costs at most a quarter more; linear = 10 "+
		"times as much. 10 times the size costs 10^exponent times as much, with the 95% interval")
	return all
}

// grownMetrics are the metrics with their headings. Counters are first, since they do not depend on the machine.
var grownMetrics = []struct {
	of      results.Figure
	heading string
}{
	{results.Examined, "rows scanned per operation"},
	{results.Rows, "rows returned and written per operation"},
	{results.Requests, "requests per operation"},
	{results.Bytes, "KB read and written per operation"},
	{results.P50, "p50, ms"},
	{results.PartitionSize, "largest partition, KB"},
}

// grownSection has the values of the metrics of a phase at each point, the least exponent of each metric first, with a
// chart of each operation. Counters that are the same at every size in all models are in a note.
func (v *run) grownSection(curves []results.Growth) document.Section {
	what := curves[0].Phase + ": cost"
	if curves[0].Phase == "" {
		what = "forecast: largest partition"
	}
	points := v.Sweep.Points
	first, last := points[0].Value, points[len(points)-1].Value
	columns := []document.Column{{Left: true}, {Left: true}}
	for k, p := range points {
		rank := len(points) - k
		if k == 0 || k == len(points)-1 { // they stay
			rank = 0
		}
		columns = append(columns, document.Column{Title: p.Value, Rank: rank})
	}
	s := document.Section{
		ID: "growth", Title: "Growth",
		Lead: fmt.Sprintf("%s against %s, %s to %s in %d points", what, v.Sweep.Path, first, last, len(points)),
		Table: &document.Table{Columns: append(columns, document.Column{Title: "grows", Left: true},
			document.Column{Title: "exponent", Rank: len(points) + 1})},
	}
	var flat, emulated []string
	drawn := map[string]bool{} // operations that have a chart
	for _, metric := range grownMetrics {
		of := slices.DeleteFunc(slices.Clone(curves), func(g results.Growth) bool { return g.Figure != metric.of })
		for _, models := range results.Grouped(of, func(g results.Growth) string { return g.Op }) {
			op := models[0].Op
			grows := func(g results.Growth) bool { return g.Class != growth.Flat }
			if metric.of.Counted() && !slices.ContainsFunc(models, grows) {
				scanned := slices.DeleteFunc(slices.Clone(curves), func(g results.Growth) bool {
					return g.Op != op || g.Figure != results.Examined
				})
				// Rows returned say nothing if those scanned grow, or if only some models report those.
				if n := len(scanned); metric.of != results.Rows || n == 0 ||
					n == len(models) && !slices.ContainsFunc(scanned, grows) {
					flat = append(flat, op+" "+metric.of.Name())
				}
				continue
			}
			slices.SortStableFunc(models, func(a, b results.Growth) int { return cmp.Compare(a.Exponent, b.Exponent) })
			for i := range models {
				s.Table.Add(metric.heading, v.grownRow(&models[i])...)
				if said := v.fallback(&models[i]); said != "" && !slices.Contains(emulated, said) {
					emulated = append(emulated, said)
				}
			}
			some := func(g results.Growth) bool {
				return slices.ContainsFunc(g.Points, func(p growth.Point) bool { return p.Value > 0 })
			}
			if !drawn[op] && slices.ContainsFunc(models, some) {
				s.Charts, drawn[op] = append(s.Charts, v.growthChart(op+", "+metric.heading, models)), true
			}
		}
	}
	s.Note(document.Plain, "The same at every size", strings.Join(flat, ", "))
	s.Note(document.Plain, "fallback pattern", strings.Join(emulated, "; "))
	return s
}

// grownRow are the cells of a metric of a model: the values at the points in the unit of the heading, and how it grows.
func (v *run) grownRow(g *results.Growth) []any {
	cells := []any{g.Op, v.names.Part(g.Model, g.Engine)}
	for _, p := range v.Sweep.Points {
		at := slices.IndexFunc(g.Points, func(o growth.Point) bool { return o.Name == p.Value })
		switch {
		case at < 0:
			cells = append(cells, "-")
		case !g.Figure.Counted():
			cells = append(cells, results.MS(g.Points[at].Value))
		case g.Figure == results.Bytes || g.Figure == results.PartitionSize:
			cells = append(cells, ranking.KB(g.Points[at].Value))
		default:
			cells = append(cells, words.Amount(g.Points[at].Value))
		}
	}
	text := func(x float64) string { // adding 0 makes 0 of -0
		return strconv.FormatFloat(math.Round(100*x)/100+0, 'f', 2, 64)
	}
	exponent := text(g.Exponent)
	if g.Low != nil && g.High != nil {
		exponent += " (" + text(*g.Low) + " to " + text(*g.High) + ")"
	}
	class := document.Cell{Text: grows(g)}
	if g.Class == growth.Unclear {
		class.Style = document.Faint
	}
	return append(cells, class, exponent)
}

// fallback names the operation of a model if a fallback pattern ran; else it is "".
func (v *run) fallback(g *results.Growth) string {
	for c := range v.All {
		if o := c.Ops[g.Op]; c.Model == g.Model && c.Engine == g.Engine && c.Phase == g.Phase && o.Fallback != "" {
			return fmt.Sprintf("%s of %s (%s)", g.Op, v.names.Part(g.Model, g.Engine), o.Fallback)
		}
	}
	return ""
}

// grows says how a metric grows, in a word or two.
func grows(g *results.Growth) string {
	if g.Class == growth.FlatFrom {
		return "not from " + words.Amount(g.From) + " on"
	}
	return cmp.Or(map[growth.Class]string{
		growth.Falling: "falls", growth.Flat: "no", growth.Logarithmic: "log", growth.Worse: "above linear",
		growth.Unclear: "inconclusive",
	}[g.Class], string(g.Class))
}

// rising reports whether a class says that a metric grows. The larger the number, the more.
func rising(g results.Growth) int {
	return slices.Index([]growth.Class{growth.Logarithmic, growth.Root, growth.Linear, growth.Worse}, g.Class)
}

// grown says which operations of which models grow, each by its worst class.
func (v *run) grown(curves []results.Growth) string {
	name := func(g results.Growth) string { return v.names.Part(g.Model, g.Engine) }
	rise := slices.DeleteFunc(slices.Clone(curves), func(g results.Growth) bool { return rising(g) < 0 })
	var parts []string
	for _, same := range results.Grouped(rise, func(g results.Growth) string { return g.Op }) {
		var of []string
		for _, metrics := range results.Grouped(same, name) {
			worst := slices.MaxFunc(metrics, func(a, b results.Growth) int { return rising(a) - rising(b) })
			of = append(of, name(worst)+" ("+grows(&worst)+")")
		}
		op := same[0].Op
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

// growthChart draws a metric of models. Both axes are logarithmic, so that a power is a straight line.
func (v *run) growthChart(title string, models []results.Growth) document.Chart {
	text := models[0].Figure.Text
	ch := document.Chart{
		Title: title, Summary: title + " against " + v.Sweep.Path + ".",
		X: document.Axis{Label: v.Sweep.Path, Log: true, From: math.Inf(1)},
		Y: document.Axis{Log: true, Text: text},
	}
	for _, p := range v.Sweep.Points {
		ch.X.From, ch.X.To = min(ch.X.From, p.Size), max(ch.X.To, p.Size)
		ch.X.Ticks = append(ch.X.Ticks, document.Tick{At: p.Size, Label: p.Value})
	}
	for i := range models {
		l := document.Line{Name: v.names.Part(models[i].Model, models[i].Engine)}
		for _, p := range models[i].Points {
			said := l.Name + " at " + p.Name + ": " + text(p.Value)
			l.Points = append(l.Points, document.Point{X: p.Size, Y: p.Value, Text: said})
		}
		ch.Lines = append(ch.Lines, l)
	}
	return ch
}
