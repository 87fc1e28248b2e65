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
	intervals []reports.Interval
	last      time.Duration // end of the last operation that was ok
	gap       reports.Gap
	all       *hdr.Histogram // of all operations of an interval, for its quantile
}

// intervalsMost is how many intervals a timeline has: one that grows longer is
// put together two by two, so that a day's phase takes no more room than one of
// ten minutes.
const intervalsMost = 600

// add enters what was recorded from one moment of the phase to another.
func (t *timeline) add(ops []latency.Op, kind latency.Kind, from, to time.Duration) {
	in := reports.Interval{At: from.Seconds(), Seconds: (to - from).Seconds()}
	if t.all == nil {
		t.all = hdr.New(1, int64(latency.Highest), 3)
	}
	t.all.Reset()
	var first, last time.Duration
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
		last = max(last, o.Last)
		in.OK += o.Counts[latency.OK]
		t.all.Merge(o.Times[kind])
		runtime.Gosched() // a merge takes 0.2 ms, and workers should not wait longer
	}
	if in.OK > 0 {
		in.P99, in.Max = t.all.ValueAtQuantile(99), t.all.Max()
		t.silent(first)
		t.last = max(t.last, last)
	}
	t.append(in)
}

// silent ends a time without an operation that was ok. Such times that lie within
// one interval are not seen.
func (t *timeline) silent(until time.Duration) {
	if s := (until - t.last).Seconds(); s > t.gap.Seconds {
		t.gap = reports.Gap{At: t.last.Seconds(), Seconds: s}
	}
}

// append puts an interval at the end. What the end of a phase makes too short to
// be compared belongs to the interval before.
func (t *timeline) append(in reports.Interval) {
	if n := len(t.intervals); n > 0 && in.Seconds < t.intervals[n-1].Seconds/2 {
		t.intervals[n-1] = together(t.intervals[n-1], in)
		return
	}
	t.intervals = append(t.intervals, in)
	if len(t.intervals) < intervalsMost {
		return
	}
	half := t.intervals[:0]
	for i := 0; i+1 < len(t.intervals); i += 2 {
		half = append(half, together(t.intervals[i], t.intervals[i+1]))
	}
	t.intervals = half
}

func together(a, b reports.Interval) reports.Interval {
	return reports.Interval{
		At: a.At, Seconds: a.Seconds + b.Seconds,
		OK: a.OK + b.OK, Failed: a.Failed + b.Failed, Unknown: a.Unknown + b.Unknown, Dropped: a.Dropped + b.Dropped,
		P99: max(a.P99, b.P99), Max: max(a.Max, b.Max),
	}
}
