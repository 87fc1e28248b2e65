package drive

import (
	"strings"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/judge"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/reports/summary"
	"github.com/mailbench/mailbench/workloads"
)

// measurement is the result of the phase.
func (p *phase) measurement() Measurement {
	m := Measurement{
		Began: p.began, Ended: p.began.Add(time.Duration(p.seconds * 1e9)),
		Ops: map[string]reports.Op{}, Timeline: p.timeline.intervals, Gap: p.timeline.gap,
		Offered: p.offered(&p.stats.tally, p.slots.slotsOf(-1, -1)), Evidence: p.evidence(),
		Client: p.used.client(p.pool.most, p.seconds), Busy: p.stats.busy, Mallocs: p.used.mallocs,
		Bulk: p.bulk, Steady: steady(p.windows),
	}
	if p.spins.limit > 0 {
		m.Client.Pacing = workloads.BySpin.String()
	}
	if len(p.windows) > 0 {
		m.Median = time.Duration(judge.Median(p.windows))
	}
	if p.stats.ops == nil { // a phase that no worker began
		p.stats.ops = make([]opStats, len(p.slots.all))
	}
	m.AllOps, m.Streams = p.allOps(), p.streams()
	for i := range workloads.NumOps {
		op := workloads.Op(i)
		if p.Phase.Mix.Has(op) || p.loads() && op == workloads.Deliver {
			m.Ops[op.String()] = p.op(p.slots.slotsOf(-1, i))
		}
	}
	return m
}

// offered is what the schedule asked for and what was carried out, from a tally and the
// slots of the same operations.
func (p *phase) offered(s *tally, of []int) reports.Offered {
	o := reports.Offered{
		Due: s.due, Skipped: s.skipped, Replaced: s.replaced,
		Span: p.span.Seconds(), LastStart: s.lastStart.Seconds(),
	}
	for _, i := range of {
		o.Dropped += p.recorder.Total(i).Counts[latency.Dropped]
		if i < len(p.stats.ops) {
			o.NoTarget += p.stats.ops[i].noTarget
		}
	}
	if o.Span == 0 { // a closed loop
		o.Span = p.seconds
	}
	if o.Span > 0 {
		o.Rate = float64(o.Due-o.Skipped-o.NoTarget) / o.Span
		o.Achieved = float64(s.started) / max(o.Span, o.LastStart)
	}
	return o
}

// enoughToCompare is how many values a quantile needs to be compared. If the queue
// only grows, few operations found a free worker: at most one for each worker.
const enoughToCompare = 8

// evidence is what the phase showed of the generator.
func (p *phase) evidence() reports.Evidence {
	s, t := &p.stats, p.target
	e := reports.Evidence{
		InProcess: t.Caps.InProcess, Beside: t.Beside, Discards: t.Caps.Discards,
		Lateness: int64(p.Lateness), Started: s.started, Late: s.late, Queued: s.queued,
		Crowded: s.crowded, Cap: p.cap(), LargeWaits: s.largeWaits,
		Own: int64(s.own), Service: int64(s.service), Missed: p.undelivered, Messages: p.Total,
		Windows: p.windows, Lags: p.lags, NoSpin: p.spins.whyNone,
	}
	if t, ok := judge.Trend(p.windows); ok {
		e.Trend = &t
	}
	if p.hiccups != nil { // a phase that began
		hiccups, delays := p.hiccups.report(), p.delays()
		e.Hiccups, e.Delays = &hiccups, &delays
	}
	if free, queued := summary.ByWait(p.recorded()); min(free.TotalCount(), queued.TotalCount()) >= enoughToCompare {
		e.ServiceFree, e.ServiceQueued = free.ValueAtQuantile(25), queued.ValueAtQuantile(50)
	}
	if p.seconds > 0 {
		e.Occupancy = s.busy.Seconds() / (p.seconds * float64(max(1, p.pool.most)))
	}
	return e
}

// op has the figures of one operation. The slots are all of that operation.
func (p *phase) op(of []int) reports.Op {
	total, s, i := p.total(of), &opStats{}, p.slots.all[of[0]].op
	for _, k := range of {
		s.merge(&p.stats.ops[k])
	}
	c := &total.Counts
	o := reports.Op{
		Count: c[latency.OK], NotFound: c[latency.NotFound], Failed: c[latency.Failed],
		Unknown: c[latency.Unknown], Dropped: c[latency.Dropped], TooLarge: c[latency.TooLarge],
		NoTarget: s.noTarget, Clamped: total.Clamped,
		Fallback: strings.Join(s.fallbacks, ", "),
		Missing:  missing(s.missing),
		Rate:     float64(c[latency.OK]) / max(p.seconds, 1e-9),
		Errors:   s.errors.sorted(),
	}
	switch {
	case !p.target.Offers[i] || s.notOffered:
		o.Support = reports.NotOffered
	case len(s.fallbacks) > 0:
		o.Support = reports.EmulatedOp
	case o.Count+o.NotFound+o.Failed+o.Unknown+o.TooLarge > 0:
		o.Support = reports.Native
	default:
		o.Support = reports.NotObserved
	}
	summary.Times(&o, total, p.reported())
	if n := float64(o.Count); n > 0 {
		o.Patterns = s.patterns.perOperation(o.Count)
		c := &s.cost
		o.Store = reports.StoreCost{
			Calls: float64(c.Calls) / n, RowsRead: float64(c.RowsRead) / n, RowsWritten: float64(c.RowsWritten) / n,
			BytesRead: float64(c.BytesRead) / n, BytesWritten: float64(c.BytesWritten) / n,
			CallsDeviation: deviation(n, float64(c.Calls), s.squares.calls),
			RowsDeviation:  deviation(n, float64(c.RowsRead+c.RowsWritten), s.squares.rows),
			BytesDeviation: deviation(n, float64(c.BytesRead+c.BytesWritten), s.squares.bytes),
		}
	}
	return o
}

// missing names the fields that answers lacked.
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
