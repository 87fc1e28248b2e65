package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/reports/results"
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

// delays judges the client by what its own delays change. A percentile of an operation is
// withheld if it is more than a tenth higher than it would have been, and by more than chance.
// The client is to blame for the whole cell if the p50 or p99 of all operations together is so.
// It is also to blame if its process could not run for a tenth of the phase, and the phase is a
// closed loop, whose rate is then wrong, or has too few operations for a p99.
func (j *Judgement) delays(c *results.Cell, e *results.Evidence) {
	if e.Delays == nil || e.Hiccups == nil {
		return
	}
	d := e.Delays
	what, changed := effect(e.Started, d)
	few := e.Started < results.EnoughFor(0.99)
	if stopped := seconds(e.Hiccups.Total) / max(c.Seconds, 1e-9); stopped > stoppedMost &&
		(c.Arrivals == "closed" || few) {
		what, changed = "its process could not run for "+percent(stopped)+" of the phase", true
	}
	// After a stop one worker finds all overdue operations. A drop counts as the client's only if
	// the operation would have run without the client's delay.
	count, most := d.Dropped, ""
	if c.Offered != nil && c.Offered.Dropped > count {
		count, most = c.Offered.Dropped, "up to "
	}
	if dropped := share(count, e.Started+count); d.Dropped >= leastSlower && dropped > lateInvalid && !beyondStore(c, d) {
		what, changed = most+percent(dropped)+" of the operations were dropped because of its delays", true
	}
	switch {
	case !changed:
		if !blameless(c, e) {
			j.withhold(c)
		}
		if delayed := share(d.Operations, e.Started); delayed > lateDoubt {
			j.doubt(CodeLateStarts, "late starts: mailbench itself started %.2f%% of the operations late, and their "+
				"response times contain that; distrust p99.9", 100*delayed)
		}
	case blameless(c, e):
		j.doubt(CodeLateStarts, "late starts: %s; the engine and mailbench share the processors, so nobody can tell whose "+
			"delay it is; give them more processors", what)
	default:
		j.because(results.Invalid, CodeClientDelays,
			"mailbench started operations late: %s; counts, rows and bytes hold, times do not; lower the rate, or use a "+
				"quieter machine or more processors", what)
	}
}

// beyondStore reports whether operations were dropped because the store could not carry out so
// many. If the client stood still and the store had capacity to spare, the client's own drops
// (d.Dropped) are at least one in as many as there are workers: one worker alone would have
// carried out so many. If they are fewer, most would have been dropped without the delay.
func beyondStore(c *results.Cell, d *results.Delays) bool {
	return c.Offered != nil && c.Client != nil && d.Dropped*int64(c.Client.Workers) < c.Offered.Dropped
}

// effect says which percentile of all operations together, p50 or p99, the client's delays changed
// most, and whether by more than a tenth and by more than chance. It leaves percentiles of too
// few operations out.
func effect(count int64, d *results.Delays) (what string, changed bool) {
	worst := 1 + delayMost
	for _, q := range results.Percentiles {
		if q.P != 0.5 && q.P != 0.99 || count < max(2*leastSlower, results.EnoughFor(q.P)) {
			continue
		}
		reported, ideal := q.Of(&d.Response), q.Of(&d.Undelayed)
		if ratio := float64(reported) / max(1, float64(ideal)); ratio > worst && beyondChance(q.Of, d.Least, ideal) {
			worst, changed = ratio, true
			what = fmt.Sprintf("%s of all operations was %.3g times as long as without its delays", q.Name, ratio)
		}
	}
	return what, changed
}

// beyondChance reports whether a percentile as it would have been without the client's delays is
// below the interval of the one that was measured.
func beyondChance(of func(*results.Latency) int64, least *results.Latency, ideal int64) bool {
	return least == nil || ideal < of(least)
}

// withhold withholds the percentiles of operations, and of streams, that the client's delays changed,
// and says so.
func (j *Judgement) withhold(c *results.Cell) {
	named := map[string][]string{} // operations by percentile
	note := func(key, name string, count int64, response, undelayed, least *results.Latency) {
		for _, p := range changed(count, response, undelayed, least) {
			if j.Withheld == nil {
				j.Withheld = map[string][]string{}
			}
			j.Withheld[key] = append(j.Withheld[key], p)
			if !slices.Contains(named[p], name) {
				named[p] = append(named[p], name)
			}
		}
	}
	for _, op := range sortedOps(c.Ops) {
		o := c.Ops[op]
		note(op, op, o.Count, &o.Response, o.Undelayed, o.Least)
	}
	for i := range c.Streams {
		s := &c.Streams[i]
		var count int64
		for _, op := range sortedOps(s.Ops) {
			o := s.Ops[op]
			count += o.Count
			note(results.StreamOp(s.Name, op), c.Tagged(s, op), o.Count, &o.Response, o.Undelayed, o.Least)
		}
		if s.AllOps != nil {
			note(results.StreamOp(s.Name, ""), "stream "+s.Name, count, &s.AllOps.Response, s.Undelayed, s.Least)
		}
	}
	if len(named) == 0 {
		return
	}
	var parts []string
	for _, q := range results.Percentiles {
		if ops := named[q.Name]; len(ops) > 0 {
			parts = append(parts, q.Name+" of "+strings.Join(ops, ", "))
		}
	}
	j.doubt(CodeWithheld, "withheld: %s: more than 10%% too long by mailbench's own delays; use a quieter machine or more "+
		"processors", strings.Join(parts, "; "))
}

// changed names the percentiles of so many operations that the client's delays changed. Undelayed is
// nil if there were none.
func changed(count int64, response, undelayed, least *results.Latency) (names []string) {
	if undelayed == nil {
		return nil
	}
	for _, q := range results.Percentiles {
		ideal := q.Of(undelayed)
		if count >= results.EnoughFor(q.P) && float64(q.Of(response)) > (1+delayMost)*float64(ideal) &&
			beyondChance(q.Of, least, ideal) {
			names = append(names, q.Name)
		}
	}
	return names
}

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

// lag adds a doubt about operations that the store answers faster than the client's timer.
func (j *Judgement) lag(c *results.Cell) {
	j.each(c, CodeClientLag, "timer: waking up on time is over 20% of the p50, so no times are compared of",
		func(o results.Op) int64 {
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
