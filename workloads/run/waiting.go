package run

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/drive"
)

// Most of what an open loop costs at a low rate is waiting: to wake up takes more time than
// to make and record an operation. So the floor has open loops too, over a mailbox that
// does nothing, at the rates and with the workers of the phases that were measured.

const (
	// A null run is waitingLeast long, or until there are operations for a p99, but never
	// longer than waitingMost.
	waitingLeast, waitingMost = time.Second, 2 * time.Second
	// waitingRates is how many null runs there are at most, of the phases with most
	// operations.
	waitingRates = 4
)

// waiting measures what waiting costs at the rates of the phases.
func (r *runner) waiting(ctx context.Context) error {
	for _, w := range waitings(r.result.Cells, r.config) {
		if ctx.Err() != nil {
			return nil
		}
		if err := w.measure(ctx, r.config.maxLag()); err != nil {
			return err
		}
		r.result.Waiting = append(r.result.Waiting, w.Waiting)
	}
	return nil
}

// waiting is one null run.
type waiting struct {
	reports.Waiting
	arrivals workloads.Arrivals
	pacing   workloads.Pacing
	due      int64 // operations due in the phases with this rate
}

// waitings are the null runs for the open loops among the cells: one for each rate and
// arrivals, with as many workers as there were at most.
func waitings(cells []reports.Cell, c *Config) (all []*waiting) {
	for i := range cells {
		cell := &cells[i]
		p := c.phaseOf(cell)
		if p == nil || p.Arrivals == workloads.Closed || cell.Client == nil || cell.Offered == nil || cell.Offered.Rate <= 0 {
			continue
		}
		rate := cell.Rate // not the rate of operations in sessions, traces and streams
		if rate == 0 || p.Session != nil || p.Replay != nil || len(p.Streams) > 0 {
			rate = twoDigits(cell.Offered.Rate)
		}
		k := slices.IndexFunc(all, func(w *waiting) bool {
			return w.Rate == rate && w.arrivals == p.Arrivals && w.pacing == p.Pacing
		})
		if k < 0 {
			k = len(all)
			all = append(all, &waiting{
				Waiting:  reports.Waiting{Rate: rate, Arrivals: p.Arrivals.String()},
				arrivals: p.Arrivals, pacing: p.Pacing,
			})
		}
		w := all[k]
		w.Workers = max(w.Workers, cell.Client.Workers)
		w.due += cell.Offered.Due
		if !slices.Contains(w.Phases, p.Name) {
			w.Phases = append(w.Phases, p.Name)
		}
	}
	slices.SortStableFunc(all, func(a, b *waiting) int { return cmp.Compare(b.due, a.due) })
	return all[:min(len(all), waitingRates)]
}

// phaseOf is the measured phase of the cell; nil: the cell is of no measured phase.
func (c *Config) phaseOf(cell *reports.Cell) *workloads.Phase {
	for i := range c.Workload.Phases {
		if p := &c.Workload.Phases[i]; p.Kind == workloads.Measure &&
			cell.Kind == reports.KindMeasure && p.Name == cell.Phase {
			return p
		}
	}
	return nil
}

// twoDigits rounds a rate to two digits, so that the rates of several models become one.
func twoDigits(rate float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(rate))-1)
	return math.Round(rate/unit) * unit
}

// measure carries out the null run.
func (w *waiting) measure(ctx context.Context, maxLag time.Duration) error {
	load, census, err := nothingWorkload(ctx)
	if err != nil {
		return err
	}
	enough := time.Duration(float64(reports.EnoughFor(0.99)) / w.Rate * float64(time.Second))
	phase := workloads.Phase{
		Kind: workloads.Measure, Name: "waiting", Arrivals: w.arrivals, Pacing: w.pacing, Rate: workloads.RateOf(w.Rate),
		Duration: min(max(waitingLeast, enough), waitingMost),
		Mix:      workloads.Mix{workloads.List: 50, workloads.Counters: 50},
	}
	m, err := drive.Drive(ctx, nothingTarget(census), drive.Spec{
		Phase: phase, Stream: load.Stream(&phase, census), Workers: w.Workers, First: w.Workers, MaxLag: maxLag,
	})
	if err != nil {
		return err
	}
	w.Operations, w.Pacing = m.Evidence.Started, m.Client.Pacing
	w.CPU = 1e9 * m.Client.CPUSeconds / float64(max(1, w.Operations))
	if m.AllOps != nil {
		w.Lag = m.AllOps.Lag
	}
	return nil
}
