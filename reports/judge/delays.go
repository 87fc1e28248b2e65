package judge

import (
	"fmt"
	"strconv"
	"time"

	"github.com/mailbench/mailbench/reports/results"
)

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
