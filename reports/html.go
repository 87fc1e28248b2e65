package reports

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed report.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"duration": func(ns int64) string { return duration(float64(ns)) },
	"span":     func(seconds float64) string { return duration(seconds * 1e9) },
	"amount":   amount,
	"calls":    digits3,
	"size":     size,
	"bytes": func(n int64) string {
		if n < 0 {
			return "unknown"
		}
		return size(float64(n))
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
	Doubts                            []doubt
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
		if r != '\n' && deceptive(r) {
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
	n := namesIn(r)
	all := sections(r)
	p := &page{
		Run: r, Machine: machine(&r.Environment),
		Regime: regime(all, n), TooFew: tooFew(all), Floors: floors(r), Doubts: doubtsOf(r, n),
	}
	p.EngineLines = enginesOf(r)
	if r.Mail != nil {
		p.MailLine = mailInfo(r.Mail)
	}
	for i := range r.Cells {
		p.CellRows = append(p.CellRows, pageCell{n.of(&r.Cells[i]), &r.Cells[i]})
	}
	for i := range r.Audits {
		a := &r.Audits[i]
		p.Tested = append(p.Tested, pageAudit{n.part(a.Model, a.Engine), a.summary(), a.Wrong(), a.Notes})
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

func newPageSection(r *Run, s *section, n names, curves []Curve, series func(string) int) pageSection {
	first := s.cells[0]
	ps := pageSection{Phase: first.Phase, Load: first.load(), Durability: first.Durability, Achieved: s.achieved(n)}
	for _, c := range s.cells {
		if c.Verdict != OK {
			ps.Bad = append(ps.Bad, pageCell{n.of(c), c})
		}
		if gap := c.gap(); gap != "" {
			ps.Gaps = append(ps.Gaps, n.of(c)+": "+gap)
		}
		if charts := newTimeCharts(n.of(c), c); charts != nil {
			ps.Timelines = append(ps.Timelines, charts)
		}
	}
	ps.Troubled = s.troubled() || len(ps.Gaps) > 0
	for _, op := range s.ops {
		g := pageGroup{Op: op}
		var lacking []string
		for _, c := range s.cells {
			o, ok := c.Ops[op]
			switch {
			case !ok:
			case !o.offered():
				lacking = append(lacking, n.of(c))
			default:
				row := pageRow{Name: n.of(c), Cell: c, Op: o, Latency: c.latency(&o), Remarks: strings.Join(o.remarks(), "; ")}
				if ns, ok := floorOf(r, c.Model, op); ok {
					row.Own = duration(ns)
				}
				g.Rows = append(g.Rows, row)
			}
		}
		g.Lacking = strings.Join(lacking, ", ")
		ps.Groups = append(ps.Groups, g)
		if drawn := s.curvesOf(curves, op); len(drawn) > 0 {
			ps.Charts = append(ps.Charts, newChart(op, drawn, func(c *Curve) string { return n.part(c.Model, c.Engine) }, series))
		}
	}
	return ps
}

// curvesOf picks the curves of an operation in the section.
func (s *section) curvesOf(curves []Curve, op string) []Curve {
	var drawn []Curve
	for _, c := range curves {
		if c.Op == op && slices.ContainsFunc(s.cells, func(o *Cell) bool {
			return o.Model == c.Model && o.Engine == c.Engine && o.Phase == c.Phase
		}) {
			drawn = append(drawn, c)
		}
	}
	return drawn
}
