package drive

import (
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/latency"
)

// leastDelay is the least delay that is held against the client. Below it, waking
// up is what a timer costs.
const leastDelay = 500 * time.Microsecond

// undelayed is the response time that an operation would have had if this client
// had lost no time. Each worker keeps a second course of events, in which an operation
// starts when it is due and the worker's operation before has ended, and takes the
// same service time, less the hiccup at its end. Waiting for a slow store is in
// both courses. Late timers, a stopped process and the time that workers take to make
// operations are only in the real one.
func (w *worker) undelayed(due, start, end time.Duration) time.Duration {
	service := end - start - w.phase.hiccups.before(start, end)
	if w.timer == nil {
		return service
	}
	w.free = max(due, w.free) + service
	return w.free - due
}

// noteDelay notes the response time of an operation that was ok, and what it would
// have been.
func (w *worker) noteDelay(real, ideal time.Duration) {
	if real-ideal >= leastDelay {
		w.recorder.Delay(int(w.op.Op), real, ideal)
	}
}

// withoutDelays is a distribution of response times in which the delayed operations
// have the times that they would have had.
func withoutDelays(o *latency.Op, reported latency.Kind) *hdr.Histogram {
	all, delayed, ideal := o.Times[reported], o.Times[latency.Delayed], o.Times[latency.Undelayed]
	if all == nil || delayed == nil {
		return all
	}
	h := without(all, delayed)
	h.Merge(ideal)
	return h
}

// without is a distribution less a part of it.
func without(all, part *hdr.Histogram) *hdr.Histogram {
	counts, less := all.Export(), part.Export().Counts
	for i, n := range less {
		counts.Counts[i] -= n
	}
	return hdr.Import(counts)
}

// delays compares the response times of all operations together with those that
// they would have had.
func (p *phase) delays() (d reports.Delays) {
	real, ideal := hdr.New(1, int64(latency.Highest), 3), hdr.New(1, int64(latency.Highest), 3)
	for i := range p.target.Offers {
		o := p.recorder.Total(i)
		if h := o.Times[p.reported()]; h != nil {
			real.Merge(h)
			ideal.Merge(withoutDelays(o, p.reported()))
		}
		if h := o.Times[latency.Delayed]; h != nil {
			d.Operations += h.TotalCount()
		}
	}
	d.Dropped = p.stats.droppedByClient
	d.Response, d.Undelayed = summary(real), summary(ideal)
	return d
}
