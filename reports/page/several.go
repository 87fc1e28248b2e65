package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kballard/go-shellquote"

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
		d.Facts = append(d.Facts, fmt.Sprintf("%s: %s, started %s, took %s; %s", label, cmp.Or(s.Name, s.Run.Workload.Name),
			s.Run.Started, words.Duration(s.Run.Seconds*1e9), reports.MachineLine(&s.Run.Environment)))
		labels, names = append(labels, label), append(names, shellquote.Join(cmp.Or(s.Name, "DIR")))
		each = append(each, aboutRun(s, label))
	}
	if r := union(sources); r != nil {
		for _, section := range reports.Of(r, "").Sections {
			if !section.Fold && section.ID != "alerts" {
				d.Sections = append(d.Sections, section)
			}
		}
	}
	load, operations := severalFigures(sources, labels)
	if len(d.Sections) == 0 {
		d.Sections = append(d.Sections, load)
	}
	d.Sections = append(append(d.Sections, each...), differences(sources, labels), operations)
	d.Sections = append(d.Sections, severalCurves(sources, labels)...)
	again := document.Section{ID: "provenance", Title: "Repeat them"}
	for i := range sources {
		again.Say(document.Command, "", repeat(sources[i].Name))
	}
	again.Say(document.Plain, "", "To see which differences are significant:")
	again.Say(document.Command, "", "mailbench compare "+names[0]+" "+names[len(names)-1])
	d.Sections = slices.DeleteFunc(append(d.Sections, again), func(s document.Section) bool {
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
			cell := document.Text(f.Shown(k))
			switch {
			case v == nil:
			case math.IsNaN(first):
				first = *v
			case first > 0:
				cell.Text += " (" + strconv.FormatFloat(*v/first, 'f', 2, 64) + "×)"
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

// differences says in which properties that must be equal for a comparison the runs differ from the first.
func differences(sources []Source, labels []string) document.Section {
	s := document.Section{ID: "differences", Title: "Settings that differ"}
	side := func(i int) compare.Side { return compare.Side{Name: labels[i], Runs: []*results.Run{sources[i].Run}} }
	for i := range sources[1:] {
		all, _ := compare.Differences(side(0), side(i+1), false)
		for _, d := range all {
			s.Say(document.Plain, "", d)
		}
	}
	if len(s.Says) == 0 {
		s.Say(document.Plain, "", "The runs have the same workload, machine, engines and settings.")
	} else {
		s.Lead = "Compare runs that differ in these only if you want to see the effect of the difference."
	}
	return s
}

// severalCurves are the percentile curves of a phase of one model on one engine: a chart
// of each operation, with a line for each run.
func severalCurves(sources []Source, labels []string) (all []document.Section) {
	type curve struct {
		results.Curve
		label string
	}
	var curves []curve
	for i := range sources {
		for _, c := range sources[i].Curves {
			if len(c.Points) > 0 {
				curves = append(curves, curve{c, labels[i]})
			}
		}
	}
	subject := func(c curve) compare.Subject {
		return compare.Subject{Model: c.Model, Engine: c.Engine, Phase: c.Phase}
	}
	for _, of := range results.Grouped(curves, subject) {
		s := document.Section{
			ID: "percentiles", Title: "Percentile curves, " + subject(of[0]).String(), Fold: true,
			Lead: "The latencies of all trials of each run, laid over each other.",
		}
		for _, same := range results.Grouped(of, func(c curve) string { return c.Op }) {
			var drawn []results.Curve
			for _, c := range same {
				c.Model = c.label // names the line
				drawn = append(drawn, c.Curve)
			}
			if len(drawn) > 1 {
				label := func(c *results.Curve) string { return c.Model }
				s.Charts = append(s.Charts, newPercentileChart(drawn[0].Op, drawn, lastOf(drawn), label))
			}
		}
		if len(s.Charts) > 0 {
			all = append(all, s)
		}
	}
	return all
}
