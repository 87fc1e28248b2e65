package judge

import (
	"cmp"
	"fmt"
	"time"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// The rules' numbers.
const (
	// lateInvalid is the share of operations that changes p99.
	lateInvalid = 0.01
	// cpuFull is the share of the processors from which on they are full.
	cpuFull = 0.9
	// achievedLeast is the part of the offered rate that must be executed.
	achievedLeast = 0.99
	// leastSlower is how many operations must be slower than a median before it is judged. One
	// operation changes the median of a few. It is also how many drops count.
	leastSlower = 10
)

// Overloaded reports whether less was executed than was offered, whoever is to
// blame: an invalid cell may be overloaded, too.
func Overloaded(c *results.Cell) bool {
	o := c.Offered
	if o == nil || c.Arrivals == "closed" {
		return false
	}
	if o.Dropped > 0 || o.Achieved >= achievedLeast*o.Rate {
		return o.Dropped > 0
	}
	behind := o.LastStart - o.Span
	if behind <= 0 { // the phase was stopped before scheduled operations had started
		behind = o.Span * (1 - o.Achieved/o.Rate)
	}
	// A pause of a quarter of a second at the very end is no overload, however short the phase is. It may last a second
	// if half of the operations started in time.
	inTime := c.AllOps != nil && c.AllOps.Wait.P50 < int64(10*time.Millisecond)
	return behind > 1 || behind > 0.25 && !inTime
}

// behind says that less was executed than was offered, if it was.
func behind(c *results.Cell) string {
	return when(Overloaded(c), "achieved %s of the offered %s; %s", perSecond(c.Offered.Achieved),
		perSecond(c.Offered.Rate), cmp.Or(failures(c), "engine and client are saturated"))
}

// waited reports whether operations waited for workers, and no more workers could be added. If calls take longer
// than usual, the store is slow: with more workers, operations would wait inside of it.
func waited(c *results.Cell, e *results.Evidence) bool {
	return c.Arrivals != "closed" && share(e.Queued, e.Started) > lateInvalid &&
		c.Client.Workers >= e.Cap && e.Cap > 0
}

// failures says how many operations failed or have an unknown outcome, and the first error, if they are
// enough to be why workers waited: an engine that stopped is the cause, not what waits for it. Otherwise "".
func failures(c *results.Cell) string {
	ok, wrong := succeeded(c)
	if share(wrong, ok+wrong) <= lateInvalid {
		return ""
	}
	text := fmt.Sprintf("%d of %d operations failed or have an unknown outcome", wrong, ok+wrong)
	if name, first := firstError(c.Ops); name != "" {
		text += ": " + name + ": " + first
	}
	return text
}

// firstError is the most frequent error of the first operation that has one; "" if none has.
func firstError(ops map[string]results.Op) (name, text string) {
	for _, name := range sortedOps(ops) {
		if o := ops[name]; len(o.Errors) > 0 {
			return name, o.Errors[0].Text
		}
	}
	return "", ""
}

// succeeded is how many operations were ok, and how many failed or have an unknown outcome.
func succeeded(c *results.Cell) (ok, wrong int64) {
	for _, o := range c.Ops {
		ok += o.Count
		wrong += o.Failed + o.Unknown
	}
	return ok, wrong
}

// Full reports whether engine and generator together fill the processors that they share: more
// workers would not get more done. The time of other programs does not count: with more workers the run
// would get a larger share. An engine on the generator's machine must report its processor time.
func Full(c *results.Cell) bool {
	e := c.Evidence
	if e == nil || c.Client == nil || !e.InProcess && !e.SameMachine {
		return false
	}
	used := c.Client.CPUShare * c.Client.Capacity
	if e.SameMachine && c.Before != nil && c.Engines != nil && c.Before.CPU > 0 && c.Engines.CPU > c.Before.CPU {
		used += seconds(c.Engines.CPU-c.Before.CPU) / max(c.Seconds, 1e-9)
	}
	return used >= cpuFull*float64(c.Client.Processors)
}

// apart is how far apart segments began, in seconds.
func apart(segments []results.SegmentVerdict) float64 {
	var first, last time.Time
	for i, s := range segments {
		at, err := time.Parse(time.RFC3339Nano, s.Started)
		if err != nil {
			return 0
		}
		if i == 0 || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return last.Sub(first).Seconds()
}

// advice is what to do about a client that could not run.
const advice = "use a quieter machine or more processors"

// delays says what the client's own delays changed, and whether that makes the phase invalid. They are not part of a
// latency, so only those count that cannot be subtracted: the process could not run for a tenth of the phase, or
// dropped operations that it would have started without its delays. If the engine runs on the same processors, it may
// have taken them: then that only warns, except drops in one process if other programs took a tenth of the processors.
// Other delays warn if they made p50 or p99 of the response time longer than the latency: by a tenth, and by 100 µs,
// since timers are not better. Percentiles of too few operations are left out.
func delays(c *results.Cell, e *results.Evidence) (text string, invalid bool) {
	if e.Delays == nil || e.Hiccups == nil || c.AllOps == nil {
		return "", false
	}
	lost := min(1, seconds(e.Hiccups.Total)/max(c.Seconds, 1e-9))
	stopped := when(lost > 0.1, "its process could not run for %s of the phase", results.Percent(lost))
	// After a stop one worker finds all overdue operations. If the store had capacity to spare, the client's own drops
	// are at least one in as many as there are workers: one worker alone would have executed so many. If they are
	// fewer, the store could not execute so many, and most would have been dropped without the delay.
	own, all := e.Delays.Dropped, max(e.Delays.Dropped, c.Offered.Dropped)
	dropped := share(all, e.Started+all)
	beyondStore := own*int64(c.Client.Workers) < c.Offered.Dropped
	drops := when(own >= leastSlower && dropped > lateInvalid && !beyondStore,
		"up to %s of the operations were dropped because of its delays", results.Percent(dropped))
	switch {
	case stopped != "" && !e.InProcess && !e.SameMachine:
		return "client-bound: " + stopped + "; lower the rate, or " + advice, true
	case drops != "" && !e.SameMachine && !(e.InProcess && c.Client.OthersShare <= 0.1):
		return "client-bound: " + drops + "; lower the rate, or " + advice, true
	case drops != "":
		return "client delay: " + drops + ", and engine and client share the processors; " + advice, false
	case stopped != "":
		return "client delay: " + stopped + "; " + advice, false
	}
	warn := false
	for _, q := range results.Percentiles {
		if q.P != 0.5 && q.P != 0.99 || e.Started < max(2*leastSlower, results.EnoughFor(q.P)) {
			continue
		}
		response, own := q.Of(&c.AllOps.Response), q.Of(c.AllOps.OK())
		text += fmt.Sprintf(" %s %s,", q.Name, words.Duration(float64(max(0, response-own))))
		warn = warn || float64(response) > 1.1*float64(max(own, 1)) && response-own >= int64(100*time.Microsecond)
	}
	return when(warn, "client delay:%s which latency does not include; %s to see the engine without it", text, advice), false
}

func share(n, of int64) float64 { return float64(n) / float64(max(1, of)) }

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

func perSecond(rate float64) string { return words.Amount(rate) + "/s" }
