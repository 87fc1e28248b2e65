package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas/words"
)

// several is the report of runs side by side, in the order given. It has medians and ratios only;
// package compare says which differences are significant.
func several(sources []Source) *document.Document {
	d := &document.Document{Title: fmt.Sprintf("%d runs side by side", len(sources))}
	var labels, names []string
	var each []document.Section
	for i := range sources {
		s := &sources[i]
		label := "run " + strconv.Itoa(i+1)
		d.Facts = append(d.Facts, fmt.Sprintf("%s: %s, started %s, took %s", label, cmp.Or(s.Name, s.Run.Workload.Name),
			s.Run.Started, words.Duration(s.Run.Seconds*1e9)))
		labels, names = append(labels, label), append(names, shellWord(cmp.Or(s.Name, "DIR")))
		each = append(each, aboutRun(s, label))
	}
	if r := union(sources); r != nil {
		for _, section := range reports.Of(r, "").Sections {
			if !section.Fold && section.ID != "alerts" {
				d.Sections = append(d.Sections, section)
			}
		}
	} else {
		d.Sections = append(d.Sections, severalLoads(sources, labels))
	}
	differ, same := settings(sources, labels)
	d.Sections = append(append(d.Sections, each...), differ)
	d.Sections = append(d.Sections, severalOperations(sources, labels)...)
	d.Sections = append(d.Sections, severalCurves(sources, labels)...)
	again := document.Section{ID: "provenance", Title: "Repeat them"}
	for i := range sources {
		again.Say(document.Command, "", repeat(sources[i].Name))
	}
	again.Say(document.Plain, "", "To see which differences are significant:")
	again.Say(document.Command, "", "mailbench compare "+names[0]+" "+names[len(names)-1])
	d.Sections = slices.DeleteFunc(append(d.Sections, again, same), func(s document.Section) bool {
		return s.Table != nil && len(s.Table.Rows) == 0 && len(s.Says) == 0
	})
	return d
}

// aboutRun says what is wrong with a run, and its warnings.
func aboutRun(s *Source, label string) document.Section {
	about := document.Section{ID: "run", Title: label + ": " + cmp.Or(s.Name, s.Run.Workload.Name)}
	for _, section := range reports.Of(s.Run, "").Sections {
		if section.ID == "alerts" || section.ID == "warnings" {
			about.Says = append(append(about.Says, section.Says...), section.Notes...)
		}
	}
	if s.NoLog {
		about.Say(document.Warn, "", "no percentile curves, because latency.hlog of this run is gone")
	}
	if len(about.Says) == 0 {
		about.Say(document.Plain, "", "All results are valid.")
	}
	return about
}

// sideBySide is a table that has a column for each run.
func sideBySide(labels []string) *document.Table {
	t := &document.Table{Columns: []document.Column{{Left: true}}}
	for _, label := range labels {
		t.Columns = append(t.Columns, document.Column{Title: label})
	}
	return t
}

// value is the value of a metric in a run. Bad says that a trial of the run is not valid.
type value struct {
	x   float64
	bad bool
}

// addMetric adds the row of a metric, with the ratio to the first run that has it.
func addMetric(t *document.Table, group, name string, text func(float64) string, of []value) {
	row, first := document.Row{Group: group, Cells: []document.Cell{document.Text(name)}}, math.NaN()
	for _, v := range of {
		cell := document.Cell{Text: "-", Value: math.NaN()}
		if !math.IsNaN(v.x) {
			cell = document.Cell{Text: text(v.x), Value: v.x}
			if v.bad {
				cell.Style, cell.Help = document.Warn, "a trial of this run is not valid"
			}
			if math.IsNaN(first) {
				first = v.x
			} else if first > 0 {
				cell.Text += " (" + strconv.FormatFloat(v.x/first, 'f', 2, 64) + "×)"
			}
		}
		row.Cells = append(row.Cells, cell)
	}
	if !math.IsNaN(first) {
		t.Rows = append(t.Rows, row)
	}
}

// severalLoads are the metrics of the whole load of each model and engine.
func severalLoads(sources []Source, labels []string) document.Section {
	type key struct{ phase, engine, model string }
	var order []key
	of := map[key][]*ranking.Model{}
	for i := range sources {
		loads := reports.Loads(sources[i].Run, "")
		for k := range loads {
			for m := range loads[k].Models {
				model := &loads[k].Models[m]
				at := key{loads[k].Phase, loads[k].Engine, model.Model}
				if of[at] == nil {
					order, of[at] = append(order, at), make([]*ranking.Model, len(sources))
				}
				of[at][i] = model
			}
		}
	}
	s := document.Section{
		ID: "load", Title: "Whole load", Lead: "medians of the trials; ratios are to the first run that has the value",
		Table: sideBySide(labels),
	}
	for _, at := range order {
		for _, metric := range []ranking.Metric{
			ranking.Typical, ranking.Mean, ranking.P99, ranking.Throughput, ranking.Requests, ranking.Rows, ranking.Disk,
		} {
			name, number := metric.Name(), metric.Number
			if unit := metric.Unit(); unit != metric.Name() {
				name += ", " + unit
			}
			var all []value
			for _, m := range of[at] {
				v := value{x: math.NaN()}
				if m != nil {
					v = value{m.Value(metric), !m.Ranked()}
				}
				if metric == ranking.Throughput { // its value is the time of an operation
					v.x, number = 1e9/v.x, ranking.Number
				}
				all = append(all, v)
			}
			addMetric(s.Table, at.model+"/"+at.engine+", "+at.phase, name, number, all)
		}
	}
	return s
}

// union is all runs as one, with models on engines side by side. It is nil if two runs have the same
// model on the same engine, were asked for other operations, or ran a model with another schema.
func union(sources []Source) *results.Run {
	all := &results.Run{Workload: sources[0].Run.Workload}
	seen, text := map[string]int{}, map[string]string{}
	for i := range sources {
		r := sources[i].Run
		if r.Sweep != nil || digests(r) != digests(sources[0].Run) {
			return nil
		}
		for _, c := range r.Cells {
			if at, ok := seen[c.Model+"/"+c.Engine]; ok && at != i {
				return nil
			}
			seen[c.Model+"/"+c.Engine] = i
		}
		for _, s := range r.Schemas {
			if t, ok := text[s.Model]; ok && t != s.Text {
				return nil
			}
			if _, ok := text[s.Model]; !ok {
				text[s.Model], all.Schemas = s.Text, append(all.Schemas, s)
			}
		}
		all.Cells = append(all.Cells, r.Cells...)
	}
	return all
}

// digests are those of the measured phases' operations.
func digests(r *results.Run) string {
	var all []string
	for _, p := range r.Phases {
		if p.Kind == results.KindMeasure {
			all = append(all, p.Name+" "+p.SHA256)
		}
	}
	return strings.Join(all, "\n")
}

// settings are those that differ between the runs, and those that do not.
func settings(sources []Source, labels []string) (differ, same document.Section) {
	var order []string
	values := map[string][]string{}
	for i := range sources {
		for _, f := range settingsOf(sources[i].Run) {
			if values[f.Label] == nil {
				order, values[f.Label] = append(order, f.Label), make([]string, len(sources))
			}
			values[f.Label][i] = f.Text
		}
	}
	differ = document.Section{ID: "differences", Title: "Settings that differ", Table: &document.Table{
		Columns: []document.Column{{Title: "setting", Left: true}},
	}}
	for _, label := range labels {
		differ.Table.Columns = append(differ.Table.Columns, document.Column{Title: label, Left: true})
	}
	same = document.Section{ID: "settings", Title: "Settings of all runs", Fold: true, Table: &document.Table{
		Columns: []document.Column{{Title: "setting", Left: true}, {Left: true}},
	}}
	for _, label := range order {
		vs := values[label]
		switch {
		case slices.ContainsFunc(vs, func(s string) bool { return s != vs[0] }):
			cells := []document.Cell{document.Text(label)}
			for _, v := range vs {
				cells = append(cells, document.Text(cmp.Or(v, "-")))
			}
			differ.Table.Add(cells...)
		case vs[0] != "":
			same.Table.Add(document.Text(label), document.Text(vs[0]))
		}
	}
	if len(differ.Table.Rows) == 0 {
		differ.Say(document.Plain, "", "The runs have the same workload, machine, versions and settings.")
	} else {
		differ.Lead = "Compare runs that differ in these only if you want to see the effect of the difference."
	}
	return differ, same
}

// settingsOf are the properties that decide whether runs can be compared.
func settingsOf(r *results.Run) []fact {
	e := &r.Environment
	fs := []fact{
		{"workload", r.Workload.Name},
		{"workload, SHA-256", short(r.Workload.SHA256)},
		{"overrides", strings.Join(r.Workload.Overrides, " ")},
		{"seed", strconv.FormatUint(r.Seed, 10)},
		{"trials", strconv.Itoa(r.Config.Trials)},
		{"workers", strconv.Itoa(r.Config.Workers)},
		{"durability asked for", r.Config.Durability},
		{"machine", strings.TrimSpace(r.Machine.Name + " " + short(r.Machine.ID))},
		{"mailbench", strings.TrimSpace(e.Version + " " + short(e.Commit))},
		{"changed since its commit", strconv.FormatBool(e.Dirty)},
		{"Go", e.Go},
		{"CPU", e.CPU},
		{"CPUs", strconv.Itoa(e.CPUs)},
		{"kernel", e.Kernel},
		{"disk", e.Disk},
	}
	for _, line := range reports.EnginesOf(r) {
		name, text, _ := strings.Cut(line, ": ")
		fs = append(fs, fact{"engine " + name, text})
	}
	for _, s := range r.Schemas {
		fs = append(fs, fact{"schema of " + s.Model, short(s.SHA256)})
	}
	return append(fs, sortedFacts(r.Settings)...)
}

// short is enough of a digest to tell it from others.
func short(digest string) string {
	const enough = 12
	if len(digest) > enough {
		return digest[:enough]
	}
	return digest
}

// severalOperations are the operations of each phase of each model and engine.
func severalOperations(sources []Source, labels []string) (all []document.Section) {
	type key struct{ phase, model, engine string }
	var order []key
	columns, ops := map[key][]trials.Column{}, map[key][]string{}
	for i := range sources {
		for _, s := range reports.Sections(sources[i].Run) {
			if !s.Cells[0].Measured() {
				continue
			}
			for _, c := range trials.Columns(s.Cells) {
				k := key{s.Cells[0].Where(), c[0].Model, c[0].Engine}
				if columns[k] == nil {
					order, columns[k] = append(order, k), make([]trials.Column, len(sources))
				}
				columns[k][i] = c
				for _, op := range s.Ops {
					if !slices.Contains(ops[k], op) {
						ops[k] = append(ops[k], op)
					}
				}
			}
		}
	}
	for _, k := range order {
		t := sideBySide(labels)
		for _, op := range ops[k] {
			addOperation(t, op, columns[k])
		}
		all = append(all, document.Section{
			ID: "runs", Title: k.model + "/" + k.engine + ", " + k.phase, Lead: "medians of the trials of each run", Table: t,
		})
	}
	return all
}

// addOperation adds the rows of an operation: a metric each.
func addOperation(t *document.Table, op string, runs []trials.Column) {
	latency := func(p float64, of func(*results.Latency) int64) func(*trials.Row) float64 {
		return func(r *trials.Row) float64 {
			if r.Op.Count < results.EnoughFor(p) {
				return math.NaN()
			}
			return float64(of(r.Cell.Latency(&r.Op)))
		}
	}
	for _, metric := range []struct {
		name string
		text func(float64) string
		of   func(*trials.Row) float64
	}{
		{"requests", ranking.Number, func(r *trials.Row) float64 { return r.Op.Store.Calls }},
		{"p50, ms", ranking.MS, latency(0.5, func(l *results.Latency) int64 { return l.P50 })},
		{"p99, ms", ranking.MS, latency(0.99, func(l *results.Latency) int64 { return l.P99 })},
	} {
		var of []value
		for _, cs := range runs {
			v := value{x: math.NaN()}
			if r, ok := cs.Row(op); ok && r.Op.Count > 0 {
				v = value{metric.of(&r), r.Bad}
			}
			of = append(of, v)
		}
		addMetric(t, op, metric.name, metric.text, of)
	}
}

// severalCurves are the percentile curves of a phase of one model on one engine: a chart
// of each operation, with a line for each run.
func severalCurves(sources []Source, labels []string) (all []document.Section) {
	type key struct{ model, engine, phase string }
	var order []key
	ops, curves := map[key][]string{}, map[key]map[string][]results.Curve{}
	run := map[*results.Point]string{} // labels of curves, by their first points
	for i := range sources {
		for _, c := range sources[i].Curves {
			if len(c.Points) == 0 || !measured(sources[i].Run, &c) {
				continue
			}
			k := key{c.Model, c.Engine, c.Phase}
			if curves[k] == nil {
				order, curves[k] = append(order, k), map[string][]results.Curve{}
			}
			if !slices.Contains(ops[k], c.Op) {
				ops[k] = append(ops[k], c.Op)
			}
			c.Points = slices.Clone(c.Points) // two runs may be the same
			run[&c.Points[0]] = labels[i]
			curves[k][c.Op] = append(curves[k][c.Op], c)
		}
	}
	for _, k := range order {
		s := document.Section{
			ID: "percentiles", Title: "Percentile curves, " + k.model + "/" + k.engine + ", " + k.phase, Fold: true,
			Lead: "The latencies of all trials of each run, laid over each other.",
		}
		for _, op := range ops[k] {
			if of := curves[k][op]; len(of) > 1 {
				s.Charts = append(s.Charts, newPercentileChart(op, of, lastOf(of), func(c *results.Curve) string {
					return run[&c.Points[0]]
				}))
			}
		}
		if len(s.Charts) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// measured reports whether the curve is of a phase that was measured.
func measured(r *results.Run, c *results.Curve) bool {
	return slices.ContainsFunc(r.Cells, func(o results.Cell) bool {
		return o.Model == c.Model && o.Engine == c.Engine && o.Where() == c.Phase && o.Measured()
	})
}
