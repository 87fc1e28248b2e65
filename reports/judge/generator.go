package judge

import (
	"cmp"
	"fmt"
	"strconv"
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

const beyondBoth = "engine and client together cannot do more"

// rate judges what was carried out against what was offered.
func (j *Judgement) rate(c *results.Cell) {
	switch o := c.Offered; {
	case !Overloaded(c):
		for i := range c.Streams { // a small stream may lose much that is little of the whole phase
			if s := &c.Streams[i]; Overloaded(c.Alone(s)) {
				j.because(results.Overloaded, CodeBehind, "stream %s: only %s/s of the offered %s/s were carried out; %s",
					s.Name, rate(s.Offered.Achieved), rate(s.Offered.Rate), cmp.Or(failures(c.Alone(s)), beyondBoth))
			}
		}
	case o.Dropped > 0:
		j.because(results.Overloaded, CodeDropped,
			"%d of %d due operations were never started (offered %s/s, achieved %s/s); %s",
			o.Dropped, o.Due-o.Skipped-o.NoTarget, rate(o.Rate), rate(o.Achieved),
			cmp.Or(failures(c), "lower the rate, or raise --max-lag to see how late they would have been"))
	default:
		j.because(results.Overloaded, CodeBehind, "only %s/s of the offered %s/s were carried out; %s",
			rate(o.Achieved), rate(o.Rate), cmp.Or(failures(c), beyondBoth))
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
		case crowded > lateInvalid && failures(c) == "": // more workers would wait for an engine that fails
			j.because(results.Invalid, CodeFewWorkers,
				"too few workers: %s of the operations waited for one of the %d workers while calls took no longer than usual; raise --workers",
				percent(crowded), client.Workers)
		}
	}
}

// failures says how many operations failed or have an unknown outcome, and the first error, if they are
// enough to be why workers waited: an engine that stopped is the cause, not what waits for it. Otherwise "".
func failures(c *results.Cell) string {
	var wrong, all int64
	for _, o := range c.Ops {
		wrong, all = wrong+o.Failed+o.Unknown, all+o.Count+o.Failed+o.Unknown
	}
	if share(wrong, all) <= lateInvalid {
		return ""
	}
	return fmt.Sprintf("%d of %d operations failed or have an unknown outcome%s", wrong, all, firstError(c.Ops))
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

// apartMost is how far apart shards may begin a phase, as a share of its length.
const apartMost = 0.05

// shards judges a merged cell by its shards. A percentile of all shards hides what one load
// generator did to its part, so the merged cell is no better than its worst generator.
func (j *Judgement) shards(c *results.Cell, e *results.Evidence) {
	for _, s := range e.Shards {
		if (s.Verdict == results.Invalid || s.Verdict == results.Failed) && s.Reason != nil {
			j.because(s.Verdict, CodeShard, "shard %d: %s", s.Shard, s.Reason.Text)
		}
	}
	if apart := apart(e.Shards); !e.InProcess && apart > apartMost*c.Seconds {
		j.because(results.Invalid, CodeShardsApart,
			"the shards began up to %.1f s apart, in a phase of %.1f s: they did not load the engine together; set the clocks of their machines",
			apart, c.Seconds)
	}
}

// apart is how far apart shards began, in seconds.
func apart(shards []results.ShardVerdict) float64 {
	var first, last time.Time
	for i, s := range shards {
		at, err := time.Parse(time.RFC3339Nano, s.Started)
		if err != nil {
			return 0
		}
		if i == 0 || at.Before(first) {
			first = at
		}
		if i == 0 || at.After(last) {
			last = at
		}
	}
	return last.Sub(first).Seconds()
}

const (
	// delayMost is by which share the client's own delays may make a percentile of the response time
	// longer than that of the latency before a warning says so.
	delayMost = 0.1
	// leastSlower is how many operations must be slower than a median before it is judged. One
	// operation changes the median of a few. It is also how many drops count.
	leastSlower = 10
	// stoppedMost is the share of a phase in which the client may stand still.
	stoppedMost = 0.1
	// foreign is the share of a phase above which the client is to blame for pauses
	// although the engine runs on its processors.
	foreign = 0.01
)

// delays judges the client by its own delays. They are not part of a latency, so they only warn. What
// cannot be subtracted makes the phase invalid: the process could not run for a tenth of it, or dropped
// operations that it would have started without its delays. If the engine runs on the same processors, it
// waited for them, too, so only a process that stood still is invalid.
func (j *Judgement) delays(c *results.Cell, e *results.Evidence) {
	if e.Delays == nil || e.Hiccups == nil {
		return
	}
	const advice = "use a quieter machine or more processors"
	d := e.Delays
	// After a stop one worker finds all overdue operations. A drop counts as the client's only if
	// the operation would have run without the client's delay.
	count, most := d.Dropped, ""
	if c.Offered != nil && c.Offered.Dropped > count {
		count, most = c.Offered.Dropped, "up to "
	}
	dropped := share(count, e.Started+count)
	stopped, waited := of(e.Hiccups.Stopped, c), of(e.Hiccups.Total, c)
	shared := e.InProcess || e.Beside
	switch effect := effect(e.Started, d); {
	case stopped > stoppedMost:
		j.because(results.Invalid, CodeClientDelays,
			"client-bound: its process stood still for %s of the phase; lower the rate, or %s", percent(stopped), advice)
	case waited > stoppedMost && !shared:
		j.because(results.Invalid, CodeClientDelays,
			"client-bound: its process could not run for %s of the phase; lower the rate, or %s", percent(waited), advice)
	case d.Dropped >= leastSlower && dropped > lateInvalid && !beyondStore(c, d):
		if what := most + percent(dropped) + " of the operations were dropped because of its delays"; blameless(c, e) {
			j.doubt(CodeClientDelay, "client delay: %s; the engine and mailbench share the processors, so the delay may be of "+
				"either; give them more processors", what)
		} else {
			j.because(results.Invalid, CodeClientDelays, "client-bound: %s; lower the rate, or %s", what, advice)
		}
	case waited > stoppedMost:
		j.doubt(CodeClientDelay, "client delay: its process waited for a processor for %s of the phase; %s", percent(waited), advice)
	case effect != "":
		j.doubt(CodeClientDelay, "client delay: %s; latency does not include it; %s to see the engine without it", effect, advice)
	}
}

// of is which part of a phase a time in nanoseconds is.
func of(ns int64, c *results.Cell) float64 { return min(1, seconds(ns)/max(c.Seconds, 1e-9)) }

// beyondStore reports whether operations were dropped because the store could not carry out so
// many. If the client stood still and the store had capacity to spare, the client's own drops
// (d.Dropped) are at least one in as many as there are workers: one worker alone would have
// carried out so many. If they are fewer, most would have been dropped without the delay.
func beyondStore(c *results.Cell, d *results.Delays) bool {
	return c.Offered != nil && c.Client != nil && d.Dropped*int64(c.Client.Workers) < c.Offered.Dropped
}

// effect says by how much the client's delays made p50 and p99 of the response time longer than the
// latency; "" if by little. It leaves percentiles of too few operations out.
func effect(count int64, d *results.Delays) string {
	text, warn := "", false
	for _, q := range results.Percentiles {
		if q.P != 0.5 && q.P != 0.99 || count < max(2*leastSlower, results.EnoughFor(q.P)) {
			continue
		}
		response, own := q.Of(&d.Response), q.Of(&d.Undelayed)
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s %s", q.Name, duration(max(0, response-own)))
		warn = warn || float64(response) > (1+delayMost)*float64(max(own, 1)) && response-own >= leastWarned
	}
	if !warn {
		return ""
	}
	return text
}

// leastWarned is the least delay in nanoseconds that is worth a warning: timers are not better.
const leastWarned = int64(100 * time.Microsecond)

// blameless reports whether the engine may have taken the processors when the client
// was late: it runs on them, and neither other programs nor a quota nor a signal kept
// the client from running.
func blameless(c *results.Cell, e *results.Evidence) bool {
	client := c.Client
	if !e.InProcess && !e.Beside || client == nil {
		return false
	}
	if seconds(e.Hiccups.Stopped+client.Throttled) > foreign*c.Seconds {
		return false
	}
	return e.Beside || client.OthersShare <= othersMost
}

// duration writes nanoseconds with three digits.
func duration(ns int64) string {
	d := time.Duration(ns)
	for unit := time.Nanosecond; ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
}

// percent writes a share.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + "%" }
