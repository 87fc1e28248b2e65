package page

import (
	"fmt"
	"math"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// growthView is how the figures of one phase grow over a sweep: a part for each operation.
type growthView struct {
	Title, Flat string
	Points      []string
	Ops         []growthOp
}

// growthOp is one operation: its figures at each point, and the curves of the first figure.
type growthOp struct {
	Op    string
	Rows  []growthRow
	Chart *chart
}

type growthRow struct {
	Name, Grows string
	Values      []string
}

// newGrowthViews shows how cost grows, with the models' colours.
func newGrowthViews(r *results.Run, n reports.Names, colours *palette) []growthView {
	var views []growthView
	tables, marker := reports.GrowthTables(r), reports.NewMarker(r)
	for i := range tables {
		t := &tables[i]
		v := growthView{Title: t.Title(r.Sweep), Flat: strings.Join(t.Flat, ", ")}
		for _, p := range r.Sweep.Points {
			v.Points = append(v.Points, words.OneLine(p.Value))
		}
		for j := range t.Rows {
			row := &t.Rows[j]
			if k := len(v.Ops); k == 0 || v.Ops[k-1].Op != row.Op {
				v.Ops = append(v.Ops, growthOp{Op: row.Op, Chart: newGrowthChart(r.Sweep, row, n, colours)})
			}
			op := &v.Ops[len(v.Ops)-1]
			for k := range row.Models {
				m := &row.Models[k]
				one := growthRow{Name: string(row.Figure) + ", " + n.Part(m.Model, m.Engine), Grows: reports.GrowthText(m)}
				if marks := marker.Grown(m); marks.Emulated != "" {
					one.Name += " (emulated: " + marks.Emulated + ")"
				} else if marks.Lint != "" {
					one.Name += " (schema lint calls an error: " + marks.Lint + ")"
				}
				for _, p := range r.Sweep.Points {
					one.Values = append(one.Values, reports.GrowthAt(m, p.Value))
				}
				op.Rows = append(op.Rows, one)
			}
		}
		views = append(views, v)
	}
	return views
}

// labelRoom is the least distance between two labels of the horizontal axis.
const labelRoom = 44

// newGrowthChart draws the curves of one figure. Both axes are logarithmic, so that a power is a
// straight line. The chart is nil if there is nothing to draw.
func newGrowthChart(s *results.Sweep, row *reports.Grown, n reports.Names, colours *palette) *chart {
	ch := newChart(row.Op+", "+string(row.Figure)+" by "+words.OneLine(s.Path), words.OneLine(s.Path), chartHeight)
	least, most := math.Inf(1), 0.0
	for _, m := range row.Models {
		for _, p := range m.Points {
			if p.Value > 0 {
				least, most = min(least, p.Value), max(most, p.Value)
			}
		}
	}
	first, last := s.Points[0].Size, s.Points[len(s.Points)-1].Size
	if most == 0 || last <= first {
		return nil
	}
	x := func(size float64) float64 {
		return ch.Left + math.Log(size/first)/math.Log(last/first)*(ch.Right-ch.Left)
	}
	low, high := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	high = max(high, low+1)
	y := func(v float64) float64 { return ch.Bottom + (math.Log10(v)-low)/(high-low)*(ch.Top-ch.Bottom) }
	for e := low; e <= high; e++ {
		ch.Y = append(ch.Y, tick{y(math.Pow(10, e)), row.Figure.Text(math.Pow(10, e))})
	}
	for i, p := range s.Points {
		label := words.OneLine(p.Value)
		if at := x(p.Size); i == 0 || at-ch.X[len(ch.X)-1].At >= labelRoom {
			ch.X = append(ch.X, tick{at, label})
		}
	}
	var said []string
	for i := range row.Models {
		m := &row.Models[i]
		name := n.Part(m.Model, m.Engine)
		of := line{Name: name + ": " + reports.GrowthText(m), Series: colours.series(name)}
		var points polyline
		for _, p := range m.Points {
			if p.Value <= 0 || p.Size < first || p.Size > last {
				points.lift()
				continue
			}
			points.add(x(p.Size), y(p.Value))
			ch.Dots = append(ch.Dots, dot{
				x(p.Size), y(p.Value), of.Series,
				name + " at " + words.OneLine(p.Point) + ": " + row.Figure.Text(p.Value), false,
			})
		}
		of.Segments = points.drawn()
		ch.Lines = append(ch.Lines, of)
		said = append(said, name+" "+reports.GrowthText(m))
	}
	ch.Summary = fmt.Sprintf("%s of %s against %s: %s.", row.Figure, row.Op,
		words.OneLine(s.Path), strings.Join(said, ", "))
	return &ch
}
