package reports

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/units"
)

//go:embed report.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"duration": func(ns int64) string { return units.Duration(float64(ns)) },
	"span":     func(seconds float64) string { return units.Duration(seconds * 1e9) },
	"amount":   units.Amount,
	"calls":    units.Digits,
	"size":     units.Size,
	"bytes": func(n int64) string {
		if n < 0 {
			return "unknown"
		}
		return units.Size(float64(n))
	},
	"upper": strings.ToUpper,
	"words": func(s []string) string { return strings.Join(s, " ") },
}).Parse(pageText))

// page is what the template shows.
type page struct {
	*Run
	Machine, MailLine, Regime, Floors string
	TooFew                            string // what a dash among the percentiles means
	EngineLines                       []string
	Sections                          []pageSection
	Doubts                            []Notice
	Tested                            []pageAudit
	CellRows                          []pageCell
}

// pageSection is the table of a section and its charts.
type pageSection struct {
	Phase, Load, Durability string
	Bad                     []pageCell // cells whose verdict is not ok
	Achieved                string
	Groups                  []pageGroup
	Charts                  []chart
	Gaps                    []string
	Troubled                bool
	Timelines               [][]chart // of each cell
}

// pageGroup holds the lines of one operation.
type pageGroup struct {
	Op      string
	Rows    []pageRow
	Lacking string
}

type pageRow struct {
	Name    string
	Cell    *Cell
	Op      Op
	Latency *Latency
	Own     string
	Remarks string
}

type pageCell struct {
	Name string
	*Cell
}

type pageAudit struct {
	Name, Summary string
	Bad           bool
	Notes         []string
}

// WriteHTML writes the run as one page. It has no script, and needs no style sheet or
// picture from elsewhere.
func WriteHTML(w io.Writer, r *Run, curves []Curve) error {
	var text strings.Builder
	if err := pageTemplate.Execute(&text, newPage(r, curves)); err != nil {
		return fmt.Errorf("make page: %w", err)
	}
	clean := strings.Map(func(r rune) rune {
		if r != '\n' && units.Deceptive(r) {
			return -1
		}
		return r
	}, text.String())
	if _, err := io.WriteString(w, clean); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

func newPage(r *Run, curves []Curve) *page {
	n := NamesIn(r)
	all := Sections(r)
	p := &page{
		Run: r, Machine: MachineLine(&r.Environment),
		Regime: Regime(all, n), TooFew: TooFew(all), Floors: Floors(r), Doubts: DoubtsOf(r, n),
	}
	p.EngineLines = EnginesOf(r)
	if r.Mail != nil {
		p.MailLine = MailLine(r.Mail)
	}
	for i := range r.Cells {
		p.CellRows = append(p.CellRows, pageCell{n.Of(&r.Cells[i]), &r.Cells[i]})
	}
	for i := range r.Audits {
		a := &r.Audits[i]
		p.Tested = append(p.Tested, pageAudit{n.Part(a.Model, a.Engine), a.Summary(), a.Wrong(), a.Notes})
	}
	var known []string
	series := func(name string) int {
		at := slices.Index(known, name)
		if at < 0 {
			at, known = len(known), append(known, name)
		}
		return at % numSeries
	}
	for i := range all {
		p.Sections = append(p.Sections, newPageSection(r, &all[i], n, curves, series))
	}
	return p
}

// numSeries is how many colours the template has.
const numSeries = 8

func newPageSection(r *Run, s *Section, n Names, curves []Curve, series func(string) int) pageSection {
	first := s.Cells[0]
	ps := pageSection{Phase: first.Phase, Load: first.Load(), Durability: first.Durability, Achieved: s.AchievedRates(n)}
	for _, c := range s.Cells {
		if c.Verdict != OK {
			ps.Bad = append(ps.Bad, pageCell{n.Of(c), c})
		}
		if gap := c.LongestGap(); gap != "" {
			ps.Gaps = append(ps.Gaps, n.Of(c)+": "+gap)
		}
		if charts := newTimeCharts(n.Of(c), c); charts != nil {
			ps.Timelines = append(ps.Timelines, charts)
		}
	}
	ps.Troubled = s.Troubled() || len(ps.Gaps) > 0
	for _, op := range s.Ops {
		g := pageGroup{Op: op}
		var lacking []string
		for _, c := range s.Cells {
			o, ok := c.Ops[op]
			switch {
			case !ok:
			case !o.Offered():
				lacking = append(lacking, n.Of(c))
			default:
				row := pageRow{Name: n.Of(c), Cell: c, Op: o, Latency: c.Latency(&o), Remarks: strings.Join(o.Remarks(), "; ")}
				if ns, ok := FloorOf(r, c.Model, op); ok {
					row.Own = units.Duration(ns)
				}
				g.Rows = append(g.Rows, row)
			}
		}
		g.Lacking = strings.Join(lacking, ", ")
		ps.Groups = append(ps.Groups, g)
		if drawn := s.curvesOf(curves, op); len(drawn) > 0 {
			ps.Charts = append(ps.Charts, newChart(op, drawn, func(c *Curve) string { return n.Part(c.Model, c.Engine) }, series))
		}
	}
	return ps
}

// curvesOf picks the curves of an operation in the section.
func (s *Section) curvesOf(curves []Curve, op string) []Curve {
	var drawn []Curve
	for _, c := range curves {
		if c.Op == op && slices.ContainsFunc(s.Cells, func(o *Cell) bool {
			return o.Model == c.Model && o.Engine == c.Engine && o.Phase == c.Phase
		}) {
			drawn = append(drawn, c)
		}
	}
	return drawn
}
