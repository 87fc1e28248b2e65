package run

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads"
)

// blank is the cell of a phase before anything is known.
func (c *cell) blank(spec *workloads.Phase) reports.Cell {
	cell := reports.Cell{
		Model: c.model.Name, Engine: c.engine.Name, Phase: spec.Name, Trial: c.trial,
		Arrivals: "none", Durability: c.caps.Durability.String(), Verdict: reports.OK,
		Doubts: []string{}, Ops: map[string]reports.Op{},
	}
	if spec.Runs() {
		cell.Arrivals, cell.Rate, cell.Clients = spec.Arrivals.String(), 0, spec.Clients
		if spec.Arrivals != workloads.Closed {
			cell.Rate = spec.Rate.PerSecond()
		}
	}
	return cell
}

// notOffered is the cell of a phase whose population the model cannot hold.
func (c *cell) notOffered(spec *workloads.Phase) reports.Cell {
	cell := c.blank(spec)
	cell.Doubts = append(cell.Doubts, "n/a: "+c.lacking)
	for op := range workloads.NumOps {
		if spec.Mix.Has(workloads.Op(op)) {
			cell.Ops[workloads.Op(op).String()] = reports.Op{Support: reports.NotOffered}
		}
	}
	return cell
}

// result is what a phase came to, with its verdict.
func (p *phase) result(before, after *reports.EngineInfo) reports.Cell {
	cell := p.blank(p.spec)
	if p.bulk {
		cell.Durability = drivers.Memory.String()
	}
	cell.Seconds = p.seconds
	cell.Engines = after
	gap := p.line.gap // a pointer into the phase would keep all its histograms for the result
	cell.Timeline, cell.Gap = p.line.intervals, &gap
	cell.Client = &reports.ClientInfo{
		Workers: p.workers(), CPUSeconds: p.used.cpu.Seconds(), CPUShare: p.cpuShare(),
		GCPauses: int64(p.gc), PeakRSS: p.used.rss,
	}
	for i := range workloads.NumOps {
		op := workloads.Op(i)
		if p.spec.Mix.Has(op) || p.load != nil && op == workloads.Deliver {
			cell.Ops[op.String()] = p.op(i)
		}
	}
	p.judge(&cell, before, after)
	return cell
}

// judge gives the cell its verdict and doubts. A load has figures, but is not
// judged: it runs as fast as it can.
func (p *phase) judge(cell *reports.Cell, before, after *reports.EngineInfo) {
	if p.load != nil {
		if p.missed > 0 {
			cell.Doubts = append(cell.Doubts, fmt.Sprintf("incomplete: %d of %d messages of the load could not be delivered", p.missed, p.census.Messages()))
		}
		cell.Doubts = append(cell.Doubts, opDoubts(map[string]reports.Op{"deliver": withoutCount(cell.Ops["deliver"])})...)
		return
	}
	e := p.evidence()
	c := condition{ops: cell.Ops, windows: p.windows, before: before, after: after, seconds: p.seconds, gc: p.gc, settled: p.settled, warm: p.warm}
	cell.Doubts = append(append(cell.Doubts, e.doubts()...), c.doubts()...)
	if p.seen.untargeted > 0 {
		cell.Doubts = append(cell.Doubts, fmt.Sprintf("%d of the dropped operations found no live message to work on", p.seen.untargeted))
	}
	if reason := e.saturated(); reason != "" {
		cell.Verdict, cell.Reason = reports.Invalid, reason
	}
	if name, why := p.broken(cell.Ops); name != "" {
		cell.Verdict, cell.Reason = reports.Failed, fmt.Sprintf("no %s succeeded: %s", name, why)
	}
}

// withoutCount leaves out the doubt that a load, of which there is only one,
// has too few operations.
func withoutCount(o reports.Op) reports.Op {
	o.Count = samplesFor
	return o
}

// broken names the first operation of a phase in which none succeeded though
// some failed, and its most frequent error.
func (p *phase) broken(ops map[string]reports.Op) (name, why string) {
	for _, o := range ops {
		if o.Count > 0 {
			return "", ""
		}
	}
	for _, name := range sortedOps(ops) {
		if o := ops[name]; len(o.Errors) > 0 {
			return name, o.Errors[0].Text
		}
	}
	return "", ""
}

// evidence gathers what the phase showed about the generator.
func (p *phase) evidence() evidence {
	s := &p.seen
	e := evidence{
		arrivals: p.spec.Arrivals.String(), workers: p.workers(), inProcess: p.caps.InProcess, beside: p.beside,
		seconds: p.seconds, processors: runtime.NumCPU(),
		started: s.started, late: s.late, queued: s.queued, own: s.own, service: s.service,
		cpuShare: p.cpuShare(), othersShare: -1,
	}
	if p.used.machine > 0 {
		e.othersShare = p.used.machine.Seconds()/max(p.seconds, 1e-9)/float64(runtime.NumCPU()) - p.cpuShare()
	}
	if min(s.serviceFree.total(), s.serviceQueued.total()) >= enoughToCompare {
		e.serviceFree, e.serviceQueued = s.serviceFree.quantile(0.25), s.serviceQueued.quantile(0.5)
	}
	if n := len(p.lags); n > 1 {
		e.lagMiddle, e.lagEnd = p.lags[n/2], p.lags[n-1]
	}
	return e
}

// enoughToCompare is how many values a quantile needs that is to be compared:
// before a queue that only grows, as many operations as there are workers found
// one free.
const enoughToCompare = 8

// cpuShare is what this process used of all processors.
func (p *phase) cpuShare() float64 {
	return p.used.cpu.Seconds() / max(p.seconds, 1e-9) / float64(runtime.NumCPU())
}

// medianService is over all operations.
func (p *phase) medianService() time.Duration {
	if len(p.windows) == 0 {
		return 0
	}
	return time.Duration(median(p.windows))
}

// op is what was recorded of one operation.
func (p *phase) op(i int) reports.Op {
	total, s := p.recorder.Total(i), &p.seen.ops[i]
	o := reports.Op{
		Count: total.Counts[latency.OK], NotFound: total.Counts[latency.NotFound], Failed: total.Counts[latency.Failed],
		Unknown: total.Counts[latency.Unknown], Dropped: total.Counts[latency.Dropped], TooLarge: total.Counts[latency.TooLarge],
		Clamped:  total.Clamped,
		Support:  reports.Native,
		Fallback: strings.Join(s.fallbacks, ", "),
		Missing:  missing(s.missing),
		Rate:     float64(total.Counts[latency.OK]) / max(p.seconds, 1e-9),
		Service:  summary(total.Times[latency.Service]),
		Lag:      summary(total.Times[latency.Lag]),
		Errors:   s.errors.sorted(),
	}
	switch {
	case !p.offers[i] || s.nowhere:
		o.Support = reports.NotOffered
	case len(s.fallbacks) > 0:
		o.Support = reports.EmulatedOp
	case s.ran(total):
	default:
		o.Support = reports.NotObserved
	}
	o.Response = o.Service // a closed loop has no due times
	if h := total.Times[latency.Response]; h != nil {
		o.Response = summary(h)
	}
	if n := float64(o.Count); n > 0 {
		c := &s.cost
		o.Store = reports.StoreCost{
			Calls: float64(c.Calls) / n, RowsRead: float64(c.RowsRead) / n, RowsWritten: float64(c.RowsWritten) / n,
			BytesRead: float64(c.BytesRead) / n, BytesWritten: float64(c.BytesWritten) / n,
		}
	}
	return o
}

// ran reports whether the operation was carried out at all.
func (*opSightings) ran(total *latency.Op) bool {
	for out, n := range total.Counts {
		if n > 0 && latency.Outcome(out) != latency.Dropped {
			return true
		}
	}
	return false
}

// summary is a distribution's figures; nothing of none.
func summary(h *hdr.Histogram) reports.Latency {
	if h == nil || h.TotalCount() == 0 {
		return reports.Latency{}
	}
	return reports.Latency{
		P50: h.ValueAtQuantile(50), P90: h.ValueAtQuantile(90), P99: h.ValueAtQuantile(99), P999: h.ValueAtQuantile(99.9),
		Max: h.Max(), Mean: h.Mean(),
	}
}

// missing names the fields that an answer lacked.
func missing(k models.Known) string {
	var names []string
	for _, f := range []struct {
		field models.Known
		name  string
	}{
		{models.KnowFrom, "from"},
		{models.KnowSubject, "subject"},
		{models.KnowDate, "date"},
		{models.KnowSize, "size"},
		{models.KnowSeen, "seen"},
		{models.KnowMessages, "messages"},
		{models.KnowUnread, "unread"},
		{models.KnowBytes, "bytes"},
	} {
		if k.Has(f.field) {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, ", ")
}
