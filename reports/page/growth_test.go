package page

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/workloads/results"
)

// swept is the sample with a sweep in place of its cells: a model that is flat, and one that is
// linear.
func swept(t testing.TB) Source {
	s := sample(t)
	r := s.Run
	r.Cells, r.Searches = nil, nil
	r.Sweep = &results.Sweep{Path: "population.messages"}
	for _, n := range []int{100, 1000, 10000} {
		p := results.SweepPoint{Value: strconv.Itoa(n), Size: float64(n)}
		for _, model := range []string{"james", "oracle"} {
			ns, rows := int64(20_000), 25.0
			if model == "oracle" {
				ns, rows = int64(n)*900, float64(n)
			}
			r.Cells = append(r.Cells, results.Cell{
				Key:  results.Key{Model: model, Engine: "embedded", Phase: "measure", Point: p.Value, Trial: 1, Segment: 1},
				Kind: results.KindMeasure, Arrivals: "closed", Clients: 1, Verdict: results.OK,
				Ops: map[string]results.Op{"list": {
					Count: 500, Support: results.Native, Times: results.Times{Response: results.Latency{P50: ns}}, Store: results.StoreCost{Requests: 1, RowsRead: rows},
				}},
			})
		}
		r.Sweep.Points = append(r.Sweep.Points, p)
	}
	return s
}

// A sweep is drawn: a flat cost is level, a linear one rises from corner to corner, and the
// table next to it has the values.
func TestGrowthIsDrawn(t *testing.T) {
	s := swept(t)
	v := runView(s)
	at := slices.IndexFunc(v.Sections, func(v sectionView) bool { return v.ID == "growth" })
	if at < 0 || len(v.Sections[at].Charts) != 1 || len(v.Sections[at].Legend) != 2 {
		t.Fatalf("growth %+v", v.Sections)
	}
	ch := v.Sections[at].Charts[0]
	var dots []document.Point // their places
	for _, l := range ch.Lines {
		for _, d := range l.Dots {
			dots = append(dots, document.Point{X: ch.Across.At(d.X), Y: ch.Up.At(d.Y)})
		}
	}
	if len(dots) != 6 || len(ch.Across.Ticks) != 3 || dots[0].Y != dots[2].Y || dots[3].Y <= dots[5].Y {
		t.Errorf("dots %+v", dots)
	}
	for _, d := range dots {
		if d.X < ch.Left || d.X > ch.Right+0.01 || d.Y < ch.Top-0.01 || d.Y > ch.Bottom {
			t.Errorf("outside of the chart: %+v", d)
		}
	}
	if up, across := dots[3].Y-dots[5].Y, dots[5].X-dots[3].X; up <= 0 || across < 0.99*(ch.Right-ch.Left) {
		t.Errorf("the line of oracle rises by %g over %g", up, across)
	}
	words := wellFormed(t, write(t, s))
	for _, want := range []string{"linear 1.00", "Grows with population.messages: list of oracle (linear).", "p50, ms", "measure: cost against population.messages, 100 to 10000 in 3 points", "The same at every size: list requests"} {
		if !strings.Contains(words, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	// No size and no value harms it.
	for _, change := range []func(r *results.Run){
		func(r *results.Run) { r.Sweep.Points = nil },
		func(r *results.Run) { r.Sweep.Points = r.Sweep.Points[:1] },
		func(r *results.Run) { r.Cells = nil },
		func(r *results.Run) { r.Sweep.Path = "<script>alert(1)</script>" },
	} {
		s := swept(t)
		change(s.Run)
		if strings.Contains(write(t, s), "<script>alert") {
			t.Error("a text is not escaped")
		}
	}
}

// A workload's answer is first on the page.
func TestAnswerOnThePage(t *testing.T) {
	s := swept(t)
	s.Run.Answer = []string{"A page reads {list.rows at largest} rows at {largest}."}
	page := write(t, s)
	words := wellFormed(t, page)
	for _, want := range []string{"oracle: A page reads 10.0k rows at 10000.", "james: A page reads 25 rows at 10000."} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q on the page", want)
		}
	}
}
