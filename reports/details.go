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

// details are the folded tables of each phase: all latencies and what they consist of, streams, and access patterns.
func (v *run) details() []document.Section {
	var latencies, streams, patterns []document.Section
	for _, cells := range v.groups {
		streams = append(streams, v.streams(cells)...)
		if v.Sweep != nil { // the growth has the points
			continue
		}
		latencies = append(latencies, v.latencies(cells))
		if cells[0].Measured() && cells[0].Arrivals != "closed" {
			latencies = append(latencies, v.times(cells))
		}
		if cells[0].Measured() {
			patterns = append(patterns, v.patterns(cells))
		}
	}
	return slices.Concat(latencies, streams, patterns)
}

// each calls do with each operation that a model supports, and its trials put together.
func (v *run) each(cells []*results.Cell, do func(op, name string, row *trials.Row)) {
	for _, op := range results.OpsOf(cells) {
		for _, cs := range trials.Columns(cells) {
			if row := cs.Row(op); row.Trials > 0 && row.Sum.Offered() {
				do(op, v.names.Part(cs[0].Model, cs[0].Engine), row)
			}
		}
	}
}

// latencies has all percentiles, the outcomes, and remarks on each operation.
func (v *run) latencies(cells []*results.Cell) document.Section {
	t := &document.Table{Columns: []document.Column{
		{Title: "model", Left: true},
		{Title: "ok", Help: "operations that succeeded"},
		{Group: "latency, ms", Title: "p50", Unit: "ms"},
		{Group: "latency, ms", Title: "p90", Unit: "ms"},
		{Group: "latency, ms", Title: "p99", Unit: "ms"},
		{Group: "latency, ms", Title: "p99.9", Unit: "ms", Rank: 2},
		{Group: "latency, ms", Title: "max", Unit: "ms", Rank: 1},
		{Title: "ops/s", Rank: 3},
	}}
	v.each(cells, func(op, name string, row *trials.Row) {
		rate := row.Median(func(o *results.Op) float64 { return o.Rate })
		if math.IsNaN(rate) { // none succeeded
			rate = 0
		}
		t.Add(op, name, row.Sum.Count, row.Latency[0.5], row.Latency[0.9], row.Latency[0.99], row.Latency[0.999],
			results.MS(row.Median(slowest)), words.Amount(rate),
		).Remark = strings.Join(remarks(row), "; ")
	})
	where := cells[0].Where()
	section := document.Section{
		ID: "latency-" + where, Title: where + ": latency", Table: t, Fold: true,
		Lead: LoadLine(cells[0]) + "; medians of the trials; durability " + cells[0].Durability,
	}
	if t.Has("-") {
		section.Note(document.Faint, "-", fmt.Sprintf(
			"too few operations, in trials that count: p50 takes %d, p90 %d, p99 %d, p99.9 %d",
			results.EnoughFor(0.5), results.EnoughFor(0.9), results.EnoughFor(0.99), results.EnoughFor(0.999)))
	}
	for _, c := range cells {
		if gap := LongestGap(c); gap != "" {
			section.Note(document.Warn, v.names.Of(c.Key), gap)
		}
	}
	return section
}

// times has what a latency consists of: the response time and its parts.
func (v *run) times(cells []*results.Cell) document.Section {
	parts := func(o *results.Op) [3]*results.Latency { return [3]*results.Latency{&o.Response, &o.Service, &o.Wait} }
	t := &document.Table{Columns: []document.Column{
		{Title: "model", Left: true},
		{Group: "response, ms", Title: "p50", Unit: "ms", Rank: 2},
		{Group: "response, ms", Title: "p99", Unit: "ms"},
		{Group: "service, ms", Title: "p50", Unit: "ms"},
		{Group: "service, ms", Title: "p99", Unit: "ms"},
		{Group: "wait, ms", Title: "p50", Unit: "ms", Rank: 1},
		{Group: "wait, ms", Title: "p99", Unit: "ms"},
	}}
	v.each(cells, func(op, name string, row *trials.Row) {
		values := []any{name}
		for k := range t.Columns[1:] {
			at := []float64{0.5, 0.99}[k%2]
			ns := row.Median(func(o *results.Op) float64 { return parts(o)[k/2].At(at) })
			values = append(values, trials.Time{NS: ns, Enough: row.Count >= results.EnoughFor(at)})
		}
		t.Add(op, values...)
	})
	where := cells[0].Where()
	return document.Section{
		ID: "times-" + where, Title: where + ": response, service and wait time", Table: t, Fold: true,
		Lead: "response: scheduled start to end; service: call to end; wait: scheduled start to call",
	}
}

// costs has what each operation costs the engine.
func (v *run) costs() document.Section {
	s := document.Section{
		ID: "cost", Title: "Cost of each operation", Fold: true, Open: true,
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
	for _, cells := range v.groups {
		if v.Sweep != nil || !cells[0].Measured() {
			continue
		}
		v.each(cells, func(op, name string, row *trials.Row) {
			if row.Sum.Count == 0 {
				return
			}
			if where := cells[0].Where(); where != v.groups[0][0].Where() {
				op += ", " + where
			}
			st, scanned, amplified := row.Cost(), "-", "-"
			if st.RowsScanned != nil {
				scanned = ranking.Number(*st.RowsScanned)
				if st.Traced > 0 {
					scanned = "~" + scanned
				}
				if st.RowsRead > 0 {
					amplified = ranking.Number(*st.RowsScanned / st.RowsRead)
				}
			}
			s.Table.Add(op, name, ranking.Number(st.Requests), scanned, ranking.Number(st.RowsRead),
				ranking.Number(st.RowsWritten), amplified, ranking.KB(st.BytesRead), ranking.KB(st.BytesWritten))
		})
	}
	if s.Table.Has("~") {
		s.Note(document.Faint, "", "~ mean of operations that were traced after the phase")
	}
	if s.Table.Has("-") {
		s.Note(document.Faint, "", "- not reported by the engine, or no rows returned")
	}
	return s
}

// attained are the states of a threshold in words.
var attained = map[results.Attainment]string{
	results.Met: "met", results.Missed: "MISSED", results.Unclear: "INCONCLUSIVE", results.NoSuch: "not supported",
}

// missed are the thresholds that were not met, with bound and value, and how many were.
func (v *run) missed() (missed []string, met int) {
	type fault struct{ what, shown string }
	var faults []fault
	for c := range v.All {
		for _, a := range c.Objectives {
			f := fault{what: fmt.Sprintf("%s: %s %s: %s, phase %s",
				attained[a.Verdict], a.Objective, a.Bound, v.names.Part(c.Model, c.Engine), c.Where()), shown: a.Shown}
			switch a.Verdict {
			case results.Met:
				met++
			case results.Missed:
				faults = append(faults, f)
			case results.Unclear:
				f.shown = strings.TrimSpace(a.Shown+" ("+a.Text+")") + "; --fail-on missed ignores it"
				faults = append(faults, f)
			}
		}
	}
	for _, same := range results.Grouped(faults, func(f fault) string { return f.what }) {
		s := same[0].what + ": " + same[0].shown
		if v.names.trials {
			s += "; in " + words.Plural(len(same), "trial")
		}
		missed = append(missed, s)
	}
	return missed, met
}

// thresholds are those that the workload expects.
func (v *run) thresholds() document.Section {
	t := &document.Table{Columns: []document.Column{
		{Title: "model", Left: true}, {Title: "phase", Left: true, Rank: 1}, {Title: "value"}, {Title: "", Left: true},
	}}
	style := map[results.Attainment]document.Style{results.Missed: document.Bad, results.Unclear: document.Bad}
	for c := range v.All {
		for _, a := range c.Objectives {
			said := document.Styled(attained[a.Verdict], style[a.Verdict])
			row := t.Add(a.Objective+" "+a.Bound, v.names.Of(c.Key), c.Where(), a.Shown, said)
			if a.Verdict == results.Unclear {
				row.Remark = a.Text
			}
		}
	}
	slices.SortStableFunc(t.Rows, func(a, b document.Row) int { return strings.Compare(a.Group, b.Group) })
	return document.Section{
		ID: "thresholds", Title: "Thresholds", Table: t, Fold: true, Open: true,
		Lead: "of all scheduled operations; a dropped one never ends",
	}
}

// interrupted are the operations that were interrupted at each of their writes.
func (v *run) interrupted() document.Section {
	t := &document.Table{Columns: []document.Column{
		{Title: "model", Left: true},
		{Title: "writes", Rank: 2},
		{Title: "points", Rank: 1, Help: "interruption points, one after each write but the last"},
		{Title: "not\napplied"},
		{Title: "partially\napplied"},
		{Title: "applied"},
		{Title: "duplicated"},
		{Title: "lost"},
	}}
	for c := range v.All {
		for _, s := range c.Interrupted {
			group := fmt.Sprintf("%s: %s of %s", c.Where(), s.Op, words.Plural(s.Messages, "message"))
			t.Add(group, v.names.Of(c.Key), s.Writes, s.Places, s.None, s.Some, s.All, s.Twice, s.Lost).Remark = s.FaultsText()
		}
	}
	slices.SortStableFunc(t.Rows, func(a, b document.Row) int { return strings.Compare(a.Group, b.Group) })
	return document.Section{
		ID: "interrupted", Title: "Interrupted", Table: t,
		Lead: "the states of messages after an interruption at each point: after each write but the last",
	}
}

// LongestGap describes the longest time in which no operation was ok. It is "" if the gap is shorter than 2 s, if fewer
// than 20 operations would have ended in it at the phase's mean rate, or if the client itself stopped for half of it.
func LongestGap(c *results.Cell) string {
	if c.Gap == nil || c.Gap.Seconds < 2 || len(c.Timeline) == 0 {
		return ""
	}
	if e := c.Evidence; e != nil && e.Hiccups != nil && float64(e.Hiccups.Longest) >= c.Gap.Seconds*1e9/2 {
		return ""
	}
	var ok int64
	for i := range c.Timeline {
		ok += c.Timeline[i].OK
	}
	if pace := float64(ok) / max(c.Seconds, 1e-9); ok > 0 && pace*c.Gap.Seconds < 20 {
		return ""
	}
	return fmt.Sprintf("longest gap without a successful operation: %.1f s at %s", c.Gap.Seconds, words.Clock(c.Gap.At))
}

// remarks are shown next to an operation's figures: operations that are not in the
// figures and have no column, errors, and what the model's answers lacked. If not all trials are in its figures, the
// last one says how many are.
func remarks(r *trials.Row) (all []string) {
	o, cost := &r.Sum, r.Cost()
	note := func(is bool, format string, args ...any) {
		if is {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	note(o.Failed > 0, "%d failed", o.Failed)
	note(o.Unknown > 0, "%d of unknown outcome", o.Unknown)
	note(o.Dropped > 0, "%d dropped", o.Dropped)
	note(o.NoTarget > 0, "%d without a message to work on", o.NoTarget)
	note(o.NotFound > 0, "%d not found", o.NotFound)
	note(o.TooLarge > 0, "%d too large", o.TooLarge)
	note(o.Clamped > 0, "%d latencies beyond 100 s", o.Clamped)
	// Percentiles of all scheduled operations, unless they are within a tenth of those of successful ones in all trials.
	far := func(a, b int64) bool { return math.Abs(float64(a-b)) > 0.1*float64(b) }
	at := func(p float64) string { return results.TimeText(r.Scheduled(p).NS) }
	differs := slices.ContainsFunc(r.Ops, func(o *results.Op) bool {
		due, l := o.Scheduled(), o.OK()
		return far(due.P50, l.P50) || far(due.P99, l.P99) || far(due.P999, l.P999)
	})
	note(differs, "of all scheduled: p50 %s, p99 %s, p99.9 %s", at(0.5), at(0.99), at(0.999))
	note(cost.Retries > 0, "%s retries per operation", words.Amount(cost.Retries))
	note(cost.Throttled > 0, "throttled %s times per operation, waited %s", words.Amount(cost.Throttled),
		words.Duration(cost.Backoff))
	const errorsShown = 2
	for _, e := range o.Errors[:min(len(o.Errors), errorsShown)] {
		note(true, "%d× %s", e.Count, e.Text)
	}
	note(len(o.Errors) > errorsShown, "more errors in run.json")
	note(o.Count+o.Others()+o.NoTarget == 0, "never came up")
	note(o.Support == results.EmulatedOp, "runs a fallback pattern: %s", o.Fallback)
	note(o.Missing != "", "omits fields: %s", o.Missing)
	note(r.Counted < r.Trials, "values of %d of %d trials", r.Counted, r.Trials)
	return all
}

// streams are the latencies of each stream of a phase that runs several at once.
func (v *run) streams(cells []*results.Cell) (all []document.Section) {
	var streams []results.Stream
	for _, c := range cells {
		streams = append(streams, c.Streams...)
	}
	for _, name := range results.Distinct(streams, func(s results.Stream) string { return s.Name }) {
		var alone []*results.Cell
		for _, c := range cells {
			if one := c.Alone(name); one != nil {
				alone = append(alone, one)
			}
		}
		section := v.latencies(alone)
		section.ID, section.Title = "streams", fmt.Sprintf("%s, stream %s: latency", cells[0].Where(), name)
		all = append(all, section)
	}
	return all
}

// patterns has the access patterns of each operation with their times, the most frequent first.
func (v *run) patterns(cells []*results.Cell) document.Section {
	t := &document.Table{Columns: []document.Column{
		{Title: "model", Left: true},
		{Title: "pattern", Left: true},
		{Title: "runs", Help: "runs of the pattern per operation"},
		{Group: "latency, ms", Title: "p50", Unit: "ms"},
		{Group: "latency, ms", Title: "p99", Unit: "ms"},
		{Group: "latency, ms", Title: "max", Unit: "ms"},
	}}
	v.each(cells, func(op, name string, row *trials.Row) {
		var counted results.Op // of the trials that count
		for _, o := range row.Ops {
			counted.Add(o)
		}
		for _, p := range counted.Patterns {
			times := []any{"-", "-", "-"}
			if s := p.Service; s != nil {
				p99 := trials.Time{NS: float64(s.P99), Enough: p.Count >= results.EnoughFor(0.99)}
				times = []any{results.MS(float64(s.P50)), p99, results.MS(float64(s.Max))}
			}
			t.Add(op, append([]any{name, p.Name, ranking.Number(p.Requests)}, times...)...)
		}
	})
	return document.Section{
		ID: "patterns", Title: cells[0].Where() + ": access patterns", Table: t, Fold: true,
		Lead: "from the model's call to its return; runs per operation",
	}
}
