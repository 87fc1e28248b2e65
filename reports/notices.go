package reports

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// Notice is a verdict that is not ok, or a doubt, and the models that it holds for. A reader
// has to know it before using figures.
type Notice struct {
	results.Doubt
	Verdict results.Verdict // "" if it is a doubt
	Phase   string          // phase of a verdict, if the run has several phases with figures or trouble
	Who     []string
	All     bool   // it holds for all models of the run
	Few     bool   // it holds for less than half of the trials of each of them: the others count
	Differs bool   // for some models or trials it has other figures than Text
	Size    string // how large the largest effect is; "": not known
	size    float64
	cells   []*results.Cell
}

// sizeOf is how large the effect of a doubt on a cell is, as a number and in words.
func sizeOf(d *results.Doubt, c *results.Cell) (size float64, text string) {
	for _, o := range d.Ops {
		size += float64(o.Count)
	}
	switch {
	case size > 0:
		return size, words.Plural(int(size), "operation")
	case d.Code == "drifting" && c.Evidence != nil && c.Evidence.Trend != nil:
		change := 100 * c.Evidence.Trend.Change
		return math.Abs(change), fmt.Sprintf("%+.0f%%", change)
	case d.Code == "debt-grows" && c.Before != nil && c.Engines != nil:
		size = float64(c.Engines.CompactionDebt - c.Before.CompactionDebt)
		return size, words.Size(size)
	}
	return 0, ""
}

// whom names the models, or all together.
func (d *Notice) whom() string {
	if d.All && len(d.Who) > 1 {
		return "all models"
	}
	return strings.Join(d.Who, ", ")
}

// notices are the doubts or verdicts of cells, as of has them: each code once, with the models (on engines) that it
// holds for, and their trials if it does not hold for all of them. A verdict on few trials has a notice of its own.
func (n Names) notices(r *results.Run, of func(*results.Cell) []Notice) (all []Notice) {
	var said []Notice
	cells := slices.Collect(r.All)
	for _, c := range cells {
		others := r.Select(func(o *results.Cell) bool {
			return o.Model == c.Model && o.Engine == c.Engine && o.Phase == c.Phase && o.Point == c.Point
		})
		for _, one := range of(c) {
			like := 0
			for _, o := range others {
				if slices.ContainsFunc(of(o), func(o Notice) bool { return o.Code == one.Code || one.Verdict != "" }) {
					like++
				}
			}
			one.Few, one.cells = 2*like < len(others), []*results.Cell{c}
			one.size, one.Size = sizeOf(&one.Doubt, c)
			said = append(said, one)
		}
	}
	type kind struct {
		results.Verdict
		results.Code
		phase string
		few   bool
	}
	every, trial := trials.Columns(cells), func(c *results.Cell) string { return strconv.Itoa(c.Trial) }
	for _, same := range results.Grouped(said, func(o Notice) kind {
		return kind{o.Verdict, o.Code, o.Phase, o.Few && o.Verdict != ""}
	}) {
		w := same[0]
		for _, o := range same[1:] {
			w.Few, w.Differs = w.Few && o.Few, w.Differs || w.Doubt.String() != o.Doubt.String()
			if o.size > w.size || w.Size == "" {
				w.size, w.Size = o.size, o.Size
			}
			w.cells = append(w.cells, o.cells...)
		}
		models := trials.Columns(w.cells)
		w.All = len(models) == len(every)
		for _, cs := range models {
			name, some := n.Part(cs[0].Model, cs[0].Engine), results.Distinct(cs, trial)
			at := slices.IndexFunc(every, func(o trials.Column) bool {
				return o[0].Model == cs[0].Model && o[0].Engine == cs[0].Engine
			})
			if len(some) < len(results.Distinct(every[at], trial)) {
				w.All = false
				noun := " trial "
				if len(some) > 1 {
					noun = " trials "
				}
				name += noun + words.List(some)
			}
			w.Who = append(w.Who, name)
		}
		all = append(all, w)
	}
	return all
}

// verdictsOf are the verdicts that are not ok, each code once a phase, the worst first.
func verdictsOf(r *results.Run, n Names) []Notice {
	phases := map[string]bool{}
	for _, c := range r.Select(func(c *results.Cell) bool { return c.Measured() || c.Verdict != results.OK }) {
		phases[c.Where()] = true
	}
	all := n.notices(r, func(c *results.Cell) []Notice {
		if c.Verdict == results.OK || c.Verdict == "" {
			return nil
		}
		v := Notice{Verdict: c.Verdict}
		if len(phases) > 1 {
			v.Phase = c.Where()
		}
		if c.Reason != nil {
			v.Code, v.Text = c.Reason.Code, c.Reason.Text
		}
		return []Notice{v}
	})
	slices.SortStableFunc(all, func(a, b Notice) int { return b.Verdict.Severity() - a.Verdict.Severity() })
	return all
}

// DoubtsOf are the doubts of all cells, each code once.
func DoubtsOf(r *results.Run, n Names) []Notice {
	return n.notices(r, func(c *results.Cell) (all []Notice) {
		for _, d := range c.Doubts {
			all = append(all, Notice{Doubt: d})
		}
		return all
	})
}

// String writes a warning in one line.
func (d *Notice) String() string {
	who := d.whom()
	switch {
	case d.Differs && len(d.Who) == 1:
		who += "; other phases have other values"
	case d.Differs:
		who += "; these values are of " + d.Who[0]
	}
	return fmt.Sprintf("%s (%s)", d.Doubt.String(), who)
}

// mostSerious is how many warnings the first screen has.
const mostSerious = 2

// warnings are the most serious of those that change how the latencies are read, in plain words with the remedy, and
// folded the texts of all, also of the others, which are notes.
func (v *run) warnings() (first, further document.Section) {
	left, minor := v.leftOut()
	var failed, queues, others []string // failed: operations are missing from the latencies
	var texts []string                  // whole ones of what is said
	var varying []string
	most := 0.0
	for _, l := range v.loads {
		who := v.queueing(l)
		varies, times := v.spread(l)
		switch {
		case who != "": // a lower rate comes first
			text := fmt.Sprintf("latency includes queueing (%s of max ops/s): use --set %s", who, ranking.Lower(l.Models))
			queues, texts = append(queues, text), append(texts, text)
			if varies != "" {
				minor = append(minor, v.varies(varies, times))
			}
		case varies != "":
			varying, most = append(varying, varies), max(most, times)
		}
	}
	if len(varying) > 0 {
		others = append(others, v.varies(strings.Join(varying, "; "), most))
		texts = append(texts, others...)
	}
	for _, d := range DoubtsOf(v.Run, v.names) {
		what, remedy := judge.Plain(d.Code, results.OK)
		plain := fmt.Sprintf("%s (%s): %s", what, strings.TrimPrefix(d.Size+", "+d.whom(), ", "), remedy)
		switch {
		case what != "" && len(d.Ops) > 0:
			failed, texts = append(failed, plain), append(texts, d.String())
		case what != "" && !d.Few:
			others, texts = append(others, plain), append(texts, d.String())
		default:
			minor = append(minor, d.String())
		}
	}
	first = document.Section{ID: "warnings"}
	further = document.Section{ID: "further", Title: "Warnings and notes", Fold: true}
	for _, text := range append(texts, minor...) { // of some the first screen has all
		further.Note(document.Plain, "", text)
	}
	all := slices.Concat(failed, left, queues, others) // the most serious first
	style, rest := document.Warn, "; no others"
	switch {
	case len(all) == 0 && v.whole():
		style, rest = document.Faint, "none"
	case len(all) == 0: // but the alerts
		style, rest = document.Faint, "no others"
	}
	if len(minor) > 0 {
		rest += " (notes: --full)"
	}
	if more := len(all) - mostSerious; more > 0 {
		all, rest = all[:mostSerious], fmt.Sprintf("; %d more (--full)", more)
	}
	if len(all) > 0 || len(minor) > 0 {
		first.Note(style, "Warnings", strings.Join(all, "; ")+rest+".")
	}
	return first, further
}

// leftOut names the trials that do not count, by reason, and has what is wrong with each.
func (v *run) leftOut() (all, texts []string) {
	out := map[string][]string{} // trials by reason
	for _, n := range v.verdicts {
		if !n.Few {
			continue // an alert
		}
		who := strings.Join(n.Who, ", ")
		if n.Phase == ranking.Unthrottled {
			who = "max ops/s of " + who
		}
		why := string(n.Verdict) + ", see --full"
		if what, remedy := judge.Plain(n.Code, n.Verdict); what != "" {
			lower := "a lower " + judge.RateKey(v.Run, n.cells[0])
			if half := n.cells[0].Rate / 2; half >= 1 && strings.HasSuffix(lower, ".rate") {
				lower = fmt.Sprintf("%s=%.0f/s", strings.TrimPrefix(lower, "a lower "), half)
			}
			why = what + ": " + strings.ReplaceAll(remedy, "a lower phases.PHASE.rate", lower)
		}
		out[why] = append(out[why], who)
		texts = append(texts, fmt.Sprintf("%s: %s; the other trials count", n.Verdict, n.Said()))
	}
	for _, why := range slices.Sorted(maps.Keys(out)) {
		all = append(all, fmt.Sprintf("%s left out (%s)", strings.Join(out[why], ", "), why))
	}
	return all, texts
}

// queueing names the models of a load whose offered rate was near what they achieve without pauses.
func (v *run) queueing(l *ranking.Load) string {
	var who []string
	for _, m := range l.Models {
		if part := m.OfMaximum(); part >= ranking.NearMaximum && m.Ranked() {
			who = append(who, fmt.Sprintf("%s at %.0f%%", v.names.Part(m.Model, m.Engine), 100*part))
		}
	}
	return strings.Join(who, ", ")
}

// spread has the models of a load whose trials differ much, the one that differs most with its range and by how many
// times; else "".
func (v *run) spread(l *ranking.Load) (said string, most float64) {
	which, names := 0, []string(nil)
	for _, m := range l.Models {
		if m.Varies(ranking.Typical) {
			low, high := m.Spread(ranking.Typical)
			if high/max(low, 1) > most {
				most, which = high/max(low, 1), len(names)
				said = fmt.Sprintf("%s×: %s %s to %s ms", words.Amount(most), v.names.Part(m.Model, m.Engine), results.MS(low),
					results.MS(high))
			}
			names = append(names, m.Name)
		}
	}
	switch others := slices.Delete(names, which, min(which+1, len(names))); {
	case len(others) == 1:
		said += ", also " + others[0]
	case len(others) > 1:
		said += fmt.Sprintf(", also %d other models", len(others))
	}
	return said, most
}

// varies warns of models whose trials differ, by at most so many times.
func (v *run) varies(who string, most float64) string {
	const disturbed = 10 // more trials do not help
	if most > disturbed {
		return fmt.Sprintf("typical varies between trials (%s): use a quieter machine, or a lower rate", who)
	}
	return fmt.Sprintf("typical varies between trials (%s): use --trials %d", who, max(5, 2*v.loads[0].Trials-1))
}

// target says how the models are measured on a target engine that the run did not measure, and a single model with
// the others.
func (v *run) target(s *document.Section) {
	made := map[string][]string{} // models by target engine
	models := modelsOf(v.Run)
	usual := v.Workload.Name == results.DefaultWorkload // the file and the settings of another are not known here
	all := v.again(func(flag, _ string) bool { return flag == "-m" || flag == "--model" })
	if usual && len(models) == 1 && all != nil {
		s.Say(document.Plain, "", "With all models:")
		s.Say(document.Command, "", shellquote.Join(append(all, "-m", "all")...))
	}
	for _, m := range models {
		if schema := v.explainer.schemas[m]; schema != nil && schema.Native != "" {
			made[schema.Native] = append(made[schema.Native], m)
		}
	}
	for i := range v.Cells {
		if c := &v.Cells[i]; made[c.Engine] != nil && !v.names.engines {
			return // models ran on the engine that was chosen for them
		}
	}
	for i := range v.Cells {
		delete(made, v.Cells[i].Engine)
	}
	if len(made) == 0 {
		return
	}
	engine := slices.Sorted(maps.Keys(made))[0]
	for _, e := range []string{"hbase", "cassandra"} { // mailbench starts these
		if made[e] != nil {
			engine = e
		}
	}
	command := "this command with -e " + engine
	if usual {
		command = "mailbench run -e " + engine
		if engine == "hbase" || engine == "cassandra" {
			command = "mailbench engine up " + engine + " && " + command
		}
		if len(models) == 1 { // too long for a line with the engine before it
			s.Say(document.Plain, "", "On "+engine+":")
			s.Say(document.Command, "", command+" -m "+models[0])
			return
		}
	}
	s.Say(document.Plain, "On "+engine, command)
}

// Said is a verdict that is not ok, without its name.
func (d *Notice) Said() string {
	text := d.whom()
	if d.Phase != "" {
		text += ", " + d.Phase
	}
	text += ": " + d.Text
	if d.Differs {
		text += " (values of the first)"
	}
	return text
}
