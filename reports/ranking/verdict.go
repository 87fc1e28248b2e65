package ranking

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/results"
)

// leastDifference is the ratio up to which two models count as equal, whatever the trials say.
const leastDifference = 1.05

// Difference is how a metric of one model compares with that of another. Ratio is the geometric mean
// of the ratios of their trials, and Low to High its 95% interval by Student's t of their logarithms, which holds for
// all other models together. That of one trial is from 0 to infinity. Without trials nothing is known.
type Difference struct {
	Ratio, Low, High float64
	Trials           int
	Significant      bool // the metric is larger: by more than 5%, and for a latency the interval is above 1
}

// Larger reports whether the metric is larger: significantly, or by more than 5% if one trial leaves
// significance unknown.
func (d Difference) Larger() bool { return d.Significant || d.Trials == 1 && d.Ratio > leastDifference }

// Compare compares b with a, trial by trial. Trials are interleaved, so trials of one number ran at
// nearly the same time. With so many others the best is compared, and the intervals of all of them hold together
// (Bonferroni): of several equal models one seems the best by chance more easily than of two.
func Compare(a, b results.Series, timed bool, others int) (d Difference) {
	var logs []float64
	for i := range min(len(a), len(b)) {
		if !math.IsNaN(a[i]) && !math.IsNaN(b[i]) {
			logs = append(logs, math.Log(max(b[i], 1e-9))-math.Log(max(a[i], 1e-9)))
		}
	}
	if d.Trials = len(logs); d.Trials == 0 {
		return d
	}
	mean, half := growth.Mean(logs, 0.05/float64(others))
	d.Ratio, d.Low, d.High = math.Exp(mean), math.Exp(mean-half), math.Exp(mean+half)
	d.Significant = d.Ratio > leastDifference && (!timed || d.Low > 1)
	return d
}

// Leading says which of the values are best or level with the best. They are the least value, and in
// ascending order those after it, up to the first that is significantly larger. With one trial
// nothing is significant, and those within 5% of the best lead with it.
func Leading(all []results.Series, timed bool) []bool {
	leads := make([]bool, len(all))
	var order []int
	for i := range all {
		if m := results.Median(all[i]); !math.IsNaN(m) && !math.IsInf(m, 1) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(results.Median(all[a]), results.Median(all[b])) })
	for n, i := range order {
		if n > 0 {
			if d := Compare(all[order[0]], all[i], timed, len(order)-1); d.Trials == 0 || d.Larger() {
				break
			}
		}
		leads[i] = true
	}
	return leads
}

// Verdict says which model is first, by how much, why, and what speaks against it. The verdict itself has no lead.
func (l *Load) Verdict() []document.Sentence {
	var s document.Section
	if len(l.Models) < 2 {
		s.Say(document.Plain, "", l.alone())
		var lacking []string
		for _, left := range l.Left { // some only failed
			if !l.Models[0].Ops[left.Op].Sum.Offered() {
				lacking = append(lacking, left.Op)
			}
		}
		s.Say(document.Plain, "Not supported by "+l.Models[0].Model, ended(lacking))
		return s.Says
	}
	s.Say(document.Plain, "", l.headline())
	s.Say(document.Plain, "Likely why", l.why())
	s.Say(document.Plain, "But", ended(l.but()))
	for _, text := range l.dominated() {
		s.Say(document.Plain, "Not worth it", text)
	}
	var reasons []string
	left := slices.DeleteFunc(slices.Clone(l.Models), (*Model).Ranked)
	for _, same := range results.Grouped(left, func(m *Model) string { return m.NotRanked }) {
		reasons = append(reasons, names(same)+" ("+same[0].NotRanked+")")
	}
	s.Say(document.Plain, "Not ranked", ended(reasons))
	return s.Says
}

// alone is the verdict on a single model.
func (l *Load) alone() string {
	m := l.Models[0]
	if math.IsNaN(m.Value(Typical)) {
		return ""
	}
	tail := P99.Number(m.Value(P99)) + " at p99."
	if math.IsInf(m.Value(P99), 1) {
		tail = "and more than 1% of the operations were dropped."
	}
	s := fmt.Sprintf("%s takes %s ms per operation typically, %s on average, %s", m.Name, Typical.Number(m.Value(Typical)),
		Mean.Number(m.Value(Mean)), tail)
	if len(l.Shares) > 1 {
		longest := slices.MaxFunc(l.Parts(m), func(a, b Share) int { return cmp.Compare(a.Share, b.Share) })
		s += fmt.Sprintf(" %s takes the most time (%.0f%%).", longest.Op, 100*longest.Share)
	}
	if !m.Ranked() {
		s += " Do not decide by these latencies: " + m.NotRanked + "."
	}
	return s
}

// OfMaximum is the rate that the model was offered, without operations that it does not support, as a part of its max
// ops/s; NaN if that was not measured.
func (m *Model) OfMaximum() float64 {
	rate := 0.0
	for _, c := range m.Cells {
		of := c.Rate
		if c.Offered != nil && of > 0 { // not a closed loop
			of = c.Offered.Rate
		}
		rate += of / float64(len(m.Cells))
	}
	return rate * m.Value(Throughput) / 1e9
}

// NearMaximum is the part of a model's max ops/s from which on its latency is mostly queueing, and easily a part at
// which it is not.
const NearMaximum, easily = 0.9, 0.7

// Lower is the setting for a rate at which none of the models of a phase queues. It is "" if none was offered nearly
// its max ops/s; if that is not known, the rate that the model achieved counts.
func Lower(models []*Model) string {
	rate, phase := math.Inf(1), ""
	for _, m := range models {
		for _, c := range m.Cells {
			switch of := m.OfMaximum(); {
			case len(c.Streams) > 0: // they have rates of their own
				return ""
			case of >= NearMaximum:
				rate, phase = min(rate, easily*1e9/m.Value(Throughput)), c.Phase
			case math.IsNaN(of) && c.Offered != nil && c.Offered.Achieved < NearMaximum*c.Offered.Rate:
				rate, phase = min(rate, easily*c.Offered.Achieved), c.Phase
			}
		}
	}
	if phase == "" {
		return ""
	}
	digit := math.Pow10(max(0, int(math.Log10(rate))-1)) // the second one
	return fmt.Sprintf("phases.%s.rate=%.0f/s", phase, max(1, math.Floor(rate/digit)*digit))
}

// headline has the models that share the first place, and the others with how much more they need than the first. Of
// the others some may be slower by chance, also behind one that is significantly slower.
func (l *Load) headline() string {
	ranked := l.ranked()
	if len(ranked) == 0 {
		return "No model is ranked by " + l.By.Name() + ": do not decide by the latencies below."
	}
	first := ranked[0]
	best, level, more := "Fastest by "+l.By.Name(), "not significantly slower",
		"Significantly slower (over 5%, interval above 0, 95% sure for all models at once)"
	switch {
	case !l.By.Timed():
		best, level, more = "First by "+l.By.Name(), "within 5%, which counts as equal", "More"
	case len(ranked) > 1 && l.differ(l.By, first, ranked[len(ranked)-1]).Trials < 2:
		best += " of one trial (significance unknown, use --trials 5)"
		level, more = "within 5%, which counts as equal", "Slower"
	}
	var said [3][]string
	for i, m := range ranked[1:] {
		kind := 2
		if i+1 < l.First {
			kind = 0
		} else if l.differ(l.By, first, m).Larger() {
			kind = 1
		}
		said[kind] = append(said[kind], l.over(first, m))
	}
	s := fmt.Sprintf("%s: %s %s %s", best, first.Name, l.By.Number(first.Value(l.By)), properties[l.By].unit)
	for kind, lead := range []string{"; " + level, ". " + more, "; slower, not significantly"} {
		if len(said[kind]) > 0 {
			s += lead + ": " + strings.Join(said[kind], ", ")
		}
	}
	return s + "."
}

// over is the value of b, and how much more that is than the value of a, with the interval if the ratio of the medians
// lies in it: that of few trials may not.
func (l *Load) over(a, b *Model) string {
	percent := func(ratio float64) string { return fmt.Sprintf("%+.0f", 100*(ratio-1)) }
	ratio := b.Value(l.By) / max(a.Value(l.By), 1e-9)
	more := percent(ratio) + "%"
	if d := l.differ(l.By, a, b); l.By.Timed() && d.Trials > 2 && d.Low <= 1.001*ratio && ratio <= 1.001*d.High {
		more += ", " + percent(d.Low) + " to " + percent(d.High) + "%"
	}
	return fmt.Sprintf("%s %s (%s)", b.Name, l.By.Number(b.Value(l.By)), more)
}

// differ compares a metric of b with that of a, two of the ranked models.
func (l *Load) differ(x Metric, a, b *Model) Difference {
	return Compare(a.Values[x], b.Values[x], x.Timed(), max(1, len(l.ranked())-1))
}

// why names the counter of which the first need fewer than all others, by the largest ratio. That is no proof.
func (l *Load) why() string {
	ranked := l.ranked()
	first, rest := ranked[:l.First], ranked[l.First:]
	if !l.By.Timed() || len(first) == 0 || len(rest) == 0 {
		return ""
	}
	var found Metric
	most := leastDifference
	for _, x := range Counters {
		if first, rest := by(first, x), by(rest, x); len(first) > 0 && len(rest) > 0 {
			if ratio := rest[0].Value(x) / first[len(first)-1].Value(x); ratio > most {
				found, most = x, ratio
			}
		}
	}
	if found == "" {
		return "requests, rows scanned and bytes do not explain it; the time of each access pattern may."
	}
	return fmt.Sprintf("fewer %s: %s, others %s.", properties[found].noun, span(first, found), span(rest, found))
}

// but names the first two metrics in which another model needs less than half of what one of the first needs, and how
// much of the load the first do not support.
func (l *Load) but() (said []string) {
	ranked := l.ranked()
	first := ranked[:l.First]
	for _, x := range []Metric{P99, Read, Requests, Rows, Written, Disk} {
		all := by(ranked, x)
		if x == l.By || len(all) == 0 || len(said) == 2 {
			continue
		}
		best := all[0]
		who := slices.DeleteFunc(by(first, x), func(m *Model) bool {
			return !l.differ(x, best, m).Significant || m.Value(x) < 2*best.Value(x)
		})
		need := "need"
		if len(who) == 1 {
			need = "needs"
		}
		if len(who) > 0 {
			said = append(said, fmt.Sprintf("%s %s %s %s (%s %s)%s", names(who), need, span(who, x), properties[x].noun,
				best.Name, x.Number(best.Value(x)), properties[x].advice))
		}
	}
	var lacking []string
	for _, m := range first {
		share := 0.0
		for _, left := range l.Left {
			if slices.Contains(left.Lacking, m.Name) && len(left.Lacking) < len(l.Models) {
				share += left.Share.Share
			}
		}
		if share >= 0.005 { // less does not matter
			lacking = append(lacking, fmt.Sprintf("%s %.0f%%", m.Name, 100*share))
		}
	}
	if len(lacking) > 0 {
		said = append(said, "load unsupported: "+strings.Join(lacking, ", "))
	}
	return said
}

// dominated names the models that are not first, and for which another is at least as good in every metric, and
// better in one.
func (l *Load) dominated() (all []string) {
	ranked := l.ranked()
	better := func(m *Model) int { // -1: none
		return slices.IndexFunc(ranked, func(other *Model) bool { return m != other && l.dominates(other, m) })
	}
	for _, same := range results.Grouped(ranked[l.First:], better) {
		at := better(same[0])
		if at < 0 {
			continue
		}
		than := ranked[at]
		who := results.Distinct(same, func(m *Model) string { return m.Name })
		text := fmt.Sprintf("%s: nowhere in %s significantly better than %s", strings.Join(who, ", "),
			strings.ToUpper(l.Title()), than.Name)
		if slices.ContainsFunc(l.Left, func(left Left) bool {
			does := func(name string) bool { return !slices.Contains(left.Lacking, name) }
			return !does(than.Name) && slices.ContainsFunc(who, does)
		}) {
			text += ", which does not support all of their operations"
		}
		all = append(all, text+".")
	}
	return all
}

// dominates reports whether a is as good as b in every metric, and better in one. A b that leads where a does not is
// not dominated, also if they do not differ significantly: readers see the marks of the leading.
func (l *Load) dominates(a, b *Model) bool {
	better := false
	for _, x := range Metrics {
		leads := l.Leading(x)
		worse := Compare(b.Values[x], a.Values[x], x.Timed(), 1) // what speaks against it needs less proof
		if worse.Significant || leads[slices.Index(l.Models, b)] && !leads[slices.Index(l.Models, a)] {
			return false
		}
		better = better || l.differ(x, a, b).Significant
	}
	return better
}

func (l *Load) ranked() []*Model {
	return slices.DeleteFunc(slices.Clone(l.Models), func(m *Model) bool { return !m.Ranked() })
}

// by are the models with a known value of a metric, the best first.
func by(models []*Model, x Metric) []*Model {
	known := slices.DeleteFunc(slices.Clone(models), func(m *Model) bool { return math.IsNaN(m.Value(x)) })
	slices.SortStableFunc(known, func(a, b *Model) int { return cmp.Compare(a.Value(x), b.Value(x)) })
	return known
}

// span writes the values of models as a range, or as one number if all are written alike.
func span(models []*Model, x Metric) string {
	known := by(models, x)
	from, to := x.Number(known[0].Value(x)), x.Number(known[len(known)-1].Value(x))
	if from == to {
		return to
	}
	return from + " to " + to
}

func names(models []*Model) string {
	return words.List(results.Distinct(models, func(m *Model) string { return m.Name }))
}

// ended joins parts of a sentence, and ends it; "" if there are none.
func ended(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}
