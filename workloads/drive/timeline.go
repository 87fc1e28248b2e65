package drive

import (
	"runtime"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads"
)

// timeline is how a phase went, interval by interval.
type timeline struct {
	tick      time.Duration // how often add is called, but for late and last calls
	intervals []reports.Interval
	full      float64       // length of an interval in seconds, if it is several ticks
	last      time.Duration // end of the last operation that was ok
	gap       reports.Gap
	all       *hdr.Histogram // of all operations of an interval, for its quantile
}

// intervalsMost is how many intervals a timeline has. A timeline that grows longer
// merges its intervals two by two, so that a phase of a day takes no more room than
// one of ten minutes.
const intervalsMost = 600

// add enters what was recorded from one moment of the phase to another, the
// last time at the phase's end.
func (t *timeline) add(
	ops []latency.Op, streams map[string]reports.OpInterval, kind latency.Kind, from, to time.Duration, last bool,
) {
	in := reports.Interval{At: from.Seconds(), Seconds: (to - from).Seconds(), Ops: map[string]reports.OpInterval{}, Streams: streams}
	t.scratch().Reset()
	var first, latest time.Duration
	for i := range ops {
		o := &ops[i]
		if o.Counts == ([latency.NumOutcomes]int64{}) {
			continue
		}
		one := opInterval(o, kind)
		in.Ops[workloads.Op(i).String()] = one
		in.Failed += one.Failed
		in.Unknown += one.Unknown
		in.Dropped += one.Dropped
		if one.OK == 0 {
			continue
		}
		if in.OK == 0 || o.First < first {
			first = o.First
		}
		latest = max(latest, o.Last)
		in.OK += one.OK
		t.all.Merge(o.Times[kind])
		runtime.Gosched() // a merge takes 0.2 ms, and workers should not wait longer
	}
	if in.OK > 0 {
		in.P50, in.P99, in.Max = t.all.ValueAtQuantile(50), t.all.ValueAtQuantile(99), t.all.Max()
		t.endGap(first)
		t.last = max(t.last, latest)
	}
	t.append(in, last)
}

// scratch is the histogram for quantiles of several operations.
func (t *timeline) scratch() *hdr.Histogram {
	if t.all == nil {
		t.all = hdr.New(1, int64(latency.Highest), 3)
	}
	return t.all
}

// opInterval is what became of one operation.
func opInterval(o *latency.Op, kind latency.Kind) reports.OpInterval {
	c := &o.Counts
	in := reports.OpInterval{
		OK: c[latency.OK], NotFound: c[latency.NotFound], Failed: c[latency.Failed],
		Unknown: c[latency.Unknown], Dropped: c[latency.Dropped], TooLarge: c[latency.TooLarge],
	}
	if h := o.Times[kind]; in.OK > 0 {
		in.P50, in.P99, in.Max = h.ValueAtQuantile(50), h.ValueAtQuantile(99), h.Max()
	}
	return in
}

// endGap ends a time without an operation that was ok. Such times that lie within
// one interval are not seen.
func (t *timeline) endGap(until time.Duration) {
	if s := (until - t.last).Seconds(); s > t.gap.Seconds {
		t.gap = reports.Gap{At: t.last.Seconds(), Seconds: s}
	}
}

// append puts an interval at the end, or adds it to one that is not full yet. The
// last interval of a phase is added to the one before if it is too short to be
// compared. A tick that came late makes one long interval, and changes no other.
func (t *timeline) append(in reports.Interval, last bool) {
	if n := len(t.intervals); n > 0 {
		end := &t.intervals[n-1]
		if tick := t.tick.Seconds(); end.Seconds+tick/2 <= t.full || last && in.Seconds < max(tick, t.full)/2 {
			*end = merged(*end, in)
			return
		}
	}
	t.intervals = append(t.intervals, in)
	if len(t.intervals) < intervalsMost {
		return
	}
	half := t.intervals[:0]
	for i := 0; i+1 < len(t.intervals); i += 2 {
		half = append(half, merged(t.intervals[i], t.intervals[i+1]))
	}
	t.intervals, t.full = half, 2*max(t.full, t.tick.Seconds())
}

// merged is one interval in place of two that follow each other.
func merged(a, b reports.Interval) reports.Interval {
	a.Ops, a.Streams = mergedOps(a.Ops, b.Ops), mergedOps(a.Streams, b.Streams)
	return reports.Interval{
		At: a.At, Seconds: a.Seconds + b.Seconds,
		OK: a.OK + b.OK, Failed: a.Failed + b.Failed, Unknown: a.Unknown + b.Unknown, Dropped: a.Dropped + b.Dropped,
		P50: meanOf(a.P50, a.OK, b.P50, b.OK), P99: max(a.P99, b.P99), Max: max(a.Max, b.Max), Ops: a.Ops,
		Streams: a.Streams,
	}
}

// mergedOps adds b to a.
func mergedOps(a, b map[string]reports.OpInterval) map[string]reports.OpInterval {
	if a == nil {
		return b
	}
	for name, o := range b {
		p := a[name]
		a[name] = reports.OpInterval{
			OK: p.OK + o.OK, NotFound: p.NotFound + o.NotFound, Failed: p.Failed + o.Failed,
			Unknown: p.Unknown + o.Unknown, Dropped: p.Dropped + o.Dropped, TooLarge: p.TooLarge + o.TooLarge,
			P50: meanOf(p.P50, p.OK, o.P50, o.OK), P99: max(p.P99, o.P99), Max: max(p.Max, o.Max),
		}
	}
	return a
}

// meanOf is the mean of two values by how many operations each is of.
func meanOf(a, n, b, m int64) int64 {
	if n+m == 0 {
		return 0
	}
	return int64((float64(a)*float64(n) + float64(b)*float64(m)) / float64(n+m))
}
