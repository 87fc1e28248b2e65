package page

import (
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
	"github.com/mailbench/mailbench/schemas/words"
)

//go:embed *.tmpl style.css
var templateFiles embed.FS

var templates = template.Must(template.New("page").Funcs(template.FuncMap{
	"span": func(seconds float64) string { return words.Duration(seconds * 1e9) },
	"bytes": func(n int64) string {
		if n < 0 {
			return "unknown"
		}
		return words.Size(float64(n))
	},
	"command":    func(words []string) string { return shellquote.Join(words...) },
	"mark":       func(c document.Cell) string { return document.Marks[c.Style] },
	"operations": glossary.Operations, "columns": glossary.Columns,
	"oneline": words.OneLine,
	"px":      func(v float64) string { return fmt.Sprintf("%.1f", v) },
}).ParseFS(templateFiles, "*.tmpl", "style.css"))

// view is a page: a document, with its sections as they are shown.
type view struct {
	*document.Document
	Sections []sectionView
	After    int // the first section that is not on the first screen, before which their list is; -1: none
}

// sectionView is a section of a document as the template shows it.
type sectionView struct {
	*document.Section
	Place    string              // what its name ends with
	Groups   [][]document.Column // nil if no column has a group
	Axis     scale               // of ranges
	Drawn    string              // explains ranges or shades
	Min, Max float64             // values beyond these are drawn there, with an arrow
	Charts   []chart
	Legend   []line // each name once
	Made     *provenance
}

// viewOf is the page of a document. Colors of lines are the same on all of it.
func viewOf(d *document.Document) *view {
	v := &view{Document: d}
	var colors palette
	ids := map[string]int{}
	for i := range d.Sections {
		s := sectionView{Section: &d.Sections[i]}
		if ids[s.ID]++; ids[s.ID] > 1 { // places of a page have names of their own
			s.Place = fmt.Sprint("-", ids[s.ID])
		}
		if s.Table != nil {
			if slices.ContainsFunc(s.Table.Columns, func(c document.Column) bool { return c.Group != "" }) {
				s.Groups = s.Table.Groups()
			}
			s.axis()
		}
		for k := range s.Section.Charts {
			ch := draw(&s.Section.Charts[k], &colors, chartWidth, chartHeight, marginTop)
			if ch == nil {
				continue
			}
			s.Charts = append(s.Charts, *ch)
			for _, l := range ch.Lines {
				if !slices.ContainsFunc(s.Legend, func(o line) bool { return o.Name == l.Name }) {
					s.Legend = append(s.Legend, line{Name: l.Name, Series: l.Series})
				}
			}
		}
		v.Sections = append(v.Sections, s)
	}
	return v
}

func (v *view) write(w io.Writer) error {
	v.After = slices.IndexFunc(v.Sections, func(s sectionView) bool { return s.Fold || s.Made != nil })
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

// X is the place of a value on the axis of ranges.
func (v *sectionView) X(value float64) float64 { return v.Axis.At(min(max(value, v.Min), v.Max)) }

// axis is the logarithmic axis of all ranges of the table, and the text that explains ranges or shades.
func (v *sectionView) axis() {
	low, high := math.Inf(1), 0.0
	axis := document.Axis{Log: true, Text: nanoseconds}
	v.Min, v.Max = 0, math.Inf(1)
	for _, r := range v.Table.Rows {
		for i, c := range r.Cells {
			if slices.Contains(document.Shades[:], c.Style) {
				v.Drawn = v.Table.Columns[i].Help
			}
			if c.Range == nil {
				continue
			}
			low = min(low, c.Range.Low, c.Range.Quarter, c.Range.Typical)
			high = max(high, c.Range.High, c.Range.ThreeQuarters)
			column := &v.Table.Columns[i]
			v.Drawn = column.Title + ": " + column.Help + ", on a logarithmic axis"
			if column.Unit != "ms" { // ratios
				v.Min, v.Max = 0.5, 2 // a few large ones would leave the others no room
				axis.Ticks = []document.Tick{{At: 0.5, Label: "0.5"}, {At: 1, Label: "1"}, {At: 2, Label: "2"}}
			}
		}
	}
	if high > 0 {
		const margin = 1.2
		axis.From, axis.To = max(low, v.Min)/margin, min(high, v.Max)*margin
		v.Axis = newScale(&axis, nil, 0, 300) // as wide as its view box
	}
}
