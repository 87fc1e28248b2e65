//go:build campaigns && unix

package campaigns

import (
	"fmt"
	"strings"
	"time"

	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
)

// outage is a time in which what a node served was not served as usual.
type outage struct {
	began, ended time.Time
	gap          time.Duration // for so long at least no operation can have been ok
}

// survived waits for the end of a run and checks what it says of an outage. It
// returns the audit.
func (v *victim) survived(o outage) *results.Audit {
	t := v.t
	t.Helper()
	r := v.end(exitOK)
	var c *results.Cell
	for i := range r.Cells {
		if r.Cells[i].Phase == "measure" {
			c = &r.Cells[i]
		}
	}
	if c == nil || c.Verdict == results.Failed || len(r.Audits) != 1 {
		t.Fatalf("%s: cells %+v, %d audits", v.model, r.Cells, len(r.Audits))
	}
	began := v.measured()
	from, to := o.began.Sub(began).Seconds(), o.ended.Sub(began).Seconds()
	if from <= 0 || to >= c.Seconds {
		t.Fatalf("%s: the outage lasted from %.1f to %.1f s of a phase of %.1f s", v.model, from, to, c.Seconds)
	}
	failed, unknown := v.outcomes(c)
	v.timeline(c, from, to, o.gap)
	a := &r.Audits[0]
	v.audited(a)
	v.table(c, a)
	t.Logf("%s: %d failed, %d of unknown outcome; outage from %.1f to %.1f s, longest gap %.1f s at %.1f s; "+
		"audit: %d of %d verified, %d deleted, %d of unknown outcome, counter drift of %d, %d unreferenced, %d broken references, %d duplicated, %d broken",
		v.model, failed, unknown, from, to, c.Gap.Seconds, c.Gap.At,
		a.Verified, a.Delivered, a.Deleted, a.Unknown, a.CounterDrift, a.Unreferenced, a.Dangling, a.Duplicated, a.BrokenBodies)
	return a
}

// outcomes checks that each scheduled operation is in one column and no more,
// and that those that were not ok have their reasons.
func (v *victim) outcomes(c *results.Cell) (failed, unknown int64) {
	t := v.t
	t.Helper()
	var all int64
	for name, o := range c.Ops {
		all += o.Count + o.NotFound + o.Failed + o.Unknown + o.Dropped + o.TooLarge
		failed, unknown = failed+o.Failed, unknown+o.Unknown
		texts := o.NotFound + o.TooLarge // those have texts too
		for _, e := range o.Errors {
			texts -= e.Count
		}
		if texts+o.Failed+o.Unknown != 0 {
			t.Errorf("%s: %s has %d failed, %d unknown, and the errors %v", v.model, name, o.Failed, o.Unknown, o.Errors)
		}
	}
	if due := v.due(c); all != due {
		t.Errorf("%s: %d operations in all columns, and %d were due", v.model, all, due)
	}
	return failed, unknown
}

// due is how many operations the workload's schedule has for the model.
func (v *victim) due(c *results.Cell) (n int64) {
	census, err := plan.NewCensus(v.t.Context(), v.workload)
	if err != nil {
		v.t.Fatal(err)
	}
	for i := range v.workload.Phases {
		p := &v.workload.Phases[i]
		if p.Name != c.Phase {
			continue
		}
		var o plan.Operation
		stream := plan.StreamOf(v.workload, p, census)
		for _, ok := stream.Next(0, &o); ok; _, ok = stream.Next(0, &o) {
			if c.Ops[o.Op.String()].Support != results.NotOffered {
				n++
			}
		}
	}
	return n
}

// lingers is how long a call may take to fail, in seconds: the drivers' time-out.
const lingers = 12

// timeline checks that the intervals agree with the columns, and that
// they show where the engine was not well and that it was before and after.
func (v *victim) timeline(c *results.Cell, from, to float64, gap time.Duration) {
	t := v.t
	t.Helper()
	var ops, intervals [4]int64
	for _, o := range c.Ops {
		for i, n := range []int64{o.Count, o.Failed, o.Unknown, o.Dropped} {
			ops[i] += n
		}
	}
	var before, during, after int64
	for _, in := range c.Timeline {
		for i, n := range []int64{in.OK, in.Failed, in.Unknown, in.Dropped} {
			intervals[i] += n
		}
		switch {
		case in.At+in.Seconds < from:
			before += in.OK
		case in.At > to:
			after += in.OK
		}
		if in.At+in.Seconds > from && in.At < to+lingers {
			during += in.Failed + in.Unknown
		}
	}
	if ops != intervals {
		t.Errorf("%s: ok, failed, unknown, dropped: %v by operation, %v by interval", v.model, ops, intervals)
	}
	if before == 0 || during == 0 || after == 0 {
		t.Errorf("%s: %d operations were ok before the fault, %d after it, and %d of those in between were not", v.model, before, after, during)
	}
	// A busy machine may make a longer gap than the outage does.
	quiet := quietest(c.Timeline, from, to)
	if c.Gap == nil || c.Gap.Seconds < max(gap.Seconds(), quiet-1) || quiet == 0 {
		t.Errorf("%s: the longest gap is %+v; want %s at least, and as long as that of %.1f s in the outage from %.1f to %.1f s",
			v.model, c.Gap, gap, quiet, from, to)
	}
}

// quietest returns the length in seconds of the longest time without an operation that
// was ok, of those that overlap an outage, as far as whole intervals show it.
func quietest(timeline []results.Interval, from, to float64) (longest float64) {
	last := 0.0 // the end of the last interval with such an operation
	for _, in := range timeline {
		if in.OK == 0 {
			continue
		}
		if last < to && in.At > from {
			longest = max(longest, in.At-last)
		}
		last = in.At + in.Seconds
	}
	return longest
}

// audited checks that all that was acknowledged is there, byte for byte.
func (v *victim) audited(a *results.Audit) {
	t := v.t
	t.Helper()
	if a.Wrong() || a.Unread > 0 {
		t.Errorf("%s: what was acknowledged is not there: %+v", v.model, a)
	}
	// A message that was neither deleted nor moved by an operation of unknown outcome must have been read.
	if a.Delivered == 0 || a.Verified < a.Delivered-a.Deleted-a.Unknown || a.Verified > a.Delivered-a.Deleted {
		t.Errorf("%s: %d verified; %d delivered, %d deleted, %d of unknown outcome", v.model, a.Verified, a.Delivered, a.Deleted, a.Unknown)
	}
}

// table checks that the table shows all that.
func (v *victim) table(c *results.Cell, a *results.Audit) {
	t := v.t
	t.Helper()
	text := strings.Join(strings.Fields(v.printed("stdout")), " ") // lines are broken anywhere
	says := []string{
		fmt.Sprintf("longest gap without a successful operation: %.1f s at", c.Gap.Seconds),
		fmt.Sprintf("Verified: %s: nothing lost, %d of %d deliveries verified", v.model, a.Verified, a.Delivered),
	}
	sum := c.Op("")
	if sum.Failed > 0 {
		says = append(says, "failed: ")
	}
	if sum.Unknown > 0 {
		says = append(says, "outcome unknown: ")
	}
	if a.Unknown > 0 {
		says = append(says, fmt.Sprintf("%d of unknown outcome", a.Unknown))
	}
	if a.CounterDrift > 0 {
		says = append(says, fmt.Sprintf("counter drift of %d in all", a.CounterDrift))
	}
	for _, s := range says {
		if !strings.Contains(text, s) {
			t.Errorf("%s: the table does not say %q:\n%s", v.model, s, v.printed("stdout"))
		}
	}
}

// missed checks that an audit finds out that deliveries are gone.
func (v *victim) missed(removed int64) {
	t := v.t
	t.Helper()
	again := startRun(t, "--data", v.data, "--verify=only", "-m", v.model, "-e", v.engine, "--contact", v.contact)
	a := again.end(exitData).Audits[0]
	if a.Lost == 0 || a.Lost > removed || !strings.Contains(again.printed("stdout"), fmt.Sprintf("%d LOST", a.Lost)) {
		t.Errorf("%s: of %d deliveries that were removed the audit misses %d:\n%s", v.model, removed, a.Lost, again.printed("stdout"))
	}
}
