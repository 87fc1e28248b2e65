package reports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// notice is a verdict that is not ok, or a doubt, and the models that it holds for. A reader
// has to know it before using figures.
type notice struct {
	results.Doubt
	verdict results.Verdict // ok: it is a doubt
	phase   string          // phase of a verdict, if the run has several phases with figures or trouble
	few     bool            // it holds for less than half of the trials of each model: the others count
	who     string          // the models, with their trials if it does not hold for all of them
	differs bool            // other cells have other values than the text
	count   int64           // operations
	cells   []*results.Cell
}

// String says what holds for whom, in one line. The text has the values of the first cell.
func (o *notice) String() string {
	who := o.who
	if o.phase != "" {
		who += ", " + o.phase
	}
	if o.differs {
		who += "; values of the first"
	}
	return who + ": " + o.Doubt.String()
}

// noticesOf are the verdicts that are not ok, the worst first and each code once a phase, and then the doubts, each
// code once. They name the models (on engines) that they hold for. A verdict on few trials has a notice of its own.
func noticesOf(r *results.Run, n Names) (all []*notice) {
	place := func(c *results.Cell) results.Key {
		return results.Key{Model: c.Model, Engine: c.Engine, Phase: c.Phase, Point: c.Point}
	}
	phases := results.Distinct(r.Select(func(c *results.Cell) bool {
		return c.Measured() || c.Verdict != results.OK
	}), (*results.Cell).Where)
	trials := map[results.Key]int{}
	var said []*notice // of one cell each
	for c := range r.All {
		trials[place(c)]++
		if c.Verdict != results.OK && c.Verdict != "" {
			o := &notice{verdict: c.Verdict, cells: []*results.Cell{c}}
			if len(phases) > 1 {
				o.phase = c.Where()
			}
			if c.Reason != nil {
				o.Code, o.Text = c.Reason.Code, c.Reason.Text
			}
			said = append(said, o)
		}
		for _, d := range c.Doubts {
			said = append(said, &notice{Doubt: d, verdict: results.OK, cells: []*results.Cell{c}})
		}
	}
	type kind struct {
		results.Key
		results.Verdict
		results.Code
		few bool
	}
	for _, same := range results.Grouped(said, func(o *notice) kind {
		if o.verdict != results.OK { // any such verdict counts
			return kind{Key: place(o.cells[0])}
		}
		return kind{Key: place(o.cells[0]), Verdict: results.OK, Code: o.Code}
	}) {
		for _, o := range same {
			o.few = 2*len(same) < trials[place(o.cells[0])]
		}
	}
	for _, same := range results.Grouped(said, func(o *notice) kind {
		return kind{results.Key{Phase: o.phase}, o.verdict, o.Code, o.few && o.verdict != results.OK}
	}) {
		one := &notice{Doubt: same[0].Doubt, verdict: same[0].verdict, phase: same[0].phase, few: true}
		for _, o := range same {
			one.few, one.cells = one.few && o.few, append(one.cells, o.cells...)
			one.differs = one.differs || o.Doubt.String() != one.Doubt.String()
			for _, op := range o.Ops {
				one.count += op.Count
			}
		}
		one.who = n.whose(r, one.cells)
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b *notice) int { return b.verdict.Severity() - a.verdict.Severity() })
	return all
}

// whose names the models of some cells: each with its trials if they are not all, or all models together.
func (n Names) whose(r *results.Run, some []*results.Cell) string {
	trial := func(c *results.Cell) string { return strconv.Itoa(c.Trial) }
	whole := map[string]int{} // trials by model
	for _, cs := range trials.Columns(slices.Collect(r.All)) {
		whole[n.Part(cs[0].Model, cs[0].Engine)] = len(results.Distinct(cs, trial))
	}
	var names []string
	parts := false
	for _, cs := range trials.Columns(some) {
		name := n.Part(cs[0].Model, cs[0].Engine)
		if of := results.Distinct(cs, trial); len(of) < whole[name] {
			name, parts = name+" trial "+words.List(of), true
		}
		names = append(names, name)
	}
	if len(names) == len(whole) && len(names) > 1 && !parts {
		return "all models"
	}
	return strings.Join(names, ", ")
}

// The orders of warnings, the most serious first. Minor ones are notes, which only --full has.
const (
	incomplete = iota // operations are missing from the latencies
	leftOut           // trials do not count
	queued            // a lower rate comes before other remedies
	disturbed
	minor
)

// warnings are the most serious of those that change how the latencies are read, and folded the texts of all.
func (v *run) warnings() (first, further document.Section) {
	var plain, texts [minor + 1][]string // by order: in plain words with the remedy, and all of the text
	add := func(order int, short, text string) {
		plain[order], texts[order] = append(plain[order], short), append(texts[order], text)
	}
	for _, l := range v.loads {
		var near []string // models whose offered rate was near what they achieve without pauses
		for _, m := range l.Models {
			if part := m.OfMaximum(); part >= ranking.NearMaximum && m.Ranked() {
				near = append(near, fmt.Sprintf("%s at %.0f%%", v.names.Part(m.Model, m.Engine), 100*part))
			}
		}
		if len(near) > 0 {
			text := fmt.Sprintf("latency includes queueing (%s of max ops/s): use --set %s",
				strings.Join(near, ", "), ranking.Lower(l.Models))
			add(queued, text, text)
		} else if text := v.varies(l); text != "" {
			add(disturbed, text, text)
		}
	}
	for _, o := range v.notices {
		what, remedy := judge.Plain(o.Code, o.verdict)
		switch {
		case o.verdict != results.OK && !o.few: // an alert
		case o.verdict != results.OK:
			add(leftOut, v.leftOut(o, what, remedy), fmt.Sprintf("%s: %s; the other trials count", o.verdict, o))
		case what != "" && o.count > 0:
			add(incomplete, fmt.Sprintf("%s (%d operations, %s): %s", what, o.count, o.who, remedy), o.String())
		case what != "" && !o.few:
			add(disturbed, fmt.Sprintf("%s (%s%s): %s", what, o.size(), o.who, remedy), o.String())
		default:
			add(minor, "", o.String())
		}
	}
	first = document.Section{ID: "warnings"}
	further = document.Section{ID: "further", Title: "Warnings and notes", Fold: true}
	for _, text := range slices.Concat(texts[:]...) {
		further.Note(document.Plain, "", text)
	}
	serious := slices.Concat(plain[:minor]...)
	shown := serious[:min(len(serious), 2)]
	style, rest := document.Warn, "; no others"
	switch more := len(serious) - len(shown); {
	case more > 0:
		rest = fmt.Sprintf("; %d more (--full)", more)
	case len(shown) == 0 && v.whole():
		style, rest = document.Faint, "none"
	case len(shown) == 0: // but the alerts
		style, rest = document.Faint, "no others"
	}
	if len(texts[minor]) > 0 && len(serious) == len(shown) {
		rest += " (notes: --full)"
	}
	if len(further.Notes) > 0 {
		first.Note(style, "Warnings", strings.Join(shown, "; ")+rest+".")
	}
	return first, further
}

// size is how large the effect of a doubt on its first cell is: its text without the title, the details and the remedy.
func (o *notice) size() string {
	_, size, titled := strings.Cut(o.Text, ": ")
	if !titled {
		return ""
	}
	for _, details := range []string{"; ", " (", ", so ", ", the ", ", or "} {
		size, _, _ = strings.Cut(size, details)
	}
	if o.differs {
		size = "in the first " + size
	}
	return size + ", "
}

// leftOut says which trials do not count, and why. The remedy is the setting that lowers the rate of the phase: closed
// loops have clients, replays a speed, and streams a rate each.
func (v *run) leftOut(o *notice, what, remedy string) string {
	c, who := o.cells[0], o.who
	if o.phase == ranking.Unthrottled {
		who = "max ops/s of " + who
	}
	if what == "" {
		return fmt.Sprintf("%s left out (%s, see --full)", who, o.verdict)
	}
	phase := "phases." + c.Phase
	lower := "a lower " + phase + ".rate"
	switch {
	case c.Arrivals == "closed":
		lower = "a lower " + phase + ".clients"
	case len(c.Streams) > 0:
		lower = "a lower " + phase + ".streams"
	case slices.ContainsFunc(v.Phases, func(p results.Phase) bool { return p.Name == c.Phase && p.Trace != "" }):
		lower = "a lower " + phase + ".replay.speed"
	case c.Rate >= 2:
		lower = fmt.Sprintf("%s.rate=%.0f/s", phase, c.Rate/2)
	}
	return fmt.Sprintf("%s left out (%s: %s)", who, what, strings.ReplaceAll(remedy, "a lower phases.PHASE.rate", lower))
}

// varies warns of models of a load whose trials differ more than twofold, with the range of the one that differs most;
// "": none do.
func (v *run) varies(l *ranking.Load) string {
	said, most, models := "", 0.0, 0
	for _, m := range l.Models {
		known := m.Values[ranking.Typical].Known()
		if !m.Ranked() || len(known) < 2 || slices.Max(known) <= 2*slices.Min(known) {
			continue
		}
		models++
		if low, high := slices.Min(known), slices.Max(known); high/max(low, 1) > most {
			most = high / max(low, 1)
			said = fmt.Sprintf("%s×: %s %s to %s ms", words.Amount(most), m.Name, results.MS(low), results.MS(high))
		}
	}
	if models > 1 {
		said += fmt.Sprintf(", of %d models", models)
	}
	if models == 0 {
		return ""
	}
	return fmt.Sprintf("typical varies between trials (%s): use a quieter machine, a lower rate, or --trials %d",
		said, max(5, 2*l.Trials-1))
}

// target says how the models are measured on a target engine that the run did not measure, and a single model with
// the others.
func (v *run) target(s *document.Section) {
	models := results.Distinct(v.Cells, func(c results.Cell) string { return c.Model })
	usual := v.Workload.Name == results.DefaultWorkload // the file and the settings of another are not known here
	if usual && len(models) == 1 {
		s.Say(document.Plain, "With all models", "this command with -m all")
	}
	var made, left []string // the target engines of the models, and those that were not measured
	for _, of := range v.Schemas {
		m, err := schemas.ParseStored(of.Model, []byte(of.Text))
		if err != nil || m.Native == "" || !slices.Contains(models, of.Model) {
			continue
		}
		made = append(made, m.Native)
		if !slices.ContainsFunc(v.Cells, func(c results.Cell) bool { return c.Engine == m.Native }) {
			left = append(left, m.Native)
		}
	}
	if len(left) == 0 || len(left) < len(made) && !v.names.engines { // models ran on the engine that was chosen for them
		return
	}
	engine := slices.Min(left)
	command := "this command with -e " + engine
	if usual && len(models) > 1 {
		command = "mailbench run -e " + engine
		if engine == "cassandra" || engine == "hbase" { // mailbench starts these
			command = "mailbench engine up " + engine + " && " + command
		}
	}
	s.Say(document.Plain, "On "+engine, command)
}
