package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mailbench/mailbench/workloads/results"
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
	// achievedLeast is the part of the offered rate that must be executed.
	achievedLeast = 0.99
	// A pause at the very end of a phase is no overload, however short the phase:
	// endPause seconds may always be missing, and endPauseMost if operations still
	// started within inTime half way through.
	endPause, endPauseMost = 0.25, 1.0
	inTime                 = int64(10 * time.Millisecond)
	// apartMost is how far apart segments may begin a phase, as a share of its length.
	apartMost = 0.05
	// delayMost is by which share the client's own delays may make a percentile of the response time
	// longer than that of the latency before a warning says so.
	delayMost = 0.1
	// leastSlower is how many operations must be slower than a median before it is judged. One
	// operation changes the median of a few. It is also how many drops count.
	leastSlower = 10
	// stoppedMost is the share of a phase in which the client may stop.
	stoppedMost = 0.1
	// foreign is the share of a phase above which the client is to blame for pauses
	// although the engine runs on its processors.
	foreign = 0.01
	// leastWarned is the least delay in nanoseconds that is worth a warning: timers are not better.
	leastWarned = int64(100 * time.Microsecond)
	// SteadyWithin is the share by which service times may change when a warm-up is over.
	SteadyWithin = 0.2
	// debtGrows is by how many bytes the compaction debt may grow during a phase:
	// the size of one memtable. debtShare is the same as a share of the data.
	debtGrows, debtShare = 64 << 20, 0.1
	// SamplesFor is how many operations p99.9 needs: ten are slower than it.
	SamplesFor = 10000
	// gcMost is the share of the time that the collector may stop the world.
	gcMost = 0.01
	// sizeMost is the share by which the messages at a point of a sweep may differ from its size.
	// If sizes differ by ten, that changes an exponent by 0.04.
	sizeMost = 0.1
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
	// A pause at the end of a phase is no sign of a rate that is too high.
	behind := o.LastStart - o.Span
	if behind <= 0 { // the phase was stopped before scheduled operations had started
		behind = o.Span * (1 - o.Achieved/o.Rate)
	}
	if behind <= endPause || c.Evidence == nil {
		return behind > endPause
	}
	waits := c.Evidence.Waits
	return behind > endPauseMost || len(waits) < 2 || waits[len(waits)/2] >= inTime
}

// behind says that less was executed than was offered, if it was.
func behind(c *results.Cell) string {
	if !Overloaded(c) {
		return ""
	}
	return fmt.Sprintf("achieved %s/s of the offered %s/s; %s", rate(c.Offered.Achieved),
		rate(c.Offered.Rate), cmp.Or(failures(c), "engine and client are saturated"))
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

// emptyBecause says why no operation was ok although none had an error.
func emptyBecause(c *results.Cell) string {
	switch sum := c.Op(""); {
	case sum.NotFound > 0:
		return "no operation found its message"
	case sum.TooLarge > 0:
		return "all messages were too large for the engine"
	case sum.NoTarget > 0:
		return "there was no existing message to work on"
	case sum.Dropped > 0:
		return "all operations were dropped"
	case sum.Support == results.NotOffered:
		return "the model supports no operation of the mix"
	}
	return "no operation that the model supports was scheduled"
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

// segmentThat is the rule of segments with a verdict.
func segmentThat(v results.Verdict) func(*results.Cell, *results.Evidence) string {
	return func(_ *results.Cell, e *results.Evidence) string {
		for _, s := range e.Segments {
			if s.Verdict == v && s.Reason != nil {
				return fmt.Sprintf("segment %d: %s", s.Segment, s.Reason.Text)
			}
		}
		return ""
	}
}

// apart is how far apart segments began, in seconds.
func apart(segments []results.SegmentVerdict) float64 {
	var all []time.Time
	for _, s := range segments {
		at, err := time.Parse(time.RFC3339Nano, s.Started)
		if err != nil {
			return 0
		}
		all = append(all, at)
	}
	if len(all) == 0 {
		return 0
	}
	return slices.MaxFunc(all, time.Time.Compare).Sub(slices.MinFunc(all, time.Time.Compare)).Seconds()
}

// delays judges the client by its own delays. They are not part of a latency, so they only warn. Delays that
// cannot be subtracted make the phase invalid: the process could not run for a tenth of it, or dropped
// operations that it would have started without its delays. If the engine runs on the same processors, it
// waited for them, too, so only a process that stopped is invalid.
func delays(c *results.Cell, e *results.Evidence) (bound, warning string) {
	if e.Delays == nil || e.Hiccups == nil {
		return "", ""
	}
	const advice = "use a quieter machine or more processors"
	d := e.Delays
	// After a stop one worker finds all overdue operations. A drop counts as the client's only if
	// the operation would have run without the client's delay.
	count, most := d.Dropped, ""
	if c.Offered.Dropped > count {
		count, most = c.Offered.Dropped, "up to "
	}
	dropped := share(count, e.Started+count)
	// If the client stopped and the store had capacity to spare, the client's own drops are at least one in as
	// many as there are workers: one worker alone would have executed so many. If they are fewer, the store could
	// not execute so many, and most would have been dropped without the delay.
	beyondStore := d.Dropped*int64(c.Client.Workers) < c.Offered.Dropped
	stopped, waited := of(e.Hiccups.Stopped, c), of(e.Hiccups.Total, c)
	shared := e.InProcess || e.SameMachine
	client := "client-bound: %s; lower the rate, or " + advice
	switch effect := effect(e.Started, d); {
	case stopped > stoppedMost:
		return fmt.Sprintf(client, "its process stopped for "+percent(stopped)+" of the phase"), ""
	case waited > stoppedMost && !shared:
		return fmt.Sprintf(client, "its process could not run for "+percent(waited)+" of the phase"), ""
	case d.Dropped >= leastSlower && dropped > lateInvalid && !beyondStore:
		what := most + percent(dropped) + " of the operations were dropped because of its delays"
		if !blameless(c, e) {
			return fmt.Sprintf(client, what), ""
		}
		return "", "client delay: " + what + "; engine and client share the processors, so the delay cannot be attributed " +
			"to either; add processors"
	case waited > stoppedMost:
		return "", "client delay: its process waited for a processor for " + percent(waited) + " of the phase; " + advice
	case effect != "":
		return "", "client delay: " + effect + "; latency does not include it; " + advice + " to see the engine without it"
	}
	return "", ""
}

// of is which part of a phase a time in nanoseconds is.
func of(ns int64, c *results.Cell) float64 { return min(1, seconds(ns)/max(c.Seconds, 1e-9)) }

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

// blameless reports whether the engine may have taken the processors when the client
// was late: it runs on them, and neither other programs nor a quota nor a signal kept
// the client from running.
func blameless(c *results.Cell, e *results.Evidence) bool {
	client := c.Client
	if !e.InProcess && !e.SameMachine {
		return false
	}
	if seconds(e.Hiccups.Stopped+client.Throttled) > foreign*c.Seconds {
		return false
	}
	return e.SameMachine || client.OthersShare <= othersMost
}

func share(n, of int64) float64 { return float64(n) / float64(max(1, of)) }

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

// rate writes operations a second with three digits.
func rate(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
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
