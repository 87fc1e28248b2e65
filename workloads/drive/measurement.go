package drive

import (
	"cmp"
	"slices"
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
func (f *figures) measurement() Measurement {
	m := Measurement{
		Began: f.began, Ended: f.began.Add(time.Duration(f.seconds * 1e9)),
		Ops: map[string]results.Op{}, Timeline: f.timeline.intervals, Gap: f.timeline.gap,
		Offered: f.offered(&f.stats.tally, f.slots.slotsOf(-1, -1)), Evidence: f.evidence(),
		Client: f.used.client(f.pool.most, f.seconds), Busy: f.stats.busy, Mallocs: f.used.mallocs,
		Bulk: f.bulk, Steady: steady(f.windows),
	}
	if len(f.windows) > 0 {
		m.Median = time.Duration(results.Median(f.windows))
	}
	if f.stats.ops == nil { // a phase that no worker began
		f.stats.ops = make([]opStats, len(f.slots.all))
	}
	if f.hiccups != nil {
		m.AllOps = f.times()
	}
	m.Streams = f.streams()
	for i := range f.Phase.Patterns.Ops() {
		op := workloads.Op(i)
		if f.Phase.Mix.Has(op) || f.loads() && op == workloads.Deliver {
			m.Ops[f.Phase.Patterns.Name(op)] = f.op(f.slots.slotsOf(-1, i))
		}
	}
	return m
}

// offered is the scheduled and the executed load, from a tally and the
// slots of the same operations.
func (f *figures) offered(s *tally, of []int) results.Offered {
	o := results.Offered{
		Due: s.due, Skipped: s.skipped, Replaced: s.replaced,
		Span: f.span.Seconds(), LastStart: s.lastStart.Seconds(),
	}
	for _, i := range of {
		o.Dropped += f.recorder.Total(i).Counts[latency.Dropped]
		if i < len(f.stats.ops) {
			o.NoTarget += f.stats.ops[i].noTarget
		}
	}
	if o.Span == 0 { // a closed loop
		o.Span = f.seconds
	}
	if o.Span > 0 {
		o.Rate = float64(o.Due-o.Skipped-o.NoTarget) / o.Span
		o.Achieved = float64(s.started) / max(o.Span, o.LastStart)
	}
	return o
}

// evidence is what the phase showed of the generator.
func (f *figures) evidence() results.Evidence {
	s, t := &f.stats, f.target
	e := s.evidence
	e.InProcess, e.SameMachine, e.Discards = t.Caps.InProcess, t.SameMachine, t.Caps.Discards
	e.Lateness, e.Started, e.Late, e.Queued = int64(f.Lateness), s.started, s.late, s.queued
	e.Cap, e.Missed, e.Messages, e.Windows, e.Waits = f.cap(), f.undelivered, f.Total, f.windows, f.waits
	if t, ok := judge.Trend(f.windows); ok {
		e.Trend = &t
	}
	if f.hiccups != nil { // a phase that began
		hiccups, delays := f.hiccups.report(), f.delays()
		e.Hiccups, e.Delays = &hiccups, &delays
	}
	return e
}

// op has the figures of one operation. The slots are all of that operation.
func (f *figures) op(of []int) results.Op {
	total, s, i := f.total(of), &opStats{}, f.slots.all[of[0]].op
	for _, k := range of {
		s.merge(&f.stats.ops[k])
	}
	c := &total.Counts
	o := results.Op{
		Count: c[latency.OK], NotFound: c[latency.NotFound], Failed: c[latency.Failed],
		Unknown: c[latency.Unknown], Dropped: c[latency.Dropped], TooLarge: c[latency.TooLarge],
		NoTarget: s.noTarget, Clamped: total.Clamped,
		Fallback: strings.Join(s.fallbacks, ", "),
		Missing:  missing(s.missing),
		Rate:     float64(c[latency.OK]) / max(f.seconds, 1e-9),
		Errors:   s.errors.sorted(),
	}
	switch {
	case !f.target.Offers[i] || s.notOffered:
		o.Support = results.NotOffered
	case len(s.fallbacks) > 0:
		o.Support = results.EmulatedOp
	case o.Count+o.NotFound+o.Failed+o.Unknown+o.TooLarge > 0:
		o.Support = results.Native
	default:
		o.Support = results.NotObserved
	}
	o.SetTimes(total, latency.Latency)
	if n := float64(o.Count); n > 0 {
		o.Patterns = perOperation(o.Count, f.recorder.Parts(of...))
		c, deviations := &s.cost, s.squares
		for i, sum := range countsOf(c) {
			deviations[i] = deviation(n, sum, s.squares[i])
		}
		o.Store = results.StoreCost{
			Calls: float64(c.Calls) / n, Retries: float64(c.Retries) / n,
			Throttled: float64(c.Throttled) / n, Backoff: float64(c.Backoff) / n,
			RowsRead: float64(c.RowsRead) / n, RowsWritten: float64(c.RowsWritten) / n,
			BytesRead: float64(c.BytesRead) / n, BytesWritten: float64(c.BytesWritten) / n,
			BytesAdded: float64(c.BytesAdded) / n,
			BlobCalls:  float64(c.BlobCalls) / n, BlobBytesRead: float64(c.BlobBytesRead) / n,
			BlobBytesWritten: float64(c.BlobBytesWritten) / n,
			CallsDeviation:   deviations[ofRequests], RowsDeviation: deviations[ofRows], BytesDeviation: deviations[ofBytes],
		}
		if c.Unreported == 0 {
			examined := float64(c.RowsExamined) / n
			o.Store.RowsExamined, o.Store.ExaminedDeviation = &examined, deviations[ofScanned]
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

// times are the latencies of all operations together.
func (f *figures) times() *results.Times {
	return results.TimesOf(f.total(f.slots.slotsOf(-1, -1)), latency.Latency)
}

// delays are what client delay changed.
func (f *figures) delays() results.Delays {
	d := f.times().Delays()
	d.Add(&f.stats.delays)
	return d
}

// errorCounts are the texts of errors and how often each came. An engine in
// trouble does not end a run: what fails is counted, and the workers go on.
type errorCounts []errorCount

type errorCount struct {
	shape string
	results.ErrorCount
}

// textsMost is how many texts of errors an operation's result has. Those beyond
// are counted together.
const textsMost = 5

// add counts a text n times.
func (e *errorCounts) add(text string, n int64) {
	s := shape(text)
	for i := range *e {
		if c := &(*e)[i]; c.shape == s || c.Text == results.OtherErrors {
			c.Count += n
			return
		}
	}
	if len(*e) == textsMost {
		text = results.OtherErrors
	}
	*e = append(*e, errorCount{s, results.ErrorCount{Text: text, Count: n}})
}

// shape is a text without the words in which texts of the same error differ: names of
// accounts, messages and nodes, numbers and times.
func shape(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if strings.ContainsAny(w, "0123456789@") {
			words[i] = "…"
		}
	}
	return strings.Join(words, " ")
}

// sorted are the counts, most frequent first, the others last.
func (e errorCounts) sorted() []results.ErrorCount {
	var counts []results.ErrorCount
	for _, c := range e {
		counts = append(counts, c.ErrorCount)
	}
	return results.SortErrors(counts)
}

// perOperation returns the patterns with the mean of their calls and their times, the most calls
// first.
func perOperation(n int64, parts []latency.Part) []results.PatternCalls {
	var all []results.PatternCalls
	for _, p := range parts {
		all = append(all, results.PatternCalls{
			Name: p.Name, Calls: float64(p.Calls) / float64(n), Count: p.Times.TotalCount(),
			Service: &results.PatternTimes{P50: latency.At(p.Times, 50), P99: latency.At(p.Times, 99), Max: p.Times.Max()},
		})
	}
	slices.SortFunc(all, func(a, b results.PatternCalls) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// traced notes a call of a pattern, and those in whose place a fallback runs.
func (w *worker) traced(st drivers.Statement, calls int64) {
	w.took = append(w.took, latency.PartTime{Name: st.Pattern().Name, Took: w.meter.Took, Calls: calls})
	if p := st.Emulates(); p != nil {
		s := &w.stats.ops[w.slot()]
		s.fallbacks = appendNew(s.fallbacks, p.Name)
	}
}
