package judge

import (
	"strconv"
	"time"

	"github.com/mailbench/mailbench/reports"
)

const (
	// delayMost is by which share the client's own delays may change a percentile.
	delayMost = 0.1
	// leastSlower is how many operations must be slower than a median before it is judged. One
	// operation changes the median of a few. It is also how many drops count.
	leastSlower = 10
	// stoppedMost is the share of a phase in which the client may be stopped.
	stoppedMost = 0.1
	// foreign is the share of a phase above which the client is to blame for pauses
	// although the engine runs on its processors.
	foreign = 0.01
	// lagMost is the share of the median response time that waking up may take.
	lagMost = 0.2
)

// delays judges the client by what its own delays change. The client is to blame if a p50 or
// p99 that is printed is more than a tenth higher than it would have been. It is also to blame
// if its process could not run for a tenth of the phase, and the phase is a closed loop, whose
// rate is then wrong, or has too few operations for a p99.
func (j *Judgement) delays(c *reports.Cell, e *reports.Evidence) {
	if e.Delays == nil || e.Hiccups == nil {
		return
	}
	d := e.Delays
	worst, what := effect(e.Started, d.Response, d.Undelayed)
	what += " of all operations"
	for _, name := range sortedOps(c.Ops) {
		if o := c.Ops[name]; o.Undelayed != nil {
			if ratio, text := effect(o.Count, o.Response, *o.Undelayed); ratio > worst {
				worst, what = ratio, text+" of "+name
			}
		}
	}
	changed := worst > 1+delayMost
	few := e.Started < reports.EnoughFor(0.99)
	if stopped := seconds(e.Hiccups.Total) / max(c.Seconds, 1e-9); stopped > stoppedMost &&
		(c.Arrivals == "closed" || few) {
		what, changed = "its process could not run for "+percent(stopped)+" of the phase", true
	}
	// After a stop one worker finds all overdue operations. As the client's own drops it counts
	// only those that it would have carried out alone.
	count, most := d.Dropped, ""
	if c.Offered != nil && c.Offered.Dropped > count {
		count, most = c.Offered.Dropped, "up to "
	}
	if dropped := share(count, e.Started+count); d.Dropped >= leastSlower && dropped > lateInvalid && !beyondStore(c, d) {
		what, changed = most+percent(dropped)+" of the operations were dropped because of its own delays", true
	}
	switch {
	case !changed:
		if delayed := share(d.Operations, e.Started); delayed > lateDoubt {
			j.doubt(CodeLateStarts, "late starts: the client's own delays are in the response times of %.2f%% of the "+
				"operations; p99.9 contains that", 100*delayed)
		}
	case blameless(c, e):
		j.doubt(CodeLateStarts, "late starts: %s, by delays in this process; engine and client share the processors, so "+
			"nobody can tell whose delays they are", what)
	default:
		j.because(reports.Invalid, CodeClientDelays,
			"client late: %s; leave the machine alone, give the client more processors, or lower the rate", what)
	}
}

// beyondStore reports whether operations were dropped because the store could not carry out so
// many. If the client stood still and the store had capacity to spare, the client's own drops
// (d.Dropped) are at least one in as many as there are workers: one worker alone would have
// carried out so many. If they are fewer, most would have been dropped without the delay.
func beyondStore(c *reports.Cell, d *reports.Delays) bool {
	return c.Offered != nil && c.Client != nil && d.Dropped*int64(c.Client.Workers) < c.Offered.Dropped
}

// effect is the percentile that the client's delays changed most, and by which factor.
// Percentiles of too few operations are left out.
func effect(count int64, reported, undelayed reports.Latency) (worst float64, what string) {
	for _, q := range []struct {
		name            string
		enough          int64
		reported, ideal int64
	}{
		{"p50", 2 * leastSlower, reported.P50, undelayed.P50},
		{"p99", reports.EnoughFor(0.99), reported.P99, undelayed.P99},
	} {
		if ratio := float64(q.reported) / max(1, float64(q.ideal)); count >= q.enough && ratio > worst {
			worst, what = ratio, "without its own delays the "+q.name+" would be "+duration(q.ideal)+
				" and not "+duration(q.reported)
		}
	}
	return worst, what
}

// blameless reports whether the engine may have taken the processors when the client
// was late: it runs on them, and neither other programs nor a quota nor a signal kept
// the client from running.
func blameless(c *reports.Cell, e *reports.Evidence) bool {
	client := c.Client
	if !e.InProcess && !e.Beside || client == nil {
		return false
	}
	if seconds(e.Hiccups.Stopped+client.Throttled) > foreign*c.Seconds {
		return false
	}
	return e.Beside || client.OthersShare <= othersMost
}

// lag adds a doubt about operations that the store answers faster than the client's timer.
func (j *Judgement) lag(c *reports.Cell) {
	j.each(c, CodeClientLag, "waking up in time takes more than 20% of the median response time",
		func(o reports.Op) int64 {
			if float64(o.Lag.P50) <= lagMost*float64(o.Response.P50) {
				return 0
			}
			return o.Count
		})
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
