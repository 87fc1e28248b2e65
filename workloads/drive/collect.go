package drive

import (
	"context"
	"errors"
	"fmt"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/workloads"
)

// collector takes what the workers of a phase recorded, while they run.
type collector struct {
	*phase
	timeline timeline
	logged   logged
	windows  []float64 // windowScore of each window: service time in nanoseconds
	lags     []int64   // mean lag of each window in nanoseconds
	counts   [latency.NumOutcomes]int64
	ops      []latency.Op // see byOp
	sums     []latency.Op
	soFar    *hdr.Histogram // times of all operations that were ok
	lastOK   time.Time      // end of the last window with an operation that was ok
	vanished error          // the engine did not answer a load any more
}

// collect takes what the workers recorded, tick by tick, until they have ended, and
// once more then. stop lets no more operations begin, and kill ends those under way.
func (c *collector) collect(ended <-chan struct{}, stop, kill context.CancelFunc) {
	c.timeline.tick = c.tickEvery()
	ticks := time.NewTicker(c.timeline.tick)
	defer ticks.Stop()
	from := c.began
	c.lastOK = from
	for {
		last := false
		select {
		case <-ended:
			last = true
		case <-ticks.C:
		}
		to := time.Now()
		c.take(from, to, last)
		if last {
			return
		}
		// A warm-up bounded by operations runs them all.
		if c.Phase.Kind == workloads.Warmup && c.Phase.Duration > 0 && warm(c.windows) {
			stop()
		}
		if c.vanished == nil && c.silent(to) {
			stop()
			time.AfterFunc(grace, kill)
		}
		from = to
	}
}

// silenceMost is by when another node has taken over from one that died.
const silenceMost = time.Minute

// silent reports whether nobody has answered a load for so long that it must end, and notes why.
func (c *collector) silent(now time.Time) bool {
	if !c.loads() || !c.target.Engine.Remote || now.Sub(c.lastOK) < c.Silence {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cause := c.lastCause
	if cause == nil {
		cause = errors.New("no call has ended")
	}
	c.vanished = fmt.Errorf("%s has acknowledged nothing for %v, after %d of %d messages: %w", c.target.Engine.Name,
		c.Silence, c.counts[latency.OK], c.Total, cause)
	return true
}

// take takes what was recorded between two times. Last says that the phase has ended.
func (c *collector) take(from, to time.Time, last bool) {
	ticked, hiccups := c.recorder.Tick(), c.hiccups.tick()
	ops := c.byOp(ticked)
	c.writeLog(ops, hiccups, from, to, last)
	c.memory.follow()
	if c.Stream.Open() {
		c.learn()
	}
	c.timeline.add(ops[:workloads.NumOps], c.streamIntervals(ticked, c.timeline.scratch()), latency.Latency,
		from.Sub(c.began), to.Sub(c.began), last)
	if c.Progress != nil {
		c.addSoFar()
	}
	c.window(ticked, to.Sub(from), last)
	if last {
		c.timeline.endGap(to.Sub(c.began))
	}
}

// addSoFar adds the times of the last tick, which the timeline has put together.
func (c *collector) addSoFar() {
	if c.soFar == nil {
		c.soFar = hdr.New(1, int64(latency.Highest), 3)
	}
	c.soFar.Merge(c.timeline.all)
}

// percentile is a percentile of the phase so far, from 0 to 1; 0: too few operations to tell.
func (c *collector) percentile(p float64) time.Duration {
	if c.soFar == nil || c.soFar.TotalCount() < results.EnoughFor(p) {
		return 0
	}
	return time.Duration(latency.At(c.soFar, 100*p))
}

// tickEvery is how long a window is: a tenth of the phase, at least 0.1 s and at most 1 s. A
// warm-up has shorter ones, from 20 ms, so that it can end early. Without a duration it is 0.5 s.
func (c *collector) tickEvery() time.Duration {
	parts, least := time.Duration(10), 100*time.Millisecond
	if c.Phase.Kind == workloads.Warmup {
		parts, least = 25, 20*time.Millisecond
	}
	if d := c.Phase.Duration; d > 0 {
		return min(time.Second, max(least, d/parts))
	}
	return time.Second / 2
}

// window adds the score of a window, and calls Progress. Ops are by slot. The last window
// is too short to compare and gets no score.
func (c *collector) window(ops []latency.Op, length time.Duration, last bool) {
	weights := make([]float64, len(ops))
	var lag, lags float64
	ok := c.counts[latency.OK]
	for i := range ops {
		for out, n := range ops[i].Counts {
			c.counts[out] += n
		}
		if h := ops[i].Times[latency.Lag]; h != nil && h.TotalCount() > 0 {
			lag += h.Mean() * float64(h.TotalCount())
			lags += float64(h.TotalCount())
		}
		weights[i] = float64(c.recorder.Total(i).Counts[latency.OK])
	}
	if score, known := windowScore(ops, weights); known && !last {
		c.windows = append(c.windows, score)
		c.lags = append(c.lags, int64(lag/max(1, lags)))
	}
	done := c.counts[latency.OK] - ok
	if done > 0 {
		c.lastOK = c.began.Add(c.clock.now())
	}
	if last { // the last window says little: report the rate of the whole phase
		done, length = c.counts[latency.OK], c.clock.now()
	}
	if c.Progress != nil {
		c.Progress(c.progress(float64(done)/max(length.Seconds(), 1e-3), last))
	}
}

// progress is how far the phase is.
func (c *collector) progress(rate float64, last bool) Progress {
	pr := Progress{
		OK: c.counts[latency.OK], Dropped: c.counts[latency.Dropped],
		Total: c.Total, Rate: rate, Fraction: -1, Finished: last,
		P50: c.percentile(0.5), P99: c.percentile(0.99),
	}
	all := int64(0)
	for _, n := range c.counts {
		all += n
	}
	pr.Failed = all - pr.OK - pr.Dropped
	if pr.Total == 0 {
		pr.Total = int64(c.Phase.Operations)
	}
	elapsed := c.clock.now()
	switch {
	case last:
		pr.Fraction = 1
	case pr.Total > 0:
		pr.Fraction = min(1, float64(all)/float64(pr.Total))
	case c.Phase.Duration > 0:
		pr.Fraction = min(1, float64(elapsed)/float64(c.Phase.Duration))
	}
	if pr.Fraction > 0 && !last {
		pr.ETA = time.Duration(float64(elapsed)/pr.Fraction) - elapsed
	}
	return pr
}
