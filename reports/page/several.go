package page

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/glossary"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/reports/trials"
	"github.com/mailbench/mailbench/schemas/words"
)

// severalView shows runs side by side, in the order given. It has medians and ratios only;
// package compare says which differences are significant.
type severalView struct {
	First       []sectionView // if each run has models or engines of its own, and the same load
	Runs        []runHead
	Same        []fact // settings that all runs have in common
	Differences []difference
	Blocks      []sectionView
	Curves      []severalCurves
	Operations  []glossary.Term
	Columns     []glossary.Term
	Compare     string // the command that says which differences are significant
}

type runHead struct {
	Label, Name, Started, Repeat string
	Took                         string
	Alerts                       []sectionView // what is wrong, and warnings
}

// difference is a setting that differs, with its value in each run.
type difference struct {
	Label  string
	Values []string
}

func newSeveralView(sources []Source) *severalView {
	v := &severalView{Operations: glossary.Operations(), Columns: glossary.Columns()}
	var names, labels []string
	for i := range sources {
		s := &sources[i]
		h := runHead{
			Label: "run " + strconv.Itoa(i+1), Name: cmp.Or(s.Name, s.Run.Workload.Name), Started: s.Run.Started,
			Repeat: repeat(s.Name), Took: words.Duration(s.Run.Seconds * 1e9),
		}
		for _, section := range newSections(reports.Of(s.Run, "")) {
			if section.ID == "alerts" || section.ID == "warnings" {
				h.Alerts = append(h.Alerts, section)
			}
		}
		if s.NoLog {
			h.Alerts = append(h.Alerts, sectionView{Section: &document.Section{Says: []document.Sentence{
				{Text: "no percentile curves, because latency.hlog of this run is gone"},
			}}})
		}
		v.Runs, labels = append(v.Runs, h), append(labels, h.Label)
		names = append(names, shellWord(cmp.Or(s.Name, "DIR")))
	}
	v.Compare = "mailbench compare " + names[0] + " " + names[len(names)-1]
	if r := union(sources); r != nil {
		for _, section := range newSections(reports.Of(r, "")) {
			if !section.Fold && section.ID != "alerts" {
				v.First = append(v.First, section)
			}
		}
	}
	v.settings(sources)
	v.figures(sources)
	v.Curves = newSeveralCurves(sources, labels)
	return v
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

// settings tells what differs between the runs from what does not.
func (v *severalView) settings(sources []Source) {
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
	for _, label := range order {
		vs := values[label]
		if slices.ContainsFunc(vs, func(s string) bool { return s != vs[0] }) {
			v.Differences = append(v.Differences, difference{label, vs})
		} else {
			v.Same = append(v.Same, fact{label, vs[0]})
		}
	}
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

// figures puts the runs side by side: a table for each phase of each model and engine.
func (v *severalView) figures(sources []Source) {
	type key struct{ phase, model, engine string }
	var order []key
	columns, ops := map[key][]trials.Column{}, map[key][]string{}
	engines := false
	for i := range sources {
		for _, s := range reports.Sections(sources[i].Run) {
			if !s.Cells[0].Measured() {
				continue
			}
			for _, c := range trials.Columns(s.Cells) {
				k := key{s.Cells[0].Where(), c[0].Model, c[0].Engine}
				engines = engines || len(order) > 0 && k.engine != order[0].engine
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
	d := document.Document{}
	for _, k := range order {
		title := k.model
		if engines {
			title += "/" + k.engine
		}
		t := &document.Table{Columns: []document.Column{{Left: true}}}
		for _, h := range v.Runs {
			t.Columns = append(t.Columns, document.Column{Title: h.Label})
		}
		for _, op := range ops[k] {
			addOperation(t, op, columns[k])
		}
		d.Sections = append(d.Sections, document.Section{ID: "runs", Title: title + ", " + k.phase, Table: t})
	}
	v.Blocks = newSections(&d)
}

// addOperation adds the rows of an operation: a metric each, with the ratio to the first run that has it.
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
		row, first := document.Row{Group: op, Cells: []document.Cell{document.Text(metric.name)}}, math.NaN()
		for _, cs := range runs {
			cell := document.Cell{Text: "-", Value: math.NaN()}
			if r, ok := cs.Row(op); ok && r.Op.Count > 0 {
				if x := metric.of(&r); !math.IsNaN(x) {
					cell = document.Cell{Text: metric.text(x), Value: x}
					if r.Bad {
						cell.Style, cell.Help = document.Warn, "a trial of this run is not valid"
					}
					if math.IsNaN(first) {
						first = x
					} else if first > 0 {
						cell.Text += " (" + strconv.FormatFloat(x/first, 'f', 2, 64) + "×)"
					}
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		if !math.IsNaN(first) {
			t.Rows = append(t.Rows, row)
		}
	}
}

// severalCurves are the percentile curves of a phase of one model on one engine: a chart
// of each operation, with a line for each run.
type severalCurves struct {
	Title  string
	Legend []line
	Charts []chart
}

// newSeveralCurves draws the percentile curves of all runs in the same charts. Labels name the runs.
func newSeveralCurves(sources []Source, labels []string) (drawn []severalCurves) {
	type key struct{ model, engine, phase string }
	type of struct {
		results.Curve
		run int
	}
	var order []key
	ops, all := map[key][]string{}, map[key]map[string][]of{}
	engines := false
	for i := range sources {
		for _, c := range sources[i].Curves {
			if len(c.Points) == 0 || !measured(sources[i].Run, &c) {
				continue
			}
			k := key{c.Model, c.Engine, c.Phase}
			if all[k] == nil {
				order, all[k] = append(order, k), map[string][]of{}
			}
			if !slices.Contains(ops[k], c.Op) {
				ops[k] = append(ops[k], c.Op)
			}
			all[k][c.Op] = append(all[k][c.Op], of{c, i})
			engines = engines || k.engine != order[0].engine
		}
	}
	for _, k := range order {
		s := severalCurves{Title: k.model + ", " + k.phase}
		if engines {
			s.Title = k.model + "/" + k.engine + ", " + k.phase
		}
		var colours palette
		for _, label := range labels {
			colours.series(label) // a run keeps its colour in charts of operations that others lack
		}
		for _, op := range ops[k] {
			if len(all[k][op]) < 2 {
				continue // there is no other run to compare with
			}
			var curves []results.Curve
			nines := 2.0
			for _, c := range all[k][op] {
				nines = max(nines, ninesOf(c.Points[len(c.Points)-1].Percentile))
				curves = append(curves, c.Curve)
			}
			names := map[*results.Curve]string{}
			for i := range curves {
				names[&curves[i]] = labels[all[k][op][i].run]
			}
			name := func(c *results.Curve) string { return names[c] }
			s.Charts = append(s.Charts, newPercentileChart(op, curves, nines, name, colours.series))
		}
		if len(s.Charts) > 0 {
			s.Legend = colours.legend()
			drawn = append(drawn, s)
		}
	}
	return drawn
}

// measured reports whether the curve is of a phase that was measured.
func measured(r *results.Run, c *results.Curve) bool {
	return slices.ContainsFunc(r.Cells, func(o results.Cell) bool {
		return o.Model == c.Model && o.Engine == c.Engine && o.Where() == c.Phase && o.Measured()
	})
}
