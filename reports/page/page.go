// Package page writes results as one HTML page that needs nothing else: no script, no
// network, no fonts. A page of one run shows all of it, with charts. A page of several runs shows
// them side by side. Every text from results is escaped.
package page

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/glossary"
	"github.com/mailbench/mailbench/reports/history"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/schemas/diagram"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// Ours reports whether a file that begins with head, plainfile.HeadSize bytes, is a page of mailbench, of this version
// or an older one.
func Ours(head []byte) bool {
	return bytes.HasPrefix(head, []byte("<!DOCTYPE html>")) &&
		(bytes.Contains(head, []byte(`<meta name="generator" content="mailbench report">`)) ||
			bytes.Contains(head, []byte("<title>mailbench: ")))
}

// HTMLFile is the report in a run directory.
const HTMLFile = "report.html"

// Write writes a page of one run, or of several.
func Write(w io.Writer, sources ...Source) error {
	switch len(sources) {
	case 0:
		return fmt.Errorf("create page: no run to show")
	case 1:
		d := reports.Of(sources[0].Run, sources[0].By)
		addCharts(d, &sources[0])
		return render(w, d, background(&sources[0])...)
	}
	return Document(w, several(sources))
}

// Document writes a document as a page.
func Document(w io.Writer, d *document.Document) error { return render(w, d) }

//go:embed *.tmpl
var templateFiles embed.FS

//go:embed style.css
var style string

var templates = template.Must(template.New("page").Funcs(template.FuncMap{
	"duration": func(ns int64) string { return words.Duration(float64(ns)) },
	"span":     func(seconds float64) string { return words.Duration(seconds * 1e9) },
	"bytes": func(n int64) string {
		if n < 0 {
			return "unknown"
		}
		return words.Size(float64(n))
	},
	"command":    func(words []string) string { return shellquote.Join(words...) },
	"mark":       func(c document.Cell) string { return document.Marks[c.Style] },
	"operations": glossary.Operations, "columns": glossary.Columns,
	"oneline":  words.OneLine,
	"px":       func(v float64) string { return fmt.Sprintf("%.1f", v) },
	"diagrams": func() template.CSS { return template.CSS(diagram.Style) },
	"style":    func() template.CSS { return template.CSS(style) },
}).ParseFS(templateFiles, "*.tmpl"))

// render writes the page of a document, with more sections at its end. Colors of lines are the same on all of it.
func render(w io.Writer, d *document.Document, more ...sectionView) error {
	v := &view{Document: d}
	var colors palette
	ids := map[string]int{}
	for i := range d.Sections {
		s := sectionView{Section: &d.Sections[i]}
		if ids[s.ID]++; ids[s.ID] > 1 { // places of a page have names of their own
			s.Place = fmt.Sprint("-", ids[s.ID])
		}
		if s.Table != nil {
			s.Groups = s.groups()
			s.axis()
		}
		s.draw(&colors)
		v.Sections = append(v.Sections, s)
	}
	v.Sections = append(v.Sections, more...)
	var text strings.Builder
	if err := templates.ExecuteTemplate(&text, "page", v); err != nil {
		return fmt.Errorf("make page: %w", err)
	}
	clean := strings.Map(func(r rune) rune {
		if r != '\n' && words.Deceptive(r) {
			return -1
		}
		return r
	}, text.String())
	if _, err := io.WriteString(w, clean); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// repeat is the command that repeats the run whose results are in a folder of that name.
func repeat(name string) string {
	return "mailbench run --from " + shellquote.Join(cmp.Or(name, "DIR"))
}

// view is a page: a document, with its sections as they are shown.
type view struct {
	*document.Document
	Sections []sectionView
}

// After is the first section that is not on the first screen, before which their list is.
func (v *view) After() int {
	at := slices.IndexFunc(v.Sections, func(s sectionView) bool { return !s.First() })
	if at < 0 {
		return len(v.Sections)
	}
	return at
}

// Source is a run and what a page shows of it.
type Source struct {
	Name   string // folder of the run, as a command can name it; "": not known
	Run    *results.Run
	Curves []results.Curve
	NoLog  bool           // the run's latency log is gone, and with it the curves
	By     ranking.Metric // by which models are ranked; "": the default
}

// provenance is how a run was made.
type provenance struct {
	*results.Run
	Repeat string
	Names  reports.Names
}

// mostOverTime is how many charts over time are shown without a fold: those of six models.
const mostOverTime = 12

// addCharts adds the charts of a run to its report, before what is folded. Sections of the first screen come first,
// then those that are open, then those that are folded.
func addCharts(d *document.Document, s *Source) {
	n := reports.NamesIn(s.Run)
	var own []document.Section
	if s.Run.Sweep == nil { // each point of a sweep has its own
		for _, g := range reports.Sections(s.Run) {
			if c := g.Cells[0]; !c.Measured() {
				continue
			}
			p := percentiles(&g, s.Curves, n)
			if s.NoLog && len(own) == 0 {
				p.Notes = []document.Sentence{{
					Text: "no curves, because latency.hlog of this run is gone. All other values are those of run.json.",
				}}
			}
			if len(p.Charts)+len(p.Notes) > 0 {
				own = append(own, p)
			}
		}
	}
	// A load is left out: it is much faster, and would flatten the others.
	drawn := overTime(s.Run, n, func(c *results.Cell) bool { return c.Measured() || c.Kind == results.KindWarmup })
	if len(drawn) > 0 {
		own = append(own, document.Section{
			ID: "time", Title: "Over time", Fold: true, Open: len(drawn) <= mostOverTime, Lead: overTimeLead, Charts: drawn,
		})
	}
	at := slices.IndexFunc(d.Sections, func(s document.Section) bool { return s.Fold && s.ID != "search" })
	if at < 0 {
		at = len(d.Sections)
	}
	d.Sections = slices.Insert(d.Sections, at, own...)
	order := func(s document.Section) int {
		switch {
		case !s.Fold:
			return 0
		case s.Open:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(d.Sections, func(a, b document.Section) int { return order(a) - order(b) })
}

// background are the sections that only the page of a run has: the schemas of its models, and how to repeat it.
func background(s *Source) (all []sectionView) {
	if models := newModelViews(s.Run); len(models) > 0 {
		all = append(all, sectionView{
			Section: &document.Section{ID: "behind", Title: "Access patterns and schemas", Fold: true, Lead: behindLead},
			Models:  models,
		})
	}
	return append(all, sectionView{
		Section: &document.Section{ID: "provenance", Title: "Repeat it"},
		Made:    &provenance{s.Run, repeat(s.Name), reports.NamesIn(s.Run)},
	})
}

const (
	overTimeLead = "Operations per second by outcome, and the latency of those that succeeded. All charts have the same axes. " +
		"A shaded band is a time in which no operation succeeded."
	behindLead = "The access patterns of each operation, with their requests on average, and the tables. In a diagram K is a " +
		"partition key, C↑ C↓ a clustering column, S static, IDX an index, ++ a counter."
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
		for _, section := range reports.Of(r, sources[0].By).Sections {
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
	for _, f := range history.FiguresOf(runs, true) {
		t := operations.Table
		if f.Op == compare.WholeLoad {
			t = load.Table
		}
		row, first := t.Add(f.Subject.String(), f.Label()), math.NaN()
		for k, v := range f.Values {
			cell := document.Cell{Text: f.Shown(k)}
			switch {
			case v == nil:
			case math.IsNaN(first):
				first = *v
			case first > 0:
				cell.Text += " (" + strconv.FormatFloat(*v/first, 'f', 2, 64) + "×)"
			}
			row.Cells = append(row.Cells, cell)
		}
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
			ID: "percentiles", Title: "Percentile curves, " + subject(of[0]).String(), Fold: true, Open: true,
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
