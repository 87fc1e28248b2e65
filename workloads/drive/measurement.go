package drive

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/results"
)

// measurement is the result of the phase.
func (p *phase) measurement() Measurement {
	m := Measurement{
		Cell: p.Cell, Busy: p.stats.busy, Mallocs: p.used.mallocs, Steady: steady(p.windows),
		Median: time.Duration(results.Median(p.windows)),
	}
	if p.bulk {
		m.Durability = drivers.Memory.String()
	}
	offered := p.offered(&p.stats.tally, p.slots.every())
	client, gap := p.used.client(p.pool.most, p.seconds), p.timeline.gap
	// The evidence is of the generator.
	e, s, t := p.stats.evidence, &p.stats, p.target
	if known := p.Cell.Evidence; known != nil {
		e.Settled, e.Warm = known.Settled, known.Warm
	}
	e.InProcess, e.SameMachine, e.Discards = t.Caps.InProcess, t.SameMachine, t.Caps.Discards
	e.Lateness, e.Started, e.Late, e.Queued = int64(p.Lateness), s.started, s.late, s.queued
	e.Cap, e.Missed, e.Messages, e.Windows, e.Waits = p.cap(), p.undelivered, p.Total, p.windows, p.waits
	if t, ok := judge.Trend(p.windows); ok {
		e.Trend = &t
	}
	m.SetTime(p.began, p.began.Add(time.Duration(p.seconds*1e9)))
	m.Offered, m.Client, m.Evidence, m.Timeline, m.Gap = &offered, &client, &e, p.timeline.intervals, &gap
	if m.AllOps = p.together(p.slots.every()); m.AllOps != nil {
		hiccups, delays := p.hiccups.report(), m.AllOps.Delays()
		results.Add(&delays, &p.stats.delays)
		e.Hiccups, e.Delays = &hiccups, &delays
	}
	m.Streams, m.Ops = p.streams(), map[string]results.Op{}
	for i := range p.Phase.Patterns.Ops() {
		op := workloads.Op(i)
		if p.Phase.Mix.Has(op) || p.loads() && op == workloads.Deliver {
			o := p.op(p.slots.ofOp[i])
			if m.Ops[p.Phase.Patterns.Name(op)] = o; o.Unknown > 0 && p.Phase.Patterns.Changes(op) {
				p.target.Broken()
			}
		}
	}
	return m
}

// offered is the scheduled and the executed load, from a tally and the
// slots of the same operations.
func (p *phase) offered(s *tally, of []int) results.Offered {
	o := s.Offered
	o.Span = p.span.Seconds()
	for _, i := range of {
		o.Dropped += p.recorder.Total(i).Counts[latency.Dropped]
		o.NoTarget += p.stats.ops[i].noTarget
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

// together has the times of all operations of some slots together; nil if the phase did not begin.
func (p *phase) together(of []int) *results.Times {
	if p.hiccups == nil {
		return nil
	}
	all, _ := results.TimesOf(p.recorder.Total(of...))
	return &all
}

// op has the figures of one operation. The slots are all of that operation.
func (p *phase) op(of []int) results.Op {
	total, s, i := p.recorder.Total(of...), &opStats{}, p.slots.all[of[0]].op
	for _, k := range of {
		s.merge(&p.stats.ops[k])
	}
	c := &total.Counts
	o := results.Op{
		Count: c[latency.OK], NotFound: c[latency.NotFound], Failed: c[latency.Failed],
		Unknown: c[latency.Unknown], Dropped: c[latency.Dropped], TooLarge: c[latency.TooLarge],
		NoTarget: s.noTarget, Clamped: total.Clamped,
		Fallback: strings.Join(s.fallbacks, ", "),
		Missing:  missing(s.missing),
		Rate:     digits(float64(c[latency.OK]) / max(p.seconds, 1e-9)),
		Errors:   results.SortErrors(s.errors),
	}
	switch {
	case !p.target.Offers[i] || s.notOffered:
		o.Support = results.NotOffered
	case len(s.fallbacks) > 0:
		o.Support = results.EmulatedOp
	case o.Count+o.NotFound+o.Failed+o.Unknown+o.TooLarge > 0:
		o.Support = results.Native
	default:
		o.Support = results.NotObserved
	}
	o.Times, o.Quantiles = results.TimesOf(total)
	if n := float64(o.Count); n > 0 {
		o.Patterns = perOperation(o.Count, p.recorder.Parts(of...))
		c, deviations := &s.cost, s.squares
		for i, sum := range countsOf(c) {
			deviations[i] = digits(deviation(n, sum, s.squares[i]))
		}
		mean := func(sum int64) float64 { return digits(float64(sum) / n) }
		o.Store = results.StoreCost{
			Calls: mean(c.Calls), Retries: mean(c.Retries), Throttled: mean(c.Throttled), Backoff: mean(int64(c.Backoff)),
			RowsRead: mean(c.RowsRead), RowsWritten: mean(c.RowsWritten),
			BytesRead: mean(c.BytesRead), BytesWritten: mean(c.BytesWritten), BytesAdded: mean(c.BytesAdded),
			BlobCalls: mean(c.BlobCalls), BlobBytesRead: mean(c.BlobBytesRead), BlobBytesWritten: mean(c.BlobBytesWritten),
			CallsDeviation: deviations[ofRequests], RowsDeviation: deviations[ofRows], BytesDeviation: deviations[ofBytes],
		}
		if c.Unreported == 0 {
			examined := mean(c.RowsExamined)
			o.Store.RowsExamined, o.Store.ExaminedDeviation = &examined, deviations[ofScanned]
		}
	}
	return o
}

// digits keeps nine digits of a value: no difference between runs is smaller, and run.json has thousands of values.
func digits(v float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 9, 64), 64) // it is a number
	return short
}

// fields are those of models.Known, the first of its bits first.
var fields = [...]string{"from", "subject", "date", "size", "seen", "messages", "unread", "bytes"}

// missing names the fields that answers lacked.
func missing(k models.Known) string {
	var names []string
	for i, name := range fields {
		if k.Has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// perOperation returns the patterns with the mean of their calls and their times, the most calls
// first.
func perOperation(n int64, parts []latency.Part) []results.PatternCalls {
	var all []results.PatternCalls
	for _, p := range parts {
		all = append(all, results.PatternCalls{
			Name: p.Name, Calls: digits(float64(p.Calls) / float64(n)), Count: p.Times.TotalCount(),
			Service: &results.PatternTimes{P50: latency.At(p.Times, 50), P99: latency.At(p.Times, 99), Max: p.Times.Max()},
		})
	}
	slices.SortFunc(all, func(a, b results.PatternCalls) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// traced notes a call of a pattern, and those in whose place a fallback runs.
func (w *worker) traced(st drivers.Statement, took time.Duration, calls int64) {
	w.took = append(w.took, latency.PartTime{Name: st.Pattern().Name, Took: took, Calls: calls})
	if p := st.Emulates(); p != nil {
		s := &w.stats.ops[w.slot()]
		s.fallbacks = appendNew(s.fallbacks, p.Name)
	}
}
