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
	"strings"

	"github.com/kballard/go-shellquote"

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

// Write writes a page of one run, or of several.
func Write(w io.Writer, sources ...Source) error {
	switch len(sources) {
	case 0:
		return fmt.Errorf("create page: no run to show")
	case 1:
		return execute(w, newRunView(&sources[0]))
	}
	return Document(w, several(sources))
}

// HTMLFile is the report in a run directory.
const HTMLFile = "report.html"

// Report writes the page of one run that is in its results folder.
func Report(w io.Writer, name string, r *results.Run, curves []results.Curve) error {
	return execute(w, newRunView(&Source{Name: name, Run: r, Curves: curves}))
}

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

func execute(w io.Writer, v *view) error {
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
			if ch := draw(&s.Section.Charts[k], &colors); ch != nil {
				s.Charts = append(s.Charts, *ch)
			}
		}
		s.Legend = legendOf(s.Charts)
		v.Sections = append(v.Sections, s)
	}
	return v
}

// Document writes a document as a page.
func Document(w io.Writer, d *document.Document) error { return execute(w, newView(d)) }

// sectionView is a section of a document as the template shows it.
type sectionView struct {
	*document.Section
	Place    string          // what its name ends with
	Groups   []span          // titles over several columns; none if no column has one
	Ticks    []document.Tick // of the axis of ranges, in the units of rangeWidth
	Drawn    string          // explains ranges or shades
	from, to float64         // logarithms of the ends of the axis of ranges
	Charts   []chart
	Legend   []line
	Open     bool // it is not folded, although the text leaves it out
	Models   []modelView
	Made     *provenance
}

// Columns is how many columns the table has.
func (v *sectionView) Columns() int { return len(v.Table.Columns) }

// Rest is how many columns are after the first.
func (v *sectionView) Rest() int { return max(1, v.Columns()-1) }

// First reports whether the section is on the first screen.
func (v *sectionView) First() bool { return !v.Fold && v.Made == nil }

// order puts sections of the first screen before those that are open, and these before those that are folded.
func (v *sectionView) order() int {
	switch {
	case !v.Fold:
		return 0
	case v.Open:
		return 1
	}
	return 2
}

// Listed reports whether the list of sections has this one.
func (v *sectionView) Listed() bool { return v.Title != "" && (v.Open || !v.First()) && v.Place == "" }

// After is the first section that is not on the first screen, before which their list is.
func (v *view) After() int {
	at := slices.IndexFunc(v.Sections, func(s sectionView) bool { return !s.First() })
	if at < 0 {
		return len(v.Sections)
	}
	return at
}

// span is a title over several columns.
type span struct {
	Text  string
	Width int
}

// rangeWidth is the width of the chart of ranges.
const rangeWidth = 300

// groups are the titles over several columns; none if no column has one.
func (v *sectionView) groups() (all []span) {
	some := false
	for i := 0; i < len(v.Table.Columns); {
		group, n := v.Table.Columns[i].Group, 1
		for group != "" && i+n < len(v.Table.Columns) && v.Table.Columns[i+n].Group == group {
			n++
		}
		all, some = append(all, span{group, n}), some || group != ""
		i += n
	}
	if !some {
		return nil
	}
	return all
}

// Heading is the group of a row, if it is not that of the row before.
func (v *sectionView) Heading(row int) string {
	if row > 0 && v.Table.Rows[row-1].Group == v.Table.Rows[row].Group {
		return ""
	}
	return v.Table.Rows[row].Group
}

// X is the place of a value on the axis of ranges, in the units of rangeWidth.
func (v *sectionView) X(value float64) float64 {
	return rangeWidth * (math.Log10(value) - v.from) / (v.to - v.from)
}

// Box is the width of the middle half of a range.
func (v *sectionView) Box(r *document.Range) float64 {
	return max(1, v.X(r.ThreeQuarters)-v.X(r.Quarter))
}

// classes are the styles in the style sheet.
var classes = [...]string{"", "strong", "bad", "warn", "soft", "best", "command"}

// class is the style of a cell in the style sheet.
func class(c document.Cell) string {
	s := classes[c.Style]
	if c.Heat > 0 {
		s += fmt.Sprintf(" h%d", c.Heat)
	}
	return strings.TrimSpace(s)
}

// axis is the logarithmic axis of all ranges of the table, and the text that explains ranges or shades.
func (v *sectionView) axis() {
	low, high, label := math.Inf(1), 0.0, milliseconds
	for _, r := range v.Table.Rows {
		for i, c := range r.Cells {
			if c.Heat > 0 {
				v.Drawn = v.Table.Columns[i].Help
			}
			if c.Range == nil {
				continue
			}
			low, high = min(low, c.Range.Low, c.Range.Typical), max(high, c.Range.High, c.Range.ThreeQuarters)
			column := &v.Table.Columns[i]
			v.Drawn = column.Title + ": " + column.Help + ", on a logarithmic axis"
			if column.Unit != "ms" {
				label = plain
			}
		}
	}
	if high == 0 {
		return
	}
	v.from, v.to = math.Log10(low)-0.08, math.Log10(high)+0.08
	for e := math.Floor(v.from); e <= v.to; e++ {
		for _, step := range []float64{1, 2, 5} {
			if ns := step * math.Pow(10, e); v.X(ns) >= 0 && v.X(ns) <= rangeWidth {
				v.Ticks = append(v.Ticks, document.Tick{At: v.X(ns), Label: label(ns)})
			}
		}
	}
	if len(v.Ticks) > 9 { // whole decades only
		kept := v.Ticks[:0]
		for _, t := range v.Ticks {
			if strings.Trim(t.Label, "0.") == "1" {
				kept = append(kept, t)
			}
		}
		v.Ticks = kept
	}
}

// plain writes a number without a unit.
func plain(v float64) string { return fmt.Sprintf("%.6g", v) }

// milliseconds writes nanoseconds as a plain number of ms.
func milliseconds(ns float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.6g", ns/1e6), ".0")
}
