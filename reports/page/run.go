package page

import (
	"cmp"
	"slices"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/glossary"
	"github.com/mailbench/mailbench/reports/results"
)

// runView is what the template shows of one run.
type runView struct {
	*results.Run
	Title       string
	Facts       []string
	First, Rest []sectionView // before the charts, and after them
	Curves      []curvesView  // of measured phases
	Strips      []strip
	ManyStrips  bool // they are folded
	TimeLegend  []line
	DelayLegend []line
	Models      []modelView
	Repeat      string
	Cells       []cellView
	Operations  []glossary.Term
	Columns     []glossary.Term
}

// curvesView has the percentile curves of a phase.
type curvesView struct {
	Phase string
	percentileCharts
	NoLog bool // the log that has them is gone
}

type cellView struct {
	Name string
	*results.Cell
}

// Source is a run and what a page shows of it.
type Source struct {
	Name   string // folder of the run, as a command can name it; "": not known
	Run    *results.Run
	Curves []results.Curve
	NoLog  bool // the run's latency log is gone, and with it the curves
}

// mostStrips is how many models over time are shown without a fold.
const mostStrips = 6

func newRunView(s *Source) *runView {
	r, n := s.Run, reports.NamesIn(s.Run)
	d := reports.Of(r, "")
	v := &runView{
		Run: r, Title: d.Title, Facts: d.Facts, Repeat: repeat(s.Name),
		Strips: newStrips(r, n, afterLoad), TimeLegend: timeLegend, DelayLegend: latencyLegend,
		Models: newModelViews(r), Operations: glossary.Operations(), Columns: glossary.Columns(),
	}
	v.ManyStrips = len(v.Strips) > mostStrips
	var colours palette
	searches, growths := newSearchCharts(r), newGrowthCharts(r, n, &colours)
	for _, section := range newSections(d) {
		switch section.ID {
		case "search":
			section.Charts, searches = searches[0], searches[1:]
			section.Legend = searchLegend
		case "growth":
			section.Charts, growths = growths[0], growths[1:]
			section.Legend = colours.legend()
		case "cost", "thresholds":
			section.Open = true
		}
		if section.Fold {
			v.Rest = append(v.Rest, section)
		} else {
			v.First = append(v.First, section)
		}
	}
	slices.SortStableFunc(v.Rest, func(a, b sectionView) int { return cmp.Compare(folded(&a), folded(&b)) })
	if r.Sweep == nil { // each point of a sweep has its own
		for _, g := range reports.Sections(r) {
			if c := g.Cells[0]; c.Measured() {
				v.Curves = append(v.Curves, curvesView{c.Where(), newPercentileCharts(&g, s.Curves, n, &colours), s.NoLog})
			}
		}
	}
	for i := range r.Cells {
		v.Cells = append(v.Cells, cellView{n.Of(&r.Cells[i]), &r.Cells[i]})
	}
	return v
}

func folded(v *sectionView) int {
	if v.Open {
		return 0
	}
	return 1
}

// afterLoad reports whether a phase is drawn over time with the measured ones. A load is left
// out: it is much faster, and would flatten the others.
func afterLoad(c *results.Cell) bool { return c.Measured() || c.Kind == results.KindWarmup }
