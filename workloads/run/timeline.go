package run

import (
	"runtime"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/latency"
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

// intervalsMost is how many intervals a timeline has: one that grows longer is
// put together two by two, so that a day's phase takes no more room than one of
// ten minutes.
const intervalsMost = 600

// add enters what was recorded from one moment of the phase to another, the
// last time at the phase's end.
func (t *timeline) add(ops []latency.Op, kind latency.Kind, from, to time.Duration, last bool) {
	in := reports.Interval{At: from.Seconds(), Seconds: (to - from).Seconds()}
	if t.all == nil {
		t.all = hdr.New(1, int64(latency.Highest), 3)
	}
	t.all.Reset()
	var first, latest time.Duration
	for i := range ops {
		o := &ops[i]
		in.Failed += o.Counts[latency.Failed]
		in.Unknown += o.Counts[latency.Unknown]
		in.Dropped += o.Counts[latency.Dropped]
		if o.Counts[latency.OK] == 0 {
			continue
		}
		if in.OK == 0 || o.First < first {
			first = o.First
		}
		latest = max(latest, o.Last)
		in.OK += o.Counts[latency.OK]
		t.all.Merge(o.Times[kind])
		runtime.Gosched() // a merge takes 0.2 ms, and workers should not wait longer
	}
	if in.OK > 0 {
		in.P99, in.Max = t.all.ValueAtQuantile(99), t.all.Max()
		t.silent(first)
		t.last = max(t.last, latest)
	}
	t.append(in, last)
}

// silent ends a time without an operation that was ok. Such times that lie within
// one interval are not seen.
func (t *timeline) silent(until time.Duration) {
	if s := (until - t.last).Seconds(); s > t.gap.Seconds {
		t.gap = reports.Gap{At: t.last.Seconds(), Seconds: s}
	}
}

// append puts an interval at the end, or adds it to one that is not full yet.
// What the end of a phase makes too short to be compared belongs to the interval
// before. A tick that came late makes one long interval, and changes no other.
func (t *timeline) append(in reports.Interval, last bool) {
	if n := len(t.intervals); n > 0 {
		end := &t.intervals[n-1]
		if tick := t.tick.Seconds(); end.Seconds+tick/2 <= t.full || last && in.Seconds < max(tick, t.full)/2 {
			*end = together(*end, in)
			return
		}
	}
	t.intervals = append(t.intervals, in)
	if len(t.intervals) < intervalsMost {
		return
	}
	half := t.intervals[:0]
	for i := 0; i+1 < len(t.intervals); i += 2 {
		half = append(half, together(t.intervals[i], t.intervals[i+1]))
	}
	t.intervals, t.full = half, 2*max(t.full, t.tick.Seconds())
}

func together(a, b reports.Interval) reports.Interval {
	return reports.Interval{
		At: a.At, Seconds: a.Seconds + b.Seconds,
		OK: a.OK + b.OK, Failed: a.Failed + b.Failed, Unknown: a.Unknown + b.Unknown, Dropped: a.Dropped + b.Dropped,
		P99: max(a.P99, b.P99), Max: max(a.Max, b.Max),
	}
}
