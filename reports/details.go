package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// details are the folded tables of each phase: all latencies, and what they consist of.
func (v *run) details() (all []document.Section) {
	if v.Sweep != nil { // the growth has the points
		return nil
	}
	groups := Sections(v.Run)
	for i := range groups {
		s := &groups[i]
		if len(s.Ops) == 0 {
			continue
		}
		first := s.Cells[0]
		lead := LoadLine(first) + "; medians of the trials; durability " + first.Durability
		all = append(all, v.latencies(s, lead))
		if first.Measured() && first.Arrivals != "closed" {
			all = append(all, v.times(s))
		}
	}
	return all
}

// each calls do with each operation that a model supports, and its trials put together.
func (v *run) each(s *Section, do func(op, name string, row *trials.Row)) {
	for _, op := range s.Ops {
		for _, cs := range trials.Columns(s.Cells) {
			if row, ok := cs.Row(op); ok && row.Sum.Offered() {
				do(op, v.names.Part(cs[0].Model, cs[0].Engine), &row)
			}
		}
	}
}

// percentile writes a latency in ms, or a dash if there are too few operations.
func percentile(ns float64, enough bool) document.Cell {
	if !enough {
		ns = math.NaN()
	}
	return latencyCell(ns)
}

// at writes the median of a percentile.
func at(row *trials.Row, of func(o *results.Op) *results.Latency, p float64) document.Cell {
	return percentile(row.Median(func(o *results.Op) float64 { return of(o).At(p) }), row.Sum.Enough(p))
}

// The parts of a latency.
func response(o *results.Op) *results.Latency { return &o.Response }
func service(o *results.Op) *results.Latency  { return &o.Service }
func wait(o *results.Op) *results.Latency     { return &o.Wait }

func countCell(n int64) document.Cell { return document.Text(fmt.Sprint(n)) }

// latencies has all percentiles, the outcomes, and remarks on each operation.
func (v *run) latencies(s *Section, lead string) document.Section {
	t := &document.Table{Columns: []document.Column{
		{Title: "model", Left: true},
		{Title: "ok", Help: "operations that succeeded"},
		{Group: "latency, ms", Title: "p50", Unit: "ms"},
		{Group: "latency, ms", Title: "p90", Unit: "ms"},
		{Group: "latency, ms", Title: "p99", Unit: "ms"},
		{Group: "latency, ms", Title: "p99.9", Unit: "ms", Rank: 2},
		{Group: "latency, ms", Title: "max", Unit: "ms", Rank: 1},
		{Title: "p99 of trials", Unit: "ms", Rank: 4},
		{Title: "ops/s", Rank: 3},
		{Title: "failed"},
		{Title: "unknown"},
	}}
	several := len(trials.Columns(s.Cells)) < len(s.Cells)
	v.each(s, func(op, name string, row *trials.Row) {
		spread, ok := "-", (*results.Op).OK
		values := row.Values(func(o *results.Op) float64 { return o.OK().At(0.99) })
		if len(values) > 1 && row.Sum.Enough(0.99) {
			spread = ranking.MS(slices.Min(values)) + " to " + ranking.MS(slices.Max(values))
		}
		t.Rows = append(t.Rows, document.Row{
			Group: op, Remark: strings.Join(remarks(row), "; "),
			Cells: []document.Cell{
				document.Text(name), countCell(row.Sum.Count), at(row, ok, 0.5), at(row, ok, 0.9),
				at(row, ok, 0.99), at(row, ok, 0.999),
				latencyCell(row.Median(func(o *results.Op) float64 { return o.OK().At(1) })), document.Text(spread),
				document.Text(words.Amount(results.Median(row.Values(func(o *results.Op) float64 { return o.Rate })))),
				countCell(row.Sum.Failed), countCell(row.Sum.Unknown),
			},
		})
	})
	if !s.Troubled() {
		dropColumn(t, len(t.Columns)-1)
		dropColumn(t, len(t.Columns)-1)
	}
	if !several {
		dropColumn(t, slices.IndexFunc(t.Columns, func(c document.Column) bool { return c.Title == "p99 of trials" }))
	}
	where := s.Cells[0].Where()
	section := document.Section{ID: "latency-" + where, Title: where + ": latency", Lead: lead, Table: t, Fold: true}
	if text := TooFew([]Section{*s}); text != "" {
		section.Note(document.Faint, "-", text)
	}
	for _, c := range s.Cells {
		if gap := LongestGap(c); gap != "" {
			section.Note(document.Warn, v.names.Of(c), gap)
		}
	}
	return section
}

// times has what a latency consists of: the response time and its parts.
func (v *run) times(s *Section) document.Section {
	column := func(group, title string, rank int) document.Column {
		return document.Column{Group: group, Title: title, Unit: "ms", Rank: rank}
	}
	t := &document.Table{Columns: []document.Column{
		{Title: "model", Left: true},
		column("response, ms", "p50", 3), column("response, ms", "p99", 0),
		column("service, ms", "p50", 0), column("service, ms", "p99", 0),
		column("wait, ms", "p50", 2), column("wait, ms", "p99", 0),
		{Title: "client\noverhead, ms", Unit: "ms", Rank: 1, Help: "time of mailbench and the model over an engine that does nothing"},
	}}
	v.each(s, func(op, name string, row *trials.Row) {
		own := document.Text("-")
		if ns, ok := FloorOf(v.Run, row.Cell.Model, op); ok {
			own = latencyCell(ns)
		}
		t.Rows = append(t.Rows, document.Row{Group: op, Cells: []document.Cell{
			document.Text(name),
			at(row, response, 0.5), at(row, response, 0.99), at(row, service, 0.5), at(row, service, 0.99),
			at(row, wait, 0.5), at(row, wait, 0.99), own,
		}})
	})
	where := s.Cells[0].Where()
	return document.Section{
		ID: "times-" + where, Title: where + ": response, service and wait time", Table: t, Fold: true,
		Lead: "response: scheduled start to end; service: call to end; wait: scheduled start to call",
	}
}

// costs has what each operation costs the engine.
func (v *run) costs() document.Section {
	s := document.Section{
		ID: "cost", Title: "Cost of each operation", Fold: true,
		Lead: "per operation, the median of the trials",
		Table: &document.Table{Columns: []document.Column{
			{Title: "model", Left: true},
			{Title: "requests"},
			{Group: "rows", Title: "scanned"},
			{Group: "rows", Title: "returned"},
			{Group: "rows", Title: "written", Rank: 2},
			{Title: "read\namplification", Rank: 1, Help: "rows scanned ÷ rows returned"},
			{Title: "KB\nread", Unit: "KB"},
			{Title: "KB\nwritten", Unit: "KB"},
		}},
	}
	if v.Sweep != nil {
		return document.Section{}
	}
	groups := Sections(v.Run)
	number := func(x float64) document.Cell { return document.Text(ranking.Number(x)) }
	size := func(x float64) document.Cell { return document.Text(ranking.KB(x)) }
	for i := range groups {
		if !groups[i].Cells[0].Measured() {
			continue
		}
		v.each(&groups[i], func(op, name string, row *trials.Row) {
			if row.Sum.Count == 0 {
				return
			}
			st := row.Cost()
			scanned, amplified := document.Text("-"), document.Text("-")
			if st.RowsExamined != nil {
				if scanned = number(*st.RowsExamined); st.Traced > 0 {
					scanned.Text = "~" + scanned.Text
				}
				if st.RowsRead > 0 {
					amplified = number(*st.RowsExamined / st.RowsRead)
				}
			}
			group := op
			if len(groups) > 1 && groups[i].Cells[0].Where() != groups[0].Cells[0].Where() {
				group += ", " + groups[i].Cells[0].Where()
			}
			s.Table.Rows = append(s.Table.Rows, document.Row{Group: group, Cells: []document.Cell{
				document.Text(name), number(st.Calls), scanned, number(st.RowsRead), number(st.RowsWritten), amplified,
				size(st.BytesRead), size(st.BytesWritten),
			}})
		})
	}
	if note := ExaminedNote(groups); note != "" {
		s.Note(document.Faint, "rows scanned", note)
	}
	return s
}

// attained are the states of a threshold in words.
var attained = map[results.Attainment]string{
	results.Met: "met", results.Missed: "MISSED", results.Unclear: "INCONCLUSIVE", results.NoSuch: "not supported",
}

// missed are the thresholds that were not met, with bound and value, how many were, and whether one is inconclusive.
func (v *run) missed() (missed []string, met int, unclear bool) {
	type fault struct{ verdict, who, shown string }
	var faults []fault
	all := map[string]int{}
	for i := range v.Cells {
		c := &v.Cells[i]
		where := v.names.Part(c.Model, c.Engine) + ", phase " + c.Where()
		all[where]++
		for _, a := range c.Objectives {
			if a.Verdict == results.Met {
				met++
			}
			if a.Verdict != results.Missed && a.Verdict != results.Unclear {
				continue
			}
			unclear = unclear || a.Verdict == results.Unclear
			f := fault{fmt.Sprintf("%s: %s %s", attained[a.Verdict], a.Objective, a.Bound), where, a.Shown}
			if a.Verdict == results.Unclear && a.Text != "" {
				f.shown = strings.TrimSpace(a.Shown + " (" + a.Text + ")")
			}
			faults = append(faults, f)
		}
	}
	for _, same := range results.Grouped(faults, func(f fault) [2]string { return [2]string{f.verdict, f.who} }) {
		s := fmt.Sprintf("%s: %s: %s", same[0].verdict, same[0].who, same[0].shown)
		if of := all[same[0].who]; of > 1 {
			s += fmt.Sprintf("; in %d of %d trials", len(same), of)
		}
		missed = append(missed, s)
	}
	return missed, met, unclear
}

// thresholds are those that the workload expects.
func (v *run) thresholds() document.Section {
	t := &document.Table{Columns: []document.Column{
		{Title: "model", Left: true}, {Title: "phase", Left: true, Rank: 1}, {Title: "value"}, {Title: "", Left: true},
	}}
	for i := range v.Cells {
		c := &v.Cells[i]
		for _, a := range c.Objectives {
			style := document.Plain
			if a.Verdict == results.Missed || a.Verdict == results.Unclear {
				style = document.Bad
			}
			row := document.Row{Group: a.Objective + " " + a.Bound, Cells: []document.Cell{
				document.Text(v.names.Of(c)), document.Text(c.Where()), document.Text(a.Shown),
				document.Styled(attained[a.Verdict], style),
			}}
			if a.Verdict == results.Unclear {
				row.Remark = a.Text
			}
			t.Rows = append(t.Rows, row)
		}
	}
	slices.SortStableFunc(t.Rows, func(a, b document.Row) int { return strings.Compare(a.Group, b.Group) })
	return document.Section{
		ID: "thresholds", Title: "Thresholds", Table: t, Fold: true,
		Lead: "of all scheduled operations; a dropped one never ends",
	}
}
