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
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/glossary"
	"github.com/mailbench/mailbench/schemas/diagram"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// HeadSize is how many bytes of a file Ours needs to see.
const HeadSize = 1024

// Ours reports whether a file that begins with head is a page of mailbench, of this version or
// an older one.
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
		return newRunView(&sources[0]).write(w)
	}
	return Document(w, several(sources))
}

// Document writes a document as a page.
func Document(w io.Writer, d *document.Document) error { return newView(d).write(w) }

//go:embed *.tmpl
var templateFiles embed.FS

//go:embed style.css
var style string

var templates = template.Must(template.New("page").Funcs(template.FuncMap{
	"duration": func(ns int64) string { return words.Duration(float64(ns)) },
	"span":     func(seconds float64) string { return words.Duration(seconds * 1e9) },
	"amount":   words.Amount,
	"bytes": func(n int64) string {
		if n < 0 {
			return "unknown"
		}
		return words.Size(float64(n))
	},
	"command":    func(words []string) string { return shellquote.Join(words...) },
	"styleclass": func(s document.Style) string { return classes[s] },
	"cellclass":  class,
	"px":         func(v float64) string { return fmt.Sprintf("%.1f", v) },
	"diagrams":   func() template.CSS { return template.CSS(diagram.Style()) },
	"style":      func() template.CSS { return template.CSS(style) },
}).ParseFS(templateFiles, "*.tmpl"))

func (v *view) write(w io.Writer) error {
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

// view is a page: a document, with the number of sections that are on its first screen.
type view struct {
	*document.Document
	Sections            []sectionView
	Operations, Columns []glossary.Term
}

// newView is the page of a document. Colors of lines are the same on all of it.
func newView(d *document.Document) *view {
	v := &view{Document: d, Operations: glossary.Operations(), Columns: glossary.Columns()}
	var colors palette
	ids := map[string]int{}
	for i := range d.Sections {
		s := sectionView{Section: &d.Sections[i], Open: d.Sections[i].Fold && onPage[d.Sections[i].ID]}
		if ids[s.ID]++; ids[s.ID] > 1 { // places of a page have names of their own
			s.Place = fmt.Sprint("-", ids[s.ID])
		}
		if s.Table != nil {
			s.Groups = s.groups()
			s.axis()
		}
		for k := range s.Section.Charts {
			ch := draw(&s.Section.Charts[k], &colors)
			if ch == nil {
				continue
			}
			s.Charts = append(s.Charts, *ch)
			for _, l := range ch.Lines { // the legend has each name once
				if !slices.ContainsFunc(s.Legend, func(o line) bool { return o.Name == l.Name }) {
					s.Legend = append(s.Legend, line{Name: l.Name, Series: l.Series})
				}
			}
		}
		v.Sections = append(v.Sections, s)
	}
	return v
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
	// A load is left out: it is much faster, and would flatten the others.
	drawn := overTime(r, n, func(c *results.Cell) bool { return c.Measured() || c.Kind == results.KindWarmup })
	if len(drawn) > 0 {
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
