package results

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/workloads/latency"
)

// Curve is the distribution of one operation's latencies in one phase of one model on
// one engine, over all trials and shards. Latencies are the response times of an open
// loop and the service times of a closed loop.
type Curve struct {
	Model, Engine, Phase, Op string
	Points                   []Point // in the order of percentiles
}

// Point is one point of a curve: Percentile percent of the operations took at most
// Nanoseconds.
type Point struct {
	Percentile  float64
	Nanoseconds int64
}

// stepsPerDecade is how many points a curve has between 0 and 90 %, 90 and
// 99 %, and so on.
const stepsPerDecade = 20

// OpenLog opens the latency log of a run. The error says if it is not what the run wrote. A log
// that is gone is fs.ErrNotExist.
func OpenLog(dir string, r *Run) (*os.File, error) {
	f, err := plainfile.OpenIn(dir, LatencyFile)
	if err != nil {
		return nil, fmt.Errorf("read latencies: %w", err)
	}
	if r.LatencyLog == nil {
		err = errors.New("its run does not report it")
	} else if err = r.LatencyLog.check(f, r.Interrupted); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read latencies: %s: %w", f.Name(), err), f.Close())
	}
	return f, nil
}

// check compares a log with what it was. A run that was killed may have written more.
func (d *LogDigest) check(log io.Reader, more bool) error {
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(log, d.Bytes))
	if err != nil {
		return err
	}
	rest, err := io.Copy(io.Discard, io.LimitReader(log, 1))
	switch {
	case err != nil:
		return err
	case n < d.Bytes:
		return fmt.Errorf("it is damaged: it has %d bytes, and had %d", n, d.Bytes)
	case hex.EncodeToString(sum.Sum(nil)) != d.SHA256:
		return errors.New("it is damaged: its SHA-256 is not the one in " + RunFile)
	case rest > 0 && !more:
		return fmt.Errorf("it is damaged: it has more than the %d bytes that it had", d.Bytes)
	}
	return nil
}

// OpenCurves reads the curves of a run from its directory.
func OpenCurves(dir string, r *Run) ([]Curve, error) {
	f, err := OpenLog(dir, r)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	curves, err := ReadCurves(r, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return curves, nil
}

// ReadCurves reads the curves of the run's measured phases from its latency log, in the order of its
// cells.
func ReadCurves(r *Run, log io.Reader) ([]Curve, error) {
	type of struct{ model, engine, phase, op string }
	var order []of
	tags := map[string]of{}
	for _, c := range r.Select((*Cell).Measured) {
		for _, op := range OpsOf([]*Cell{c}) {
			k := of{c.Model, c.Engine, c.Where(), op}
			order, tags[c.Tag(op, c.logged().String())] = append(order, k), k
		}
	}
	total, err := latency.ReadLog(log, func(tag string) (of, bool) { k, ok := tags[tag]; return k, ok })
	if err != nil {
		return nil, fmt.Errorf("read percentile curves: %w", err)
	}
	var curves []Curve
	for _, k := range order {
		if h := total[k]; h != nil {
			curves = append(curves, Curve{k.model, k.engine, k.phase, k.op, points(h)})
		}
		delete(total, k) // other trials have the same
	}
	return curves, nil
}

// logged is the kind of time in the latency log of which the cell shows percentiles. Logs of mailbench 0.1
// have no latencies: see Times.OK.
func (c *Cell) logged() latency.Kind {
	for _, o := range c.Ops {
		if o.Latency != nil {
			return latency.Latency
		}
	}
	if c.Arrivals == "closed" || !c.Measured() {
		return latency.Service
	}
	return latency.Response
}

// points samples a distribution at even steps of the logarithm of 1/(1-p). The last
// percentile is the one that only the slowest value is beyond.
func points(h *hdr.Histogram) []Point {
	last := math.Log10(float64(h.TotalCount()))
	var percentiles []float64
	for i := 0; float64(i) < last*stepsPerDecade; i++ {
		percentiles = append(percentiles, 100*(1-math.Pow(10, -float64(i)/stepsPerDecade)))
	}
	percentiles = append(percentiles, 100*(1-math.Pow(10, -last)))
	ps := make([]Point, len(percentiles))
	ranks := make([]float64, len(percentiles)) // as percentiles: see latency.At
	for i, p := range percentiles {
		ranks[i] = 100 * float64(latency.Rank(p, h.TotalCount())) / float64(h.TotalCount())
	}
	for i, ns := range h.ValueAtPercentilesSlice(ranks) {
		ps[i] = Point{percentiles[i], ns}
	}
	// The curve ends at the maximum that the figures have.
	ps[len(ps)-1].Nanoseconds = h.Max()
	return ps
}
