package reports

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// streams are the phases that run several streams at once: each stream, and below it its operations. Over
// several trials there are sums of counts, and medians of times and rates.
func (v *run) streams() (all []document.Section) {
	for i := range v.groups {
		t := &document.Table{Columns: []document.Column{
			{Title: "model", Left: true},
			{Title: "scheduled"},
			{Title: "offered", Unit: "ops/s"},
			{Title: "achieved", Unit: "ops/s", Rank: 2},
			{Title: "late", Rank: 1, Help: "operations that started late"},
			{Title: "dropped"},
			{Group: "latency, ms", Title: "p50", Unit: "ms"},
			{Group: "latency, ms", Title: "p99", Unit: "ms"},
			{Group: "latency, ms", Title: "p99.9", Unit: "ms", Rank: 3},
		}}
		for _, s := range alone(v.groups[i].Cells) {
			v.each(&s, func(op, name string, cs trials.Column, row *trials.Row) {
				who := document.Cell{Text: name}
				if row.Bad {
					who.Style = document.Warn
				}
				t.Add(strings.TrimSuffix(s.stream+"/"+op, "/"), append([]any{who}, streamCells(row, cs, op)...)...)
			})
		}
		all = append(all, document.Section{
			ID: "streams", Title: v.groups[i].Cells[0].Where() + ": streams", Table: t, Fold: true,
			Lead: "latency of all scheduled operations; rates in operations/s",
		})
	}
	return all
}

// alone are the streams of cells, each with the cells as if they had it only. Its first operation, without a name, is
// all of it together.
func alone(cells []*results.Cell) (all []Section) {
	for _, c := range cells {
		for k := range c.Streams {
			name := c.Streams[k].Name
			at := slices.IndexFunc(all, func(s Section) bool { return s.stream == name })
			if at < 0 {
				at, all = len(all), append(all, Section{stream: name})
			}
			all[at].Cells = append(all[at].Cells, c.Alone(name))
		}
	}
	for i := range all {
		all[i].Ops = append([]string{""}, results.OpsOf(all[i].Cells)...)
		for _, c := range all[i].Cells {
			c.Ops = maps.Clone(c.Ops)
			c.Ops[""] = c.Op("")
		}
	}
	return all
}

// streamCells are the values of a stream or of one of its operations.
func streamCells(r *trials.Row, cs trials.Column, op string) []any {
	row := []any{r.Sum.Attempted() + r.Sum.NoTarget, "", "", ""}
	if op == "" {
		var rates, done []float64
		all, behind := int64(0), int64(0)
		for _, c := range cs {
			rates, done = append(rates, c.Offered.Rate), append(done, c.Offered.Achieved)
			all, behind = all+c.Offered.Due-c.Offered.Skipped, behind+c.Evidence.Late+c.Evidence.Queued
		}
		row = []any{all, "-", words.Amount(results.Median(done)), "-"}
		if cs[0].Arrivals != "closed" {
			row[1], row[3] = words.Amount(results.Median(rates)), behind
		}
	}
	return append(row, r.Sum.Dropped, r.Scheduled(0.5), r.Scheduled(0.99), r.Scheduled(0.999))
}

// patterns has the times of the access patterns of each operation, the longest median first. Those of cells
// whose verdict is not ok are left out.
func (v *run) patterns() (all []document.Section) {
	for i := range v.groups {
		t := &document.Table{Columns: []document.Column{
			{Title: "model", Left: true},
			{Title: "pattern", Left: true},
			{Title: "runs", Help: "runs of the pattern per operation"},
			{Group: "latency, ms", Title: "p50", Unit: "ms"},
			{Group: "latency, ms", Title: "p99", Unit: "ms"},
			{Group: "latency, ms", Title: "max", Unit: "ms"},
		}}
		v.each(&v.groups[i], func(op, name string, _ trials.Column, row *trials.Row) {
			if row.Bad || row.Sum.Count == 0 {
				return
			}
			timed := slices.DeleteFunc(slices.Clone(row.Sum.Patterns), func(p results.PatternRequests) bool {
				return p.Service == nil
			})
			slices.SortStableFunc(timed, func(a, b results.PatternRequests) int {
				return cmp.Compare(b.Service.P50, a.Service.P50)
			})
			for _, p := range timed {
				runs := float64(p.Count) / float64(row.Sum.Count)
				p99 := trials.Time{NS: float64(p.Service.P99), Enough: p.Count >= results.EnoughFor(0.99)}
				t.Add(op, name, p.Name, ranking.Number(runs), results.MS(float64(p.Service.P50)), p99,
					results.MS(float64(p.Service.Max)))
			}
		})
		all = append(all, document.Section{
			ID: "patterns", Title: v.groups[i].Cells[0].Where() + ": access patterns", Table: t, Fold: true,
			Lead: "from the model's call to its return; runs per operation",
		})
	}
	return all
}
