package ranking

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// Verdict says which model is first, by how much, why, and what speaks against it. The verdict itself has no lead.
func (l *Load) Verdict() []document.Sentence {
	var s document.Section
	if len(l.Models) < 2 {
		s.Say(document.Plain, "", l.alone())
		s.Say(document.Plain, "Not supported by "+l.Models[0].Model, l.lacked())
		return s.Says
	}
	s.Say(document.Plain, "", l.headline())
	s.Say(document.Plain, "", l.otherwise())
	s.Say(document.Plain, "Likely why", l.why())
	s.Say(document.Plain, "But", l.but())
	for _, text := range l.dominated() {
		s.Say(document.Plain, "Not worth it", text)
	}
	s.Say(document.Plain, "Not ranked", l.notRanked())
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
		p50 := func(s Share) float64 { return m.Ops[s.Op].Latency[0.5].NS }
		longest := slices.MaxFunc(l.Parts(m), func(a, b Share) int { return cmp.Compare(a.Share, b.Share) })
		slowest := slices.MaxFunc(l.Shares, func(a, b Share) int { return cmp.Compare(p50(a), p50(b)) })
		if s += fmt.Sprintf(" %s takes the most time (%.0f%%)", longest.Op, 100*longest.Share); slowest.Op == longest.Op {
			s += " and"
		} else {
			s += "; " + slowest.Op
		}
		s += fmt.Sprintf(" is the slowest (p50 %s ms).", results.MS(p50(slowest)))
	}
	if !m.Ranked() {
		return s + " Do not decide by these latencies: " + m.NotRanked + "."
	}
	if part := m.OfMaximum(); part >= 1 {
		s += fmt.Sprintf(" The rate is %.0f%% of its max ops/s, so operations queued: use --set %s.", 100*part, Lower(l.Models))
	}
	return s
}

// lacked names the operations that a single model does not support.
func (l *Load) lacked() string {
	var ops []string
	for _, left := range l.Left {
		if !l.Models[0].Ops[left.Op].Sum.Offered() {
			ops = append(ops, left.Op)
		}
	}
	if len(ops) == 0 {
		return ""
	}
	s := words.List(ops)
	if o := l.Cell.Offered; o != nil && o.Skipped > 0 && o.Rate < l.Cell.Rate {
		s += fmt.Sprintf(": skipped, %.0f%% of the load, so %s of %s ops/s remain", 100-100*o.Rate/l.Cell.Rate,
			words.Amount(o.Rate), words.Amount(l.Cell.Rate))
	}
	return s + "."
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

// headline has the models that share the first place, and the others with how much more they need than the first.
func (l *Load) headline() string {
	ranked := l.ranked()
	if len(ranked) == 0 {
		return "No model is ranked by " + l.By.Name() + ": do not decide by the latencies below."
	}
	best, per := "Fastest by ", ""
	if !l.By.Timed() {
		best, per = "First by ", " per operation"
	}
	if l.By == Disk {
		per = " per message"
	}
	first, rest := ranked[:l.First], ranked[l.First:]
	level, then, of := l.criterion()
	over := func(models []*Model) string {
		var values []string
		for _, m := range models {
			values = append(values, l.over(first[0], m))
		}
		return strings.Join(values, ", ")
	}
	s := fmt.Sprintf("%s%s%s: %s %s %s%s", best, l.By.Name(), of, first[0].Name, l.number(first[0]), l.By.Unit(), per)
	if len(first) > 1 {
		s += "; " + level + ": " + over(first[1:])
	}
	byChance := func(m *Model) bool { // also behind one that is significantly slower
		d, ok := l.differ(l.By, first[0], m)
		return !ok || !d.Larger()
	}
	if larger := slices.DeleteFunc(slices.Clone(rest), byChance); len(larger) > 0 {
		s += ". " + then + ": " + over(larger)
	}
	if unsure := slices.DeleteFunc(slices.Clone(rest), func(m *Model) bool { return !byChance(m) }); len(unsure) > 0 {
		s += "; slower, not significantly: " + over(unsure)
	}
	return s + "."
}

// criterion names the others that share the first place, and those that do not, and says when a difference is
// significant, or why that is not known.
func (l *Load) criterion() (level, then, of string) {
	ranked := l.ranked()
	last, _ := l.differ(l.By, ranked[0], ranked[len(ranked)-1])
	switch {
	case !l.By.Timed():
		return "within 5%, which counts as equal", "More", ""
	case len(ranked) > 1 && last.Trials < 2:
		return "within 5%, which counts as equal", "Slower", " of one trial (significance unknown, use --trials 5)"
	}
	criterion := "over 5%, interval above 0, 95% sure"
	if len(ranked) > 2 {
		criterion += " for all models at once"
	}
	if len(ranked) == l.First {
		return "not significantly slower (significant: " + criterion + ")", "", ""
	}
	return "not significantly slower", "Significantly slower (" + criterion + ")", ""
}

// over is the value of b, and how much more that is than the value of a.
func (l *Load) over(a, b *Model) string {
	percent := func(ratio float64) string {
		if more := 100 * (ratio - 1); math.Abs(more) < 1 {
			return fmt.Sprintf("%+.1g%%", more)
		}
		return fmt.Sprintf("%+.0f%%", 100*(ratio-1))
	}
	ratio := b.Value(l.By) / max(a.Value(l.By), 1e-9)
	more := percent(ratio)
	varies := func(m *Model) bool { return m.Varies(l.By) }
	switch d, ok := l.differ(l.By, a, b); {
	case !ok || !l.By.Timed():
	case d.Trials > 2 && d.Low <= 1.001*ratio && ratio <= 1.001*d.High: // that of medians may lie outside
		more += ", " + strings.TrimSuffix(percent(d.Low), "%") + " to " + percent(d.High)
	case varies(b) || slices.ContainsFunc(l.Models[:l.First], varies): // then it is unsure who else shares the first place
		more += ", trials vary"
	}
	if l.By.Timed() && b.OfMaximum() >= NearMaximum {
		more += ", partly queueing"
	}
	return fmt.Sprintf("%s %s (%s)", b.Name, l.number(b), more)
}

func (l *Load) number(m *Model) string { return l.By.Number(m.Value(l.By)) }

// differ compares a metric of b with that of a, two of the ranked models.
func (l *Load) differ(x Metric, a, b *Model) (Difference, bool) {
	return Compare(a.Values(x), b.Values(x), x.Timed(), max(1, len(l.ranked())-1))
}

// otherwise names the model that is first by the mean, or in throughput, if it is another one.
func (l *Load) otherwise() string {
	ranked := l.ranked()
	if l.By != Typical || l.First == 0 {
		return ""
	}
	var said []string
	for _, x := range []Metric{Mean, Throughput} {
		all, first := by(ranked, x), by(ranked[:l.First], x)
		if len(all) == 0 || len(first) == 0 || slices.Contains(ranked[:l.First], all[0]) {
			continue
		}
		if d, _ := l.differ(x, all[0], first[0]); !d.Larger() {
			continue
		}
		begin := "On average " + all[0].Name + " is fastest: its mean is"
		if x == Throughput {
			begin = "Unthrottled, " + all[0].Name + " is fastest:"
		}
		said = append(said, fmt.Sprintf("%s %s %s, %s has %s.", begin, x.Number(all[0].Value(x)), x.Unit(), first[0].Name,
			x.Number(first[0].Value(x))))
	}
	return strings.Join(said, " ")
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
	others := "others"
	if len(rest) == 1 {
		others = rest[0].Name
	}
	name := strings.Replace(found.Name(), "bytes", "KB", 1) // values are in KB
	return fmt.Sprintf("fewer %s/op: %s, %s %s.", name, span(first, found), others, span(rest, found))
}

// mostBut is how many metrics speak against the first at the most besides the p99 latency, one fewer if there are
// unsupported operations. The table has all.
const mostBut = 2

// but names the metrics in which another model needs less than half of what one of the first needs, and
// the operations that the first do not support.
func (l *Load) but() string {
	ranked := l.ranked()
	first := ranked[:l.First]
	if len(first) == 0 {
		return ""
	}
	type more struct {
		text  string
		ratio float64
	}
	left, most := l.unsupported(first), mostBut
	if left != "" {
		most--
	}
	var found []more
	for _, x := range []Metric{Read, Requests, Rows, Written, Disk, P99} {
		all := by(ranked, x)
		if x == l.By || len(all) == 0 {
			continue
		}
		best := all[0]
		var who []*Model
		for _, m := range first {
			if d, ok := l.differ(x, best, m); ok && d.Significant && m.Value(x) >= 2*best.Value(x) {
				who = append(who, m)
			}
		}
		if len(who) == 0 {
			continue
		}
		p, value, other := properties[x], span(who, x), x.Number(best.Value(x))
		if x == P99 { // it comes first, whatever its ratio
			most++
			text := fmt.Sprintf("the p99 of %s is %s ms, that of %s %s", names(who), value, best.Name, other)
			found = append(found, more{text, math.Inf(1)})
			continue
		}
		subject, verb := names(who), p.verb
		switch {
		case len(who) == 1:
			verb += "s"
		case len(who) == len(first) && len(who) == 2:
			subject = "both"
		case len(who) == len(first):
			subject = "all of them"
		}
		text := fmt.Sprintf("%s %s %s %s (%s %s), %s", subject, verb, value, p.noun, best.Name, other, p.advice)
		worst := by(who, x)[len(who)-1]
		found = append(found, more{text, worst.Value(x) / best.Value(x)})
	}
	slices.SortStableFunc(found, func(a, b more) int { return cmp.Compare(b.ratio, a.ratio) })
	var all []string
	for _, f := range found[:min(len(found), most)] {
		all = append(all, f.text)
	}
	if left != "" {
		all = append(all, left)
	}
	return ended(all)
}

// mostNamed is how many operations have their names in a part of the verdict. The report lists all.
const mostNamed = 3

// unsupported is how much of the load the models do not support and another one does, with the operations if it is one
// model.
func (l *Load) unsupported(models []*Model) string {
	var all, ops []string
	last, name := "", ""
	for _, m := range models {
		share, own := 0.0, []string(nil)
		for _, left := range l.Left {
			if slices.Contains(left.Lacking, m.Name) && len(left.Lacking) < len(l.Models) {
				own, share = append(own, left.Op), share+left.Share.Share
			}
		}
		if share >= 0.005 { // less does not matter
			ops, name, last = own, m.Name, fmt.Sprintf("%.0f%%", 100*share)
			all = append(all, name+" "+last)
		}
	}
	switch len(all) {
	case 0:
		return ""
	case 1:
		if more := len(ops) - mostNamed; more > 1 {
			ops = append(ops[:mostNamed], fmt.Sprintf("%d more", more))
		}
		by := ""
		if len(models) > 1 {
			by = " by " + name
		}
		return fmt.Sprintf("not supported%s: %s, %s of the load", by, words.List(ops), last)
	}
	return "load unsupported: " + strings.Join(all, ", ")
}

// dominated names the models that are not first, and for which another is at least as good in every metric, and
// better in one. It counts the operations that only the dominated model supports.
func (l *Load) dominated() (all []string) {
	type lesser struct {
		name, than string
		more       int
	}
	var found []lesser
	ranked := l.ranked()
	for _, m := range ranked[l.First:] {
		for _, other := range ranked {
			if m == other || !l.dominates(other, m) {
				continue
			}
			more := 0
			for _, left := range l.Left {
				if slices.Contains(left.Lacking, other.Name) && !slices.Contains(left.Lacking, m.Name) {
					more++
				}
			}
			found = append(found, lesser{m.Name, other.Name, more})
			break
		}
	}
	for _, same := range results.Grouped(found, func(m lesser) string { return m.than }) {
		var who, more []string
		for _, m := range same {
			who = append(who, m.name)
			switch {
			case m.more > 0 && more == nil:
				more = append(more, words.Plural(m.more, "operation")+" of "+m.name)
			case m.more > 0:
				more = append(more, strconv.Itoa(m.more)+" of "+m.name)
			}
		}
		text := fmt.Sprintf("%s: nowhere in %s significantly better than %s", strings.Join(who, ", "),
			strings.ToUpper(l.Title()), same[0].than)
		if len(more) > 0 {
			text += ", which cannot do " + strings.Join(more, ", ")
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
		worse, known := Compare(b.Values(x), a.Values(x), x.Timed(), 1) // what speaks against it needs less proof
		if known && worse.Significant || leads[slices.Index(l.Models, b)] && !leads[slices.Index(l.Models, a)] {
			return false
		}
		d, _ := l.differ(x, a, b)
		better = better || d.Significant
	}
	return better
}

func (l *Load) notRanked() string {
	var parts []string
	left := slices.DeleteFunc(slices.Clone(l.Models), (*Model).Ranked)
	for _, same := range results.Grouped(left, func(m *Model) string { return m.NotRanked }) {
		parts = append(parts, names(same)+" ("+same[0].NotRanked+")")
	}
	return ended(parts)
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
	var all []string
	for _, m := range models {
		all = append(all, m.Name)
	}
	return words.List(all)
}

// ended joins parts of a sentence, and ends it; "" if there are none.
func ended(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}
