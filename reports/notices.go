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

// Notice is a verdict that is not ok, or a doubt, and the models that it holds for. A reader
// has to know it before using figures.
type Notice struct {
	results.Doubt
	Verdict results.Verdict // "" if it is a doubt
	Phase   string          // phase of a verdict, if the run has several phases with figures or trouble
	Few     bool            // it holds for less than half of the trials of each model: the others count
	Who     string          // the models, with their trials if it does not hold for all of them
	Differs bool            // other cells have other values than the text
	Count   int64           // operations
	cells   []*results.Cell
}

// String says what holds for whom, in one line. The text has the values of the first cell.
func (d *Notice) String() string {
	who := d.Who
	if d.Phase != "" {
		who += ", " + d.Phase
	}
	if d.Differs {
		who += "; values of the first"
	}
	return who + ": " + d.Doubt.String()
}

// notices are the doubts or verdicts of cells, as of has them: each code once, with the models (on engines) that it
// holds for, and their trials if it does not hold for all of them. A verdict on few trials has a notice of its own.
func (n Names) notices(r *results.Run, of func(*results.Cell) []Notice) (all []Notice) {
	var said []Notice
	cells := slices.Collect(r.All)
	for _, c := range cells {
		trials := r.Select(func(o *results.Cell) bool {
			return o.Model == c.Model && o.Engine == c.Engine && o.Phase == c.Phase && o.Point == c.Point
		})
		for _, one := range of(c) {
			alike := slices.DeleteFunc(slices.Clone(trials), func(o *results.Cell) bool {
				return !slices.ContainsFunc(of(o), func(o Notice) bool { return o.Code == one.Code || one.Verdict != "" })
			})
			one.Few, one.cells = 2*len(alike) < len(trials), []*results.Cell{c}
			said = append(said, one)
		}
	}
	type kind struct {
		results.Verdict
		results.Code
		phase string
		few   bool
	}
	for _, same := range results.Grouped(said, func(o Notice) kind {
		return kind{o.Verdict, o.Code, o.Phase, o.Few && o.Verdict != ""}
	}) {
		w := same[0]
		w.cells = nil
		for _, o := range same {
			w.Few, w.cells = w.Few && o.Few, append(w.cells, o.cells...)
			w.Differs = w.Differs || o.Doubt.String() != w.Doubt.String()
			for _, op := range o.Ops {
				w.Count += op.Count
			}
		}
		w.Who = n.whose(cells, w.cells)
		all = append(all, w)
	}
	return all
}

// whose names the models of some of all cells: each with its trials if they are not all, or all models together.
func (n Names) whose(all, some []*results.Cell) string {
	trial := func(c *results.Cell) string { return strconv.Itoa(c.Trial) }
	whole := map[string]int{} // trials by model
	for _, cs := range trials.Columns(all) {
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

// mostSerious is how many warnings the first screen has.
const mostSerious = 2

// The orders of warnings, the most serious first. Minor ones are notes, which only --full has.
const (
	incomplete = iota // operations are missing from the latencies
	leftOut           // trials do not count
	queued            // a lower rate comes before other remedies
	disturbed
	minor
)

// warning is a warning in plain words with the remedy, and all of its text.
type warning struct {
	order       int
	plain, text string
}

// warnings are the most serious of those that change how the latencies are read, and folded the texts of all.
func (v *run) warnings() (first, further document.Section) {
	var all []warning
	add := func(order int, plain, text string) { all = append(all, warning{order, plain, text}) }
	for _, n := range v.verdicts {
		if n.Few { // the others are alerts
			add(leftOut, v.leftOut(&n), fmt.Sprintf("%s: %s; the other trials count", n.Verdict, n.String()))
		}
	}
	for _, l := range v.loads {
		if who := v.queueing(l); who != "" {
			text := fmt.Sprintf("latency includes queueing (%s of max ops/s): use --set %s", who, ranking.Lower(l.Models))
			add(queued, text, text)
		} else if text := v.varies(l); text != "" {
			add(disturbed, text, text)
		}
	}
	for _, d := range DoubtsOf(v.Run, v.names) {
		what, remedy := judge.Plain(d.Code, results.OK)
		switch {
		case what != "" && d.Count > 0:
			add(incomplete, fmt.Sprintf("%s (%d operations, %s): %s", what, d.Count, d.Who, remedy), d.String())
		case what != "" && !d.Few:
			add(disturbed, fmt.Sprintf("%s (%s%s): %s", what, d.size(), d.Who, remedy), d.String())
		default:
			add(minor, "", d.String())
		}
	}
	slices.SortStableFunc(all, func(a, b warning) int { return a.order - b.order })
	first = document.Section{ID: "warnings"}
	further = document.Section{ID: "further", Title: "Warnings and notes", Fold: true}
	var serious []string
	for _, w := range all {
		further.Note(document.Plain, "", w.text)
		if w.order != minor {
			serious = append(serious, w.plain)
		}
	}
	shown := serious[:min(len(serious), mostSerious)]
	style, rest := document.Warn, "; no others"
	switch more := len(serious) - len(shown); {
	case more > 0:
		rest = fmt.Sprintf("; %d more (--full)", more)
	case len(shown) == 0 && v.whole():
		style, rest = document.Faint, "none"
	case len(shown) == 0: // but the alerts
		style, rest = document.Faint, "no others"
	}
	if len(all) > len(serious) && len(serious) == len(shown) {
		rest += " (notes: --full)"
	}
	if len(all) > 0 {
		first.Note(style, "Warnings", strings.Join(shown, "; ")+rest+".")
	}
	return first, further
}

// size is how large the effect of a doubt on its first cell is: its text without the title, the details and the remedy.
func (d *Notice) size() string {
	_, size, titled := strings.Cut(d.Text, ": ")
	if !titled {
		return ""
	}
	for _, details := range []string{"; ", " (", ", so ", ", the ", ", or "} {
		size, _, _ = strings.Cut(size, details)
	}
	if d.Differs {
		size = "in the first " + size
	}
	return size + ", "
}

// leftOut says which trials do not count, and why.
func (v *run) leftOut(n *Notice) string {
	who := n.Who
	if n.Phase == ranking.Unthrottled {
		who = "max ops/s of " + who
	}
	what, remedy := judge.Plain(n.Code, n.Verdict)
	if what == "" {
		return fmt.Sprintf("%s left out (%s, see --full)", who, n.Verdict)
	}
	key := rateKey(v.Run, n.cells[0])
	lower := "a lower " + key
	if half := n.cells[0].Rate / 2; half >= 1 && strings.HasSuffix(key, ".rate") {
		lower = fmt.Sprintf("%s=%.0f/s", key, half)
	}
	return fmt.Sprintf("%s left out (%s: %s)", who, what, strings.ReplaceAll(remedy, "a lower phases.PHASE.rate", lower))
}

// rateKey is the key of a workload that lowers the rate of a phase: closed loops have clients, and replays a speed.
// Streams have a rate each.
func rateKey(r *results.Run, c *results.Cell) string {
	replayed := func(p results.Phase) bool { return p.Name == c.Phase && p.Trace != "" }
	switch key := "phases." + c.Phase; {
	case c.Arrivals == "closed":
		return key + ".clients"
	case len(c.Streams) > 0:
		return key + ".streams"
	case slices.ContainsFunc(r.Phases, replayed):
		return key + ".replay.speed"
	default:
		return key + ".rate"
	}
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

// varies warns of models of a load whose trials differ much, with the range of the one that differs most; "": none do.
func (v *run) varies(l *ranking.Load) string {
	said, most, models := "", 0.0, 0
	for _, m := range l.Models {
		if !m.Varies(ranking.Typical) {
			continue
		}
		models++
		if low, high := m.Spread(ranking.Typical); high/max(low, 1) > most {
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
	models := modelsOf(v.Run)
	usual := v.Workload.Name == results.DefaultWorkload // the file and the settings of another are not known here
	if usual && len(models) == 1 {
		s.Say(document.Plain, "With all models", "this command with -m all")
	}
	var made []string // the target engines of the models
	for _, of := range v.Schemas {
		m, err := schemas.ParseStored(of.Model, []byte(of.Text))
		if err == nil && m.Native != "" && slices.Contains(models, of.Model) {
			made = append(made, m.Native)
		}
	}
	left := slices.DeleteFunc(slices.Clone(made), func(engine string) bool {
		return slices.ContainsFunc(v.Cells, func(c results.Cell) bool { return c.Engine == engine })
	})
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
