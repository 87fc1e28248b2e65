package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/history"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
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
	}
	differ, same := settings(sources, labels)
	load, operations := severalFigures(sources, labels)
	if len(d.Sections) == 0 {
		d.Sections = append(d.Sections, load)
	}
	d.Sections = append(append(append(d.Sections, each...), differ), operations)
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

// severalFigures has a table for the whole load and one for the operations, with a column for each run.
func severalFigures(sources []Source, labels []string) (load, operations document.Section) {
	var runs []*results.Run
	columns := []document.Column{{Left: true}}
	for i := range sources {
		runs, columns = append(runs, sources[i].Run), append(columns, document.Column{Title: labels[i]})
	}
	load = document.Section{ID: "load", Title: "Whole load", Table: &document.Table{Columns: columns}}
	operations = document.Section{ID: "runs", Title: "Operations", Table: &document.Table{Columns: columns}}
	load.Lead = "medians of the trials; a ratio is to the first run that has the value"
	operations.Lead = load.Lead
	figures := history.FiguresOf(runs, nil, true)
	for i := range figures {
		f := &figures[i]
		t, row := operations.Table, document.Row{Group: f.Subject.String(), Cells: []document.Cell{document.Text(f.Label())}}
		if f.Op == compare.WholeLoad {
			t = load.Table
		}
		first := math.NaN()
		for k, v := range f.Values {
			cell := document.Cell{Text: f.Shown(k), Value: math.NaN()}
			if v != nil {
				if cell.Value = *v; math.IsNaN(first) {
					first = *v
				} else if first > 0 {
					cell.Text += " (" + strconv.FormatFloat(*v/first, 'f', 2, 64) + "×)"
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return load, operations
}

// union is all runs as one, with models on engines side by side. It is nil if two runs have the same
// model on the same engine, executed other operations, or ran a model with another schema.
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
		{"requested durability", r.Config.Durability},
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

// short is enough of a digest to identify it.
func short(digest string) string {
	const enough = 12
	if len(digest) > enough {
		return digest[:enough]
	}
	return digest
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
