package reports

import (
	"fmt"
	"io"
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/reports/latency"
)

// Curve is the distribution of one operation's latencies in one phase of one
// model on one engine, over all trials: response times of an open loop,
// service times of a closed one.
type Curve struct {
	Model, Engine, Phase, Op string
	Points                   []Point // by percentile
}

// Point is one point of a curve: so many percent took at most so long.
type Point struct {
	Percentile  float64
	Nanoseconds int64
}

// stepsPerDecade is how many points a curve has between 0 and 90 %, 90 and
// 99 %, and so on.
const stepsPerDecade = 20

// ReadCurves reads the curves of the run's measured phases from its latency
// log, in the order of its cells.
func ReadCurves(r *Run, log io.Reader) ([]Curve, error) {
	type source struct {
		Curve
		tags [2]string // with the phase, as where several are measured, and without
	}
	var sources []source
	wanted := map[string]bool{}
	for i := range r.Cells {
		c := &r.Cells[i]
		if !c.measured() {
			continue
		}
		prefix := c.Model + "." + c.Engine
		for _, op := range opsOf([]*Cell{c}) {
			tags := [2]string{latency.Tag(prefix+"."+c.Phase, op, c.kind()), latency.Tag(prefix, op, c.kind())}
			if wanted[tags[0]] { // a further trial
				continue
			}
			wanted[tags[0]], wanted[tags[1]] = true, true
			sources = append(sources, source{Curve{Model: c.Model, Engine: c.Engine, Phase: c.Phase, Op: op}, tags})
		}
	}
	histograms, err := latency.ReadLog(log, func(tag string) bool { return wanted[tag] })
	if err != nil {
		return nil, fmt.Errorf("read percentile curves: %w", err)
	}
	var curves []Curve
	for _, s := range sources {
		for _, tag := range s.tags {
			if h := histograms[tag]; h != nil {
				s.Points = points(h)
				curves = append(curves, s.Curve)
				break
			}
		}
	}
	return curves, nil
}

// points samples a distribution at even steps of the logarithm of 1/(1-p), up
// to the percentile that only the slowest value is beyond: there is nothing to
// see further on.
func points(h *hdr.Histogram) []Point {
	last := math.Log10(float64(h.TotalCount()))
	var percentiles []float64
	for i := 0; float64(i) < last*stepsPerDecade; i++ {
		percentiles = append(percentiles, 100*(1-math.Pow(10, -float64(i)/stepsPerDecade)))
	}
	percentiles = append(percentiles, 100*(1-math.Pow(10, -last)))
	ps := make([]Point, len(percentiles))
	for i, ns := range h.ValueAtPercentilesSlice(percentiles) {
		ps[i] = Point{percentiles[i], ns}
	}
	// The curve ends where the figures do.
	ps[len(ps)-1].Nanoseconds = h.Max()
	return ps
}
