package page

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/diagram"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// Source is a run and what a page shows of it.
type Source struct {
	Name   string // folder of the run, as a command can name it; "": not known
	Run    *results.Run
	Curves []results.Curve
	NoLog  bool // the run's latency log is gone, and with it the curves
}

// provenance is how a run was made.
type provenance struct {
	*results.Run
	Repeat string
	Cells  []cellView
}

type cellView struct {
	Name string
	*results.Cell
}

// mostOverTime is how many charts over time are shown without a fold: those of six models.
const mostOverTime = 12

// onPage are the sections that a page shows open, although they are folded in the text.
var onPage = map[string]bool{"percentiles": true, "time": true, "cost": true, "thresholds": true, "search": true}

// newRunView is the page of a run: the sections of its report, with its charts before those that are folded.
func newRunView(s *Source) *view {
	r, n := s.Run, reports.NamesIn(s.Run)
	d := reports.Of(r, "")
	charts := slices.IndexFunc(d.Sections, func(s document.Section) bool { return s.Fold && s.ID != "search" })
	if charts < 0 {
		charts = len(d.Sections)
	}
	first := charts
	if r.Sweep == nil { // each point of a sweep has its own
		for _, g := range reports.Sections(r) {
			if c := g.Cells[0]; !c.Measured() {
				continue
			}
			p := percentiles(&g, s.Curves, n)
			if s.NoLog && charts == first {
				p.Notes = []document.Sentence{{
					Text: "no curves, because latency.hlog of this run is gone. All other values are those of run.json.",
				}}
			}
			if len(p.Charts)+len(p.Notes) > 0 {
				d.Sections = slices.Insert(d.Sections, charts, p)
				charts++
			}
		}
	}
	if drawn := overTime(r, n, afterLoad); len(drawn) > 0 {
		d.Sections = slices.Insert(d.Sections, charts, document.Section{
			ID: "time", Title: "Over time", Fold: true, Lead: overTimeLead, Charts: drawn,
		})
	}
	v := newView(d)
	for i := range v.Sections {
		if s := &v.Sections[i]; s.ID == "time" {
			s.Open = len(s.Charts) <= mostOverTime
		}
	}
	slices.SortStableFunc(v.Sections, func(a, b sectionView) int { return cmp.Compare(a.order(), b.order()) })
	if models := newModelViews(r); len(models) > 0 {
		v.Sections = append(v.Sections, sectionView{
			Section: &document.Section{ID: "behind", Title: "Access patterns and schemas", Fold: true, Lead: behindLead},
			Models:  models,
		})
	}
	made := provenance{Run: r, Repeat: repeat(s.Name)}
	for i := range r.Cells {
		made.Cells = append(made.Cells, cellView{n.Of(&r.Cells[i]), &r.Cells[i]})
	}
	repeat := document.Section{ID: "provenance", Title: "Repeat it"}
	v.Sections = append(v.Sections, sectionView{Section: &repeat, Made: &made})
	return v
}

const (
	overTimeLead = "Operations per second by outcome, and the latency of those that succeeded. All charts have the same axes. " +
		"A shaded band is a time in which no operation succeeded."
	behindLead = "The access patterns of each operation, with their requests on average, and the tables. In a diagram K is a " +
		"partition key, C↑ C↓ a clustering column, S static, IDX an index, ++ a counter."
)

// afterLoad reports whether a phase is drawn over time with the measured ones. A load is left
// out: it is much faster, and would flatten the others.
func afterLoad(c *results.Cell) bool { return c.Measured() || c.Kind == results.KindWarmup }

// modelView shows the access patterns of a model's operations, and its schema.
type modelView struct {
	Name, Doc, ID string
	Problem       string // why the schema cannot be shown
	Behind        []behind
	Patterns      []patternView
	Diagram       template.HTML
}

// behind has the patterns that ran for an operation.
type behind struct{ Op, Patterns string }

// patternView describes a pattern that ran.
type patternView struct{ Name, What, Doc string }

// newModelViews shows each model whose schema the run has.
func newModelViews(r *results.Run) []modelView {
	var all []modelView
	for i := range r.Schemas {
		saved := &r.Schemas[i]
		v := modelView{Name: saved.Model, ID: anchor("schema", i)}
		var ran []string
		v.Behind, ran = behindOf(r, saved.Model)
		s, err := schemas.ParseStored(saved.Model+".yaml", []byte(saved.Text))
		if err != nil {
			v.Problem = err.Error()
			all = append(all, v)
			continue
		}
		v.Doc = s.Doc
		for _, p := range s.Patterns {
			if slices.Contains(ran, p.Name) {
				v.Patterns = append(v.Patterns, patternView{p.Name, diagram.Request(p), p.Doc})
			}
		}
		var svg bytes.Buffer
		if err := diagram.Inline(&svg, s, diagram.Logical, v.ID); err != nil {
			v.Problem = err.Error()
		} else {
			v.Diagram = template.HTML(svg.String()) // package diagram escapes all texts
		}
		all = append(all, v)
	}
	return all
}

// behindOf lists the patterns of each operation of a model, and all patterns that ran. If other
// patterns ran on an engine, such as fallbacks, they follow with the engine's name.
func behindOf(r *results.Run, model string) (bs []behind, ran []string) {
	type key struct{ op, patterns string }
	var order []string
	texts, seen := map[string][]string{}, map[key]bool{}
	for _, c := range r.Select(func(c *results.Cell) bool { return c.Model == model && c.Measured() }) {
		for op, o := range c.Ops {
			if len(o.Patterns) == 0 {
				continue
			}
			var names, words []string
			for _, p := range o.Patterns {
				names = append(names, p.Name)
				words = append(words, p.Name+" "+times(p.Calls))
				if !slices.Contains(ran, p.Name) {
					ran = append(ran, p.Name)
				}
			}
			slices.Sort(names)
			k := key{op, strings.Join(names, " ")}
			if seen[k] {
				continue
			}
			seen[k] = true
			text := strings.Join(words, ", ")
			if len(texts[op]) > 0 {
				text = c.Engine + ", " + c.Where() + ": " + text
			} else {
				order = append(order, op)
			}
			texts[op] = append(texts[op], text)
		}
	}
	slices.Sort(order)
	for _, op := range order {
		bs = append(bs, behind{op, strings.Join(texts[op], "; ")})
	}
	return bs, ran
}

// times writes how often a pattern ran in one operation, on average.
func times(calls float64) string {
	if calls > 0 && calls < 0.005 {
		return "× <0.01"
	}
	return "× " + words.Digits(calls)
}

// anchor names a place of the page.
func anchor(what string, n int) string { return fmt.Sprintf("%s%d", what, n) }
