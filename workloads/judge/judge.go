// Package judge says whether a cell's figures can be used. The judgment follows
// from the cell alone: a saved run that is judged again gets the same verdicts
// and doubts. The rules are one table (rules.go).
//
// They do not blame the store for the load generator, nor the generator for
// the store. A slow engine makes operations queue. That wait is in the response
// times, where it belongs, and does not spoil the figures.
package judge

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/workloads/results"
)

// A rule finds one fault of cells. Its code is stable: it keeps its meaning, and one that was given up is not used
// again. docs/results.md says what each means.
type rule struct {
	code    results.Code
	verdict results.Verdict // that the fault gives; OK: it is a doubt
	of      kinds
	plain   string                                        // see Plain
	text    func(*results.Cell, *results.Evidence) string // "": the cell does not have the fault
}

// A countRule is a doubt that names the operations with a count.
type countRule struct {
	code  results.Code
	of    kinds
	plain string
	text  string
	n     func(*results.Op) int64
}

// Plain is a fault in plain words, and the remedy, in which PHASE is the phase: a doubt that changes how figures are
// read, because the store was in another state than readers expect or because operations are missing from the figures,
// or why a trial does not count. Both are "" for a fault that only --full explains: client delay is not in the latency,
// queueing belongs to it, and after a short warm-up hardly any run is steady.
func Plain(code results.Code, v results.Verdict) (what, remedy string) {
	plain := ""
	for _, r := range rules {
		if r.code == code && r.verdict == v {
			plain = r.plain
		}
	}
	for _, r := range countRules {
		if r.code == code && v == results.OK {
			plain = r.plain
		}
	}
	what, remedy, _ = strings.Cut(plain, ": ")
	return what, remedy
}

// kinds are the kinds of cells that a rule is for.
type kinds int

const (
	measured kinds = 1 << iota // measured phases
	observed                   // those that began, and so have evidence of client and engine
	loads
	colds
	refused // measured phases whose population the model cannot hold
	others
	every = measured | loads | colds | refused | others
)

func kindsOf(c *results.Cell) kinds {
	switch {
	case c.Kind == results.KindLoad:
		return loads
	case c.Kind == results.KindCold:
		return colds
	case c.Kind != results.KindMeasure:
		return others
	case c.Evidence != nil && c.Evidence.NotOffered != "":
		return refused
	case c.Evidence == nil || c.Client == nil:
		return measured
	}
	return measured | observed
}

// Apply judges a cell, also by the run's objectives, and writes the judgment into it. The verdict is the worst of all
// rules, and its reason the first of these. A judgment that is in the cell does not count.
func Apply(c *results.Cell, all []results.Objective) {
	filled, unknown := *c, results.EngineInfo{DiskBytes: -1, CompactionDebt: -1} // empty where nothing was recorded
	filled.Evidence, filled.Offered = cmp.Or(c.Evidence, &results.Evidence{}), cmp.Or(c.Offered, &results.Offered{})
	filled.Before, filled.Engines = cmp.Or(c.Before, &unknown), cmp.Or(c.Engines, &unknown)
	of := kindsOf(c)
	c.Verdict, c.Reason, c.Doubts = results.OK, nil, []results.Doubt{}
	for _, r := range rules {
		if r.of&of == 0 {
			continue
		}
		switch text := r.text(&filled, filled.Evidence); {
		case text == "":
		case r.verdict == results.OK:
			c.Doubts = append(c.Doubts, results.Doubt{Code: r.code, Text: text})
		case r.verdict.Severity() > c.Verdict.Severity():
			c.Verdict, c.Reason = r.verdict, &results.Reason{Code: r.code, Text: text}
		}
	}
	for _, r := range countRules {
		var ops []results.OpCount
		for _, name := range sortedOps(c.Ops) {
			if o := c.Ops[name]; r.of&of != 0 && r.n(&o) > 0 {
				ops = append(ops, results.OpCount{Op: name, Count: r.n(&o)})
			}
		}
		if len(ops) > 0 {
			c.Doubts = append(c.Doubts, results.Doubt{Code: r.code, Text: r.text, Ops: ops})
		}
	}
	c.Objectives = Objectives(c, all)
}

func sortedOps(ops map[string]results.Op) []string { return slices.Sorted(maps.Keys(ops)) }

// A phase is steady if its service times show no trend. The line through its windows is
// that of Theil and Sen: the median of the slopes between all pairs of windows. Its
// interval is Sen's, from the distribution of Kendall's S (P. K. Sen, Estimates of the
// Regression Coefficient Based on Kendall's Tau, 1968). One slow window moves neither.
//
// Windows that follow each other are alike, so that noise looks like a trend. The variance
// of S is raised as K. H. Hamed and A. R. Rao do (A modified Mann-Kendall trend test for
// autocorrelated data, 1998), for a usual correlation. docs/internals/decisions/0011-steady.md
// says what that finds and what it does not.
const (
	// trendWindows is how many windows it takes to distinguish a trend from noise.
	trendWindows = 8
	// trendMost is how many windows are compared with each other. If there are more, neighbors are put together: their
	// value is the median.
	trendMost = 60
	// trendHighest is the largest change that is reported.
	trendHighest = 1000
)

// Line is the line through the service times of a phase's windows, from the first to the last, in nanoseconds. Change
// is how much the line rises, as a share of From. It lies between Low and High with 99% confidence. A share of
// trendHighest means trendHighest or more.
type Line struct{ From, To, Change, Low, High float64 }

// Trend is how the service time changed over the windows; false if there are too few of
// them to decide.
func Trend(windows []float64) (Line, bool) {
	if len(windows) < trendWindows {
		return Line{}, false
	}
	n := min(len(windows), trendMost)
	logs := make([]float64, n)
	for i := range logs {
		batch := windows[i*len(windows)/n : (i+1)*len(windows)/n]
		logs[i] = math.Log(max(results.Median(batch), 1)) // a change is a ratio
	}
	slopes := make([]float64, 0, n*(n-1)/2)
	for i := range logs {
		for k := i + 1; k < n; k++ {
			slopes = append(slopes, (logs[k]-logs[i])/float64(k-i))
		}
	}
	slices.Sort(slopes)
	m, slope := len(slopes), results.Median(slopes)

	kendall := float64(n) * float64(n-1) * float64(2*n+5) / 18 // variance of S of n independent values
	s := 2.576 * math.Sqrt(kendall*inflation(n))               // 99% of normally distributed values
	// If the residuals of the line are a curve, they look like correlated noise, and the interval
	// would be too wide. But noise of any correlation seldom rises from each window to the next,
	// so the interval is never wider than all slopes but the outermost.
	i := max(1, int(math.Floor((float64(m)-s)/2))-1)
	low, high := slopes[i], slopes[m-1-i]
	for i := range logs {
		logs[i] -= slope * float64(i)
	}
	from := results.Median(logs)
	over := func(slope float64) float64 { return min(math.Expm1(slope*float64(n-1)), trendHighest) }
	return Line{
		From: math.Exp(from), To: math.Exp(from + slope*float64(n-1)),
		Change: over(slope), Low: over(low), High: over(high),
	}, true
}

// Drifts reports whether there is a trend: noise does not explain it, and it is more than a tenth.
func Drifts(t Line) bool { return math.Abs(t.Change) > 0.1 && (t.Low > 0 || t.High < 0) }

// Steady reports whether both bounds of the trend are within a fifth: a warm-up is over then.
func Steady(t Line) bool { return t.Low >= -0.2 && t.High <= 0.2 }

// inflation is the factor by which the variance of S of n windows is larger than that of independent values (Hamed and
// Rao). Of all noise, the ranks of neighboring windows are taken to have the correlation 0.35, which falls by that
// factor with each window of distance.
func inflation(n int) float64 {
	sum, power := 0.0, 1.0
	for k := 1; k < n; k++ {
		power *= 0.35
		sum += float64(n-k) * float64(n-k-1) * float64(n-k-2) * power
	}
	return 1 + 2*sum/(float64(n)*float64(n-1)*float64(n-2))
}

// Names of faults that always count; those of FailOn are the others.
const (
	Lost        = "lost" // or wrong: what a verification found
	Interrupted = "interrupted"
	Incomplete  = "incomplete" // a verification
)

// FailOn are the names that --fail-on has for faults of a run. A run is unusable if no measured phase is valid, or if
// a model dropped at least half of its operations.
var FailOn = []string{"missed", "unclear", "failed", "overloaded", "empty", "unusable", "invalid"}

// Worst returns the worst fault of a run and its name, of those in on and those that always count; "" and nil if
// there is none. A search that did not find a rate is a fault if one of a threshold is.
func Worst(r *results.Run, on []string) (name string, err error) {
	found, has := faults(r), func(name string) bool { return slices.Contains(on, name) }
	for _, name := range []string{
		Lost, Interrupted, Incomplete, "failed", "search", "empty", "overloaded", "invalid", "unusable", "missed", "unclear",
	} {
		optional := slices.Contains(FailOn, name)
		switch all := found[name]; {
		case len(all) == 0, optional && !has(name), name == "search" && !has("missed") && !has("unclear"):
		case optional && len(all) > 1:
			return name, fmt.Errorf("%w (and %d more, in the table)", all[0], len(all)-1)
		default:
			return name, all[0]
		}
	}
	return "", nil
}

// faults are the faults of a run by their names, and under "search" the first search that did not find a rate.
func faults(r *results.Run) map[string][]error {
	all := map[string][]error{}
	add := func(name, format string, args ...any) { all[name] = append(all[name], fmt.Errorf(format, args...)) }
	ofData(r, add)
	misses := map[results.Attainment]string{results.Missed: "misses", results.Unclear: "may miss"}
	var invalid *results.Cell
	used := false
	for c := range r.All {
		reason := ""
		if c.Reason != nil {
			reason, _, _ = strings.Cut(c.Reason.Text, "\n") // the table has the other lines
		}
		switch {
		case c.Verdict == results.OK || c.Verdict == results.Empty && r.Excused(c):
		case c.Verdict == results.Failed:
			add("failed", "%s: %s", place(c), reason)
		default:
			add(string(c.Verdict), "%s, is %s: %s", place(c), c.Verdict, reason)
		}
		for _, a := range c.Objectives {
			if misses[a.Verdict] != "" {
				add(string(a.Verdict), "%s, %s %s %s: %s", place(c), misses[a.Verdict], a.Objective, a.Bound, a.Text)
			}
		}
		if !c.Measured() {
			continue
		}
		if c.Verdict == results.Invalid {
			invalid = c
		} else {
			used = true
		}
		o := cmp.Or(c.Offered, &results.Offered{})
		if n := o.Due - o.Skipped - o.NoTarget; o.Dropped > 0 && 2*o.Dropped >= n {
			add("unusable", "%s, dropped %d of %d operations: lower the rate", place(c), o.Dropped, n)
		}
	}
	if !used && invalid != nil && all["unusable"] == nil {
		add("unusable", "no measured phase is valid: %s, %s", place(invalid), cmp.Or(invalid.Reason, &results.Reason{}).Text)
	}
	for i := range r.Searches {
		if s := &r.Searches[i]; s.Found != nil && !s.Found.OK() && all["search"] == nil {
			add("search", "%s on %s, phase %s: highest rate: %s", s.Model, s.Engine, s.Phase, s.Found.Text)
		}
	}
	return all
}

// ofData adds the faults that verifications have found, and that a run was interrupted.
func ofData(r *results.Run, add func(name, format string, args ...any)) {
	for _, a := range r.Audits {
		switch of := a.Model + " on " + a.Engine; {
		case a.Fault != "":
			add(Lost, "the losses of %s are unknown: %s", of, a.Fault)
		case a.Wrong():
			add(Lost, "verification of %s found wrong or lost data", of)
		case a.Error != "":
			add(Incomplete, "verification of %s was interrupted: %s", of, a.Error)
		case a.Unread > 0:
			add(Incomplete, "verification of %s could not read %d messages", of, a.Unread)
		}
	}
	if r.Interrupted {
		add(Interrupted, "interrupted; measured values are saved")
	}
}

func place(c *results.Cell) string {
	return fmt.Sprintf("%s on %s, phase %s", c.Model, c.Engine, c.Where())
}
