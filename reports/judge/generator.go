package judge

import (
	"time"

	"github.com/mailbench/mailbench/reports/results"
)

// The rules' numbers.
const (
	// lateInvalid is the share of operations that changes p99.
	lateInvalid = 0.01
	// ownInvalid is the share of their time above which workers spend too much on their own
	// work: more than in calls.
	ownInvalid = 0.5
	// ownBusy is the share of the phase, on all processors, that own work must take before
	// ownInvalid counts. Workers may catch up for a moment after a pause of the engine.
	ownBusy = 0.25
	// cpuFull is the share of the processors from which on they are full.
	cpuFull = 0.9
	// othersMost is the share of the processors above which other programs are to blame for
	// late starts.
	othersMost = 0.1
	// achievedLeast is the part of the offered rate that must be carried out.
	achievedLeast = 0.99
	// A pause at the very end of a phase is no overload, however short the phase:
	// endPause seconds may always be missing, and endPauseMost if operations still
	// started within inTime half way through.
	endPause, endPauseMost = 0.25, 1.0
	inTime                 = int64(10 * time.Millisecond)
)

// Overloaded reports whether less was carried out than was offered, whoever is to
// blame: an invalid cell may be overloaded, too.
func Overloaded(c *results.Cell) bool {
	o := c.Offered
	if o == nil || c.Arrivals == "closed" {
		return false
	}
	return o.Dropped > 0 || o.Achieved < achievedLeast*o.Rate && !pausedAtEnd(c)
}

// pausedAtEnd tells a pause at the end of a phase from a rate that is too high.
func pausedAtEnd(c *results.Cell) bool {
	o := c.Offered
	behind := o.LastStart - o.Span
	if behind <= 0 { // the phase was stopped with operations that were due and not started
		behind = o.Span * (1 - o.Achieved/o.Rate)
	}
	if behind <= endPause || c.Evidence == nil {
		return behind <= endPause
	}
	lags := c.Evidence.Lags
	return behind <= endPauseMost && len(lags) > 1 && lags[len(lags)/2] < inTime
}

// rate judges what was carried out against what was offered.
func (j *Judgement) rate(c *results.Cell) {
	switch o := c.Offered; {
	case !Overloaded(c):
		for i := range c.Streams { // a small stream may lose much that is little of the whole phase
			if s := &c.Streams[i]; Overloaded(c.Alone(s)) {
				j.because(results.Overloaded, CodeBehind,
					"stream %s: only %s/s of the offered %s/s were carried out; engine and client together cannot do more",
					s.Name, rate(s.Offered.Achieved), rate(s.Offered.Rate))
			}
		}
	case o.Dropped > 0:
		j.because(results.Overloaded, CodeDropped,
			"%d of %d due operations were never started (offered %s/s, achieved %s/s); lower the rate, or raise --max-lag to see how late they would have been",
			o.Dropped, o.Due-o.Skipped-o.NoTarget, rate(o.Rate), rate(o.Achieved))
	default:
		j.because(results.Overloaded, CodeBehind,
			"only %s/s of the offered %s/s were carried out; engine and client together cannot do more",
			rate(o.Achieved), rate(o.Rate))
	}
}

// saturated tells whether the generator, and not the engine, was the bottleneck.
//
// Queueing alone is no sign. These are the signs:
//   - The processors are full and the engine runs elsewhere.
//   - Busy workers spend their time on making operations.
//   - The generator's own delays change the response times: see delays.
//   - Operations wait for workers that are busy with calls which take no longer than
//     usual. If calls take longer, the store is slow: with more workers, operations would
//     wait inside of it.
func (j *Judgement) saturated(c *results.Cell, e *results.Evidence) {
	client := c.Client
	if client == nil {
		return
	}
	if !e.InProcess && client.CPUShare >= cpuFull {
		j.because(results.Invalid, CodeClientCPU,
			"client saturated: mailbench used %.0f%% of the processors that it may use (%.3g), and the engine runs elsewhere; use more machines or a lower rate",
			100*client.CPUShare, client.Capacity)
		return
	}
	busy := seconds(e.Own) > ownBusy*c.Seconds*float64(min(client.Workers, client.Processors))
	if own := float64(e.Own) / max(1, float64(e.Own+e.Service)); busy && own > ownInvalid && e.Started >= 10*leastSlower {
		j.because(results.Invalid, CodeClientBusy,
			"client saturated: busy workers spent %.0f%% of their time on making and recording operations, so the times are mailbench's; lower the rate", 100*own)
		return
	}
	if c.Arrivals == "closed" {
		return
	}
	if queued := share(e.Queued, e.Started); queued > lateInvalid && client.Workers >= e.Cap && e.Cap > 0 {
		crowded := share(e.Crowded, e.Started)
		switch {
		case Full(c):
			j.because(results.Overloaded, CodeWorkersBusy,
				"%s of the operations waited for one of the %d workers, and the processors are full; more workers would not help: lower the rate",
				percent(queued), client.Workers)
		case crowded > lateInvalid:
			j.because(results.Invalid, CodeFewWorkers,
				"too few workers: %s of the operations waited for one of the %d workers while calls took no longer than usual; raise --workers",
				percent(crowded), client.Workers)
		}
	}
}

// Full reports whether engine and generator together fill the processors that they share: more
// workers would not get more done. What other programs use does not count: with more workers the run
// would get a larger share. An engine beside the generator must tell its processor time.
func Full(c *results.Cell) bool {
	e := c.Evidence
	if e == nil || c.Client == nil || !e.InProcess && !e.Beside {
		return false
	}
	used := c.Client.CPUShare * c.Client.Capacity
	if e.Beside && c.Before != nil && c.Engines != nil && c.Before.CPU > 0 && c.Engines.CPU > c.Before.CPU {
		used += seconds(c.Engines.CPU-c.Before.CPU) / max(c.Seconds, 1e-9)
	}
	return used >= cpuFull*float64(c.Client.Processors)
}

// generator says what a reader should know about the generator.
func (j *Judgement) generator(c *results.Cell, e *results.Evidence) {
	const ranks = "such figures rank models, they do not size clusters"
	switch {
	case e.InProcess:
		j.doubt(CodeSharedMachine, "shared machine: engine and client run in one process and share its processors; %s", ranks)
	case e.Beside:
		j.doubt(CodeSharedMachine, "shared machine: engine and client run on one machine and share its processors; %s", ranks)
	}
	j.delays(c, e)
	if queued := share(e.Queued, e.Started); queued > lateInvalid && c.Client != nil {
		j.doubt(CodeQueued, "queued: %.0f%% of the operations found all %d workers busy, and their response times contain the wait%s",
			100*queued, c.Client.Workers, slow(e))
	}
	if waits := share(e.LargeWaits, e.Started); c.Measured() && waits > lateInvalid {
		j.doubt(CodeLargeWaits, "large messages: %s of the operations waited for memory that other operations on large "+
			"messages had, so fewer ran at once than there are clients; "+
			"GOMEMLIMIT=2GiB lets more run", percent(waits))
	}
}

// slow says that the store was slow when most operations that queued were waiting.
func slow(e *results.Evidence) string {
	if e.Cap == 0 || 2*e.Crowded > e.Queued {
		return ""
	}
	return ", most of it for calls that took longer than usual: more workers would only wait inside the store"
}

func share(n, of int64) float64 { return float64(n) / float64(max(1, of)) }

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }
