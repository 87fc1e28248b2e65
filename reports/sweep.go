package reports

import (
	"math"
	"slices"

	"github.com/mailbench/mailbench/reports/growth"
)

// Sweep is one key of the workload that the run gave several values, and how cost grew
// with those.
type Sweep struct {
	Path   string       `json:"path"` // the key as --set names it
	Points []SweepPoint `json:"points"`
	// Growth follows from the cells and the points.
	Growth []Growth `json:"growth,omitempty"`
}

// SweepPoint is one value of a sweep. Cells name it by Value.
type SweepPoint struct {
	Value      string      `json:"value"`  // the value as the workload says it
	Size       float64     `json:"size"`   // the value in bytes, seconds, operations a second, or without a unit
	SHA256     string      `json:"sha256"` // digest of the workload's text with this value
	Users      int         `json:"users"`
	Folders    int         `json:"folders"`
	Messages   int         `json:"messages"`
	Partitions []Partition `json:"partitions,omitempty"`
}

// Partition is the largest partition that a forecast of a model's schema has after the load.
type Partition struct {
	Model  string  `json:"model"`
	Engine string  `json:"engine"`
	Table  string  `json:"table"`
	Bytes  float64 `json:"bytes"`
}

// Growth is how one figure of one operation of a model on an engine grows over a sweep.
type Growth struct {
	Model    string       `json:"model"`
	Engine   string       `json:"engine"`
	Phase    string       `json:"phase,omitempty"` // "": a forecast, not a measurement
	Op       string       `json:"op"`
	Figure   Figure       `json:"figure"`
	Class    growth.Class `json:"class"`
	Exponent float64      `json:"exponent"`
	// Low and High bound the exponent with 95% confidence. They are left out if there are
	// too few points to tell.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// PowerLow and PowerHigh bound the exponent of the part that grows, if the figure is that
	// part and a fixed part. They are left out if Exponent says enough, or they cannot be told.
	PowerLow  *float64      `json:"power_low,omitempty"`
	PowerHigh *float64      `json:"power_high,omitempty"`
	Exact     bool          `json:"exact,omitempty"` // counted: the errors of the values are known
	Points    []GrowthPoint `json:"points"`          // points at which the figure is known
}

// GrowthPoint is the figure at one point: the median of the trials.
type GrowthPoint struct {
	Point string   `json:"point"`
	Size  float64  `json:"size"`
	Value float64  `json:"value"`
	Error *float64 `json:"error,omitempty"` // relative standard error of a counted figure
}

// PartitionSize is the figure of a forecast. PartitionOp is its Op, where others name an operation.
const (
	PartitionSize Figure = "size"
	PartitionOp   string = "partition"
)

// growthFigures are the figures that are fitted, in the order in which they are shown.
var growthFigures = []Figure{P50, Calls, Rows, Bytes}

// Growths are how the figures of the run's measured phases grow over its sweep. A run without a
// sweep has none. They follow from the cells and the sweep's points.
func (r *Run) Growths() []Growth {
	if r.Sweep == nil {
		return nil
	}
	var all []Growth
	for _, cells := range r.sweptPhases() {
		for _, op := range opsOf(cells) {
			for _, f := range growthFigures {
				for _, cs := range columnsOf(cells) {
					if g, ok := r.growth(cs, op, f); ok {
						all = append(all, g)
					}
				}
			}
		}
	}
	return append(all, r.partitions()...)
}

// sweptPhases are the cells of each measured phase at all points.
func (r *Run) sweptPhases() (phases [][]*Cell) {
	for i := range r.Cells {
		c := &r.Cells[i]
		if !c.Measured() || c.Point == "" {
			continue
		}
		at := slices.IndexFunc(phases, func(cs []*Cell) bool { return cs[0].Phase == c.Phase })
		if at < 0 {
			at, phases = len(phases), append(phases, nil)
		}
		phases[at] = append(phases[at], c)
	}
	return phases
}

// growth fits one figure of a column. It returns false if the figure is not known at any point.
func (r *Run) growth(cs columnCells, op string, f Figure) (Growth, bool) {
	g := Growth{Model: cs[0].Model, Engine: cs[0].Engine, Phase: cs[0].Phase, Op: op, Figure: f}
	for i := range r.Sweep.Points {
		p := &r.Sweep.Points[i]
		var at columnCells
		for _, c := range cs {
			if o, ok := c.Ops[op]; ok && c.Point == p.Value && o.Offered() {
				at = append(at, c)
			}
		}
		one := GrowthPoint{Point: p.Value, Size: p.Size}
		v := OverviewValue{}
		if f.Counted() {
			if v = at.counted(op, f); v.Known {
				e := 0.0
				if v.Median > 0 {
					e = v.deviation / math.Sqrt(float64(v.n)) / v.Median
				}
				one.Error = &e
			}
		} else {
			v, _ = at.times(op, f)
		}
		if one.Value = v.Median; v.Known && !math.IsInf(v.Median, 0) {
			g.Points = append(g.Points, one)
		}
	}
	g.fit()
	return g, len(g.Points) > 0
}

// partitions are how the largest partitions of the forecasts grow.
func (r *Run) partitions() []Growth {
	var all []Growth
	for i := range r.Sweep.Points {
		p := &r.Sweep.Points[i]
		for _, part := range p.Partitions {
			at := slices.IndexFunc(all, func(g Growth) bool { return g.Model == part.Model && g.Engine == part.Engine })
			if at < 0 {
				at, all = len(all), append(all, Growth{
					Model: part.Model, Engine: part.Engine,
					Op: PartitionOp, Figure: PartitionSize,
				})
			}
			none := 0.0
			all[at].Points = append(all[at].Points, GrowthPoint{Point: p.Value, Size: p.Size, Value: part.Bytes, Error: &none})
		}
	}
	for i := range all {
		all[i].fit()
	}
	return all
}

// fit sets the class, the exponent and their bounds from the points.
func (g *Growth) fit() {
	var points []growth.Point
	for _, p := range g.Points {
		one := growth.Point{Size: p.Size, Value: p.Value, Error: -1}
		if p.Error != nil {
			one.Error = *p.Error
		}
		points = append(points, one)
	}
	of := growth.Of(points)
	g.Class, g.Exponent, g.Exact = of.Class, of.Exponent, of.Exact
	g.Low, g.High = finite(of.Low), finite(of.High)
	g.PowerLow, g.PowerHigh = finite(of.PowerLow), finite(of.PowerHigh)
}

// finite is nil for NaN and infinities, which JSON does not have.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
