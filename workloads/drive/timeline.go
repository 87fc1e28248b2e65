package drive

import (
	"runtime"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/workloads"
)

// timeline is how a phase went, interval by interval.
type timeline struct {
	tick      time.Duration // time between calls of add, except for late calls and the last
	intervals []results.Interval
	full      float64       // length of an interval in seconds; 0: one tick
	last      time.Duration // end of the last operation that was ok
	gap       results.Gap
	all       *hdr.Histogram // scratch space for the quantiles of several operations
}

// intervalsMost is how many intervals a timeline has. A timeline that grows longer
// merges its intervals two by two, so that a phase of a day takes no more room than
// one of ten minutes.
const intervalsMost = 600

// add adds the interval between two moments of the phase. Last says that the phase has
// ended.
func (t *timeline) add(
	ops []latency.Op, streams map[string]results.OpInterval, kind latency.Kind, from, to time.Duration, last bool,
) {
	in := results.Interval{
		At: from.Seconds(), Seconds: (to - from).Seconds(),
		Ops: map[string]results.OpInterval{}, Streams: streams,
	}
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
		in.P50, in.P99, in.Max = latency.At(t.all, 50), latency.At(t.all, 99), t.all.Max()
		t.endGap(first)
		t.last = max(t.last, latest)
	}
	t.append(in, last)
}

// scratch returns t.all. The caller resets it.
func (t *timeline) scratch() *hdr.Histogram {
	if t.all == nil {
		t.all = hdr.New(1, int64(latency.Highest), 3)
	}
	return t.all
}

// opInterval has the counts and latencies of one operation in an interval.
func opInterval(o *latency.Op, kind latency.Kind) results.OpInterval {
	c := &o.Counts
	in := results.OpInterval{
		OK: c[latency.OK], NotFound: c[latency.NotFound], Failed: c[latency.Failed],
		Unknown: c[latency.Unknown], Dropped: c[latency.Dropped], TooLarge: c[latency.TooLarge],
	}
	if h := o.Times[kind]; in.OK > 0 {
		in.P50, in.P99, in.Max = latency.At(h, 50), latency.At(h, 99), h.Max()
	}
	return in
}

// endGap ends a time without a successful operation, and keeps it if it is the longest. A
// gap within one interval is not seen.
func (t *timeline) endGap(until time.Duration) {
	if s := (until - t.last).Seconds(); s > t.gap.Seconds {
		t.gap = results.Gap{At: t.last.Seconds(), Seconds: s}
	}
}

// append puts an interval at the end, or adds it to one that is not full yet. The
// last interval of a phase is added to the one before if it is too short to be
// compared. A late tick makes one long interval, and changes no other.
func (t *timeline) append(in results.Interval, last bool) {
	if n := len(t.intervals); n > 0 {
		end := &t.intervals[n-1]
		if tick := t.tick.Seconds(); end.Seconds+tick/2 <= t.full || last && in.Seconds < max(tick, t.full)/2 {
			end.Follow(&in)
			return
		}
	}
	t.intervals = append(t.intervals, in)
	if len(t.intervals) < intervalsMost {
		return
	}
	half := t.intervals[:0]
	for i := 0; i+1 < len(t.intervals); i += 2 {
		t.intervals[i].Follow(&t.intervals[i+1])
		half = append(half, t.intervals[i])
	}
	t.intervals, t.full = half, 2*max(t.full, t.tick.Seconds())
}
