package drive

import (
	"context"
	"time"

	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads"
)

// collect takes what the workers recorded, tick by tick, until they have ended, and
// once more then.
func (p *phase) collect(ended <-chan struct{}, stop context.CancelFunc) {
	p.timeline.tick = p.tickEvery()
	ticks := time.NewTicker(p.timeline.tick)
	defer ticks.Stop()
	from := p.began
	for {
		last := false
		select {
		case <-ended:
			last = true
		case <-ticks.C:
		}
		to := time.Now()
		p.take(from, to, last)
		if last {
			return
		}
		// A warm-up bounded by operations runs them all.
		if p.Phase.Kind == workloads.Warmup && p.Phase.Duration > 0 && warm(p.windows) {
			stop()
		}
		from = to
	}
}

// take takes what was recorded between two times. Last says that the phase has ended.
func (p *phase) take(from, to time.Time, last bool) {
	ticked, hiccups := p.recorder.Tick(), p.hiccups.tick()
	ops := p.byOp(ticked)
	p.writeLog(ops, hiccups, from, to, last)
	p.memory.follow()
	if p.Stream.Open() {
		p.learn()
	}
	p.timeline.add(ops[:workloads.NumOps], p.streamIntervals(ticked, p.timeline.scratch()), p.reported(),
		from.Sub(p.began), to.Sub(p.began), last)
	p.window(ticked, to.Sub(from), last)
	if last {
		p.timeline.endGap(to.Sub(p.began))
	}
}

// tickEvery is how long a window is: a tenth of the phase, at least 0.1 s and at most 1 s. A
// warm-up has shorter ones, so that it can end early. Without a duration it is 0.5 s.
func (p *phase) tickEvery() time.Duration {
	parts := time.Duration(10)
	if p.Phase.Kind == workloads.Warmup {
		parts = 25
	}
	if d := p.Phase.Duration; d > 0 {
		return min(time.Second, max(100*time.Millisecond, d/parts))
	}
	return time.Second / 2
}

// reported is which latency the phase reports: the response time in an open loop, the
// service time in a closed one.
func (p *phase) reported() latency.Kind {
	if p.Stream.Open() {
		return latency.Response
	}
	return latency.Service
}

// window adds the score of a window, and calls Progress. Ops are by slot. The last window
// is too short to compare and gets no score.
func (p *phase) window(ops []latency.Op, length time.Duration, last bool) {
	weights := make([]float64, len(ops))
	var lag, lags float64
	ok := p.counts[latency.OK]
	for i := range ops {
		for out, n := range ops[i].Counts {
			p.counts[out] += n
		}
		if h := ops[i].Times[latency.Lag]; h != nil && h.TotalCount() > 0 {
			lag += h.Mean() * float64(h.TotalCount())
			lags += float64(h.TotalCount())
		}
		weights[i] = float64(p.recorder.Total(i).Counts[latency.OK])
	}
	if score, known := windowScore(ops, weights); known && !last {
		p.windows = append(p.windows, score)
		p.lags = append(p.lags, int64(lag/max(1, lags)))
	}
	done := p.counts[latency.OK] - ok
	if last { // the last window says little: report the rate of the whole phase
		done, length = p.counts[latency.OK], p.clock.now()
	}
	if p.Progress != nil {
		p.Progress(p.progress(float64(done)/max(length.Seconds(), 1e-3), last))
	}
}

// progress is how far the phase is.
func (p *phase) progress(rate float64, last bool) Progress {
	pr := Progress{
		OK: p.counts[latency.OK], Dropped: p.counts[latency.Dropped],
		Total: p.Total, Rate: rate, Fraction: -1, Finished: last,
	}
	all := int64(0)
	for _, n := range p.counts {
		all += n
	}
	pr.Others = all - pr.OK - pr.Dropped
	if pr.Total == 0 {
		pr.Total = int64(p.Phase.Operations)
	}
	elapsed := p.clock.now()
	switch {
	case last:
		pr.Fraction = 1
	case pr.Total > 0:
		pr.Fraction = min(1, float64(all)/float64(pr.Total))
	case p.Phase.Duration > 0:
		pr.Fraction = min(1, float64(elapsed)/float64(p.Phase.Duration))
	}
	if pr.Fraction > 0 && !last {
		pr.ETA = time.Duration(float64(elapsed)/pr.Fraction) - elapsed
	}
	return pr
}
