package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// verdict is the verdict on each load of a phase: that of each engine.
func (v *run) verdict(loads []*ranking.Load) document.Section {
	verdict := document.Section{ID: "verdict"}
	for _, l := range loads {
		said := l.Verdict()
		if len(said) > 0 {
			said[0].Style = document.Strong
		}
		if len(said) > 0 && len(loads) > 1 && l.Models[0].Name != l.Engine {
			said[0].Text = l.Engine + ": " + said[0].Text
		}
		verdict.Says = append(verdict.Says, said...)
	}
	if len(loads) > 1 {
		verdict.Say(document.Plain, "", "Do not compare the engines: their acknowledged writes survive different failures.")
	}
	v.target(&verdict)
	return verdict
}

// maxRate is the title of a column that only runs with the phase throughput have.
const maxRate = "max\nops/s"

// wholeLoad is a row for each model.
func (v *run) wholeLoad(loads []*ranking.Load) document.Section {
	unit := "mail"
	if e := v.loaded(); e != nil {
		unit = cmp.Or(e.Unit, unit)
	}
	t := &document.Table{Columns: slices.Concat([]document.Column{
		{Title: "", Left: true},
		{Group: "latency, ms", Title: "typical", Unit: "ms", Help: "p50s of operations, weighted by % of load"},
		{Group: "latency, ms", Title: "mean", Unit: "ms", Rank: 2, Help: "mean of all operations"},
		{Group: "latency, ms", Title: "p99", Unit: "ms", Help: "99th percentile of all operations"},
		{
			Page: true, Left: true, Title: "latency", Unit: "ms",
			Help: "box the middle half of all operations, line to p99, dot typical, diamond mean",
		},
	}, perOperation(0, 3, 4, 5), []document.Column{
		{Title: "disk KB\n/" + unit, Unit: "KB", Rank: 6, Help: "on disk after compaction, without the log"},
		{Title: maxRate, Rank: 7, Help: "operations per second of the phase throughput: each client starts its next operation immediately"},
	})}
	throughput := false
	for _, l := range loads {
		for k, m := range l.Models {
			row := t.Add("", m.Name)
			if len(loads) > 1 && m.Name != l.Engine {
				row.Group = l.Engine
			}
			if !m.Ranked() {
				row.Cells[0].Style, row.Cells[0].Help = document.Warn, m.NotRanked
			}
			for _, x := range ranking.Metrics {
				c := document.Cell{Text: x.Number(m.Value(x))}
				if leads := l.Leading(x); len(l.Models) > 1 && leads[k] && m.Value(x) < heats[0]*l.Best(x) {
					c.Style = document.Best
				}
				row.Cells = append(row.Cells, c)
				if x == ranking.P99 {
					row.Cells = append(row.Cells, document.Cell{Range: rangeOf(l, m)})
				}
			}
			throughput = throughput || !math.IsNaN(m.Value(ranking.Throughput))
		}
	}
	t = t.With(func(c *document.Column) bool { return throughput || c.Title != maxRate })
	s := document.Section{ID: "load", Title: loads[0].Title(), Table: t}
	notes := "typical: p50s weighted by % of load"
	note := func(is bool, text string) {
		if is && text != "" {
			notes += "; " + text
		}
	}
	ranked := slices.ContainsFunc(loads, func(l *ranking.Load) bool { return l.First > 0 && len(l.Models) > 1 })
	note(ranked, fmt.Sprintf("* best or not significantly worse, at most %g× the best", heats[0]))
	note(loads[0].Shared(), fmt.Sprintf("shared load: the %.0f%% all models do", 100*loads[0].Covers))
	note(throughput, "max: no pauses")
	note(t.Has("-"), "- not known")
	s.Note(document.Faint, "", notes)
	return s
}

// perOperation are the columns of what an operation costs the engine, with their ranks.
func perOperation(requests, rows, read, written int) []document.Column {
	return []document.Column{
		{Title: "requests\n/op", Rank: requests, Help: "requests that the driver sent to the engine, per operation"},
		{Title: "rows/op\nscanned", Rank: rows, Help: "rows and index entries that the engine read, per operation"},
		{Group: "KB/op", Title: "read", Unit: "KB", Rank: read, Help: "bytes returned, per operation; 1 KB is 1,000 bytes"},
		{Group: "KB/op", Title: "written", Unit: "KB", Rank: written, Help: "bytes of the values written, per operation"},
	}
}

// rangeOf is the distribution of the whole load's latencies.
func rangeOf(l *ranking.Load, m *ranking.Model) *document.Range {
	r := &document.Range{
		Quarter: l.Quantile(m, 0.25), Typical: m.Value(ranking.Typical), ThreeQuarters: l.Quantile(m, 0.75),
		High: m.Value(ranking.P99), Mean: m.Value(ranking.Mean),
	}
	r.Low = r.Quarter // lower percentiles are of operations that client delay covers nearly whole
	for _, x := range []float64{r.Quarter, r.Typical, r.ThreeQuarters, r.High, r.Mean} {
		if math.IsNaN(x) || math.IsInf(x, 0) || x <= 0 {
			return nil
		}
	}
	return r
}

// percentileOf is a percentile of an operation, with fewer digits if it has too few operations for it.
func percentileOf(row *trials.Row, p float64) document.Cell {
	t := row.Latency[p]
	if t.Enough || math.IsNaN(t.NS) || math.IsInf(t.NS, 0) {
		return document.Cell{Text: results.MS(t.NS)}
	}
	digits := max(0, 1-int(math.Floor(math.Log10(max(t.NS/1e6, 0.1)))))
	return document.Styled(fmt.Sprintf("~%.*f", digits, t.NS/1e6), document.Faint)
}

// slowest is the longest latency of an operation.
func slowest(o *results.Op) float64 { return float64(o.OK().Max) }

// noteTimes adds a note that says what a latency is, and explains marks and cells of percentileOf.
func noteTimes(s *document.Section, l *ranking.Load, why string) {
	note := "ms from scheduled start"
	if l.Cell.Arrivals == "closed" {
		note = "ms from start to end"
	}
	if s.Table.Has("°") {
		note += "; ° like *, returns fewer fields"
	}
	if s.Table.Has("~") {
		note += "; ~ rough: " + why
	}
	if s.Table.Has("-") {
		note += "; - none measured"
	}
	s.Note(document.Faint, "", note)
}

// heats are the ratios to the best from which on a cell has the next of the shades.
var heats = [len(document.Shades)]float64{1.5, 3, 5, 10}

// operations is a row for each operation on each engine, with p50 and p99 of each model.
func (v *run) operations(loads []*ranking.Load) document.Section {
	if len(loads) > 1 && loads[0].Models[0].Name == loads[0].Engine {
		one := *loads[0] // the only model, with columns for each engine, of which none is the best
		one.Models, one.First = nil, 0
		for _, l := range loads {
			m := *l.Models[0]
			m.NotRanked, one.Models = "engines are not ranked", append(one.Models, &m)
		}
		loads = []*ranking.Load{&one}
	}
	if len(loads) == 1 && len(loads[0].Models) == 1 {
		return v.alone(loads[0])
	}
	var all []*ranking.Model
	for _, l := range loads {
		all = append(all, l.Models...)
	}
	models := results.Distinct(all, func(m *ranking.Model) string { return m.Name })
	t := &document.Table{Columns: []document.Column{{Left: true}, {Title: "% of\nload", Rank: len(models)}}}
	shades := fmt.Sprintf("shade: from %g, %g, %g and %g times the best p50 of the row",
		heats[0], heats[1], heats[2], heats[3])
	for k, name := range models {
		t.Columns = append(t.Columns,
			document.Column{Group: name, Title: "p50", Unit: "ms", Help: shades, Rank: k},
			document.Column{Group: name, Title: "p99", Unit: "ms", Rank: len(models) + 1})
	}
	for _, l := range loads {
		engine := l.Engine
		if len(loads) == 1 {
			engine, t.Least = "", 3 // the most frequent, on a first screen that has no room for all
		}
		for _, share := range l.Shares {
			cells := []document.Cell{{Text: share.Op}, {Text: fmt.Sprintf("%.0f", 100*(l.Covers*share.Share))}}
			styles := stylesOf(l, share.Op)
			for _, name := range models {
				p50, p99 := document.Cell{Text: "-"}, document.Cell{Text: "-"} // not on this engine
				if at := slices.IndexFunc(l.Models, func(m *ranking.Model) bool { return m.Name == name }); at >= 0 {
					m := l.Models[at]
					of := m.Ops[share.Op]
					p50, p99 = document.Styled(of.Latency[0.5].String(), styles[m]), percentileOf(of, 0.99)
				}
				cells = append(cells, p50, p99)
			}
			t.Rows = append(t.Rows, document.Row{Group: engine, Cells: cells})
		}
	}
	s := document.Section{ID: "operations", Title: "Operation", Table: t}
	noteTimes(&s, loads[0], fmt.Sprintf("under %d ops, measure longer", results.EnoughFor(0.99)))
	return s
}

// unsupported are the operations that not all models support.
func (v *run) unsupported() document.Section {
	t := &document.Table{Columns: []document.Column{
		{Title: "operation", Left: true}, {Title: "% of load"}, {Title: "not supported by", Left: true},
	}}
	for _, l := range v.loads {
		for _, left := range l.Left {
			if len(left.Lacking) < len(l.Models) || len(l.Models) == 1 {
				percent := "-" // no model executed it
				if of := 100 * left.Share.Share; of > 0 {
					percent = ranking.Number(of)
				}
				t.Add("", left.Op, percent, strings.Join(left.Lacking, ", "))
			}
		}
	}
	return document.Section{ID: "unsupported", Title: "Unsupported operations", Table: t, Fold: true}
}

// stylesOf are the styles of an operation's p50 of each model. The best are the lowest, and those that are neither
// significantly higher nor so much that they are shaded. One is Less if the model's rows have fewer fields in the
// operation than those of another model, so that it has less to do.
func stylesOf(l *ranking.Load, op string) map[*ranking.Model]document.Style {
	leads := l.LeadingOf(true, func(m *ranking.Model) results.Series {
		if p50 := m.Ops[op].Latency[0.5]; p50.Enough {
			return p50.Trials
		}
		return nil
	})
	best := math.Inf(1)
	for k, m := range l.Models {
		if leads[k] {
			best = min(best, m.Ops[op].Latency[0.5].NS)
		}
	}
	omits := func(m *ranking.Model) bool { return m.Ops[op].Sum.Missing != "" }
	whole := slices.ContainsFunc(l.Models, func(m *ranking.Model) bool { return m.Ops[op].Count > 0 && !omits(m) })
	styles := map[*ranking.Model]document.Style{}
	for k, m := range l.Models {
		p50 := m.Ops[op].Latency[0.5]
		for i, from := range heats {
			if p50.Enough && p50.NS/best >= from {
				styles[m] = document.Shades[i]
			}
		}
		switch {
		case !leads[k] || p50.NS >= heats[0]*best:
		case whole && omits(m):
			styles[m] = document.Less
		default:
			styles[m] = document.Best
		}
	}
	return styles
}

// alone is a row for each operation of the only model, with the part of the time that it takes.
func (v *run) alone(l *ranking.Load) document.Section {
	m := l.Models[0]
	t := &document.Table{Columns: slices.Concat([]document.Column{
		{Left: true},
		{Title: "% of\nload"},
		{Title: "% of\ntime", Help: "of the time of all operations together"},
		{Group: "latency, ms", Title: "p50", Unit: "ms"},
		{Group: "latency, ms", Title: "p90", Unit: "ms", Rank: 3},
		{Group: "latency, ms", Title: "p99", Unit: "ms"},
		{Group: "latency, ms", Title: "max", Unit: "ms", Rank: 2},
	}, perOperation(1, 4, 5, 6))}
	ofTime := l.Parts(m)
	for i, s := range l.Shares {
		of := m.Ops[s.Op]
		row := []any{
			s.Op, fmt.Sprintf("%.0f", 100*s.Share), fmt.Sprintf("%.0f", 100*ofTime[i].Share),
			percentileOf(of, 0.5), percentileOf(of, 0.9), percentileOf(of, 0.99),
			results.MS(slices.Max(append(of.Each(slowest).Known(), 0))),
		}
		for _, x := range ranking.Counters {
			row = append(row, x.Number(of.Median(x.Of)))
		}
		t.Add("", row...)
	}
	section := document.Section{ID: "operations", Title: "Operation", Table: t}
	noteTimes(&section, l,
		fmt.Sprintf("under %d operations for p50, %d for p90, %d for p99",
			results.EnoughFor(0.5), results.EnoughFor(0.9), results.EnoughFor(0.99))+": measure longer")
	return section
}
