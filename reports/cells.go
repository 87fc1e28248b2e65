package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// LoadLine says how operations were started and which time is reported.
func LoadLine(c *results.Cell) string {
	switch {
	case !c.Measured() && len(c.Ops) == 0:
		return "no operations"
	case !c.Measured():
		return "unthrottled; latency from start to end"
	case c.Arrivals == "closed":
		return fmt.Sprintf("closed loop of %d clients; latency from start to end", c.Clients)
	}
	return fmt.Sprintf("open loop, %s/s %s; latency from the scheduled start",
		strconv.FormatFloat(c.Rate, 'f', -1, 64), c.Arrivals)
}

// Section holds cells that can be compared: they are of one phase, had the same
// load, and give the same promise of durability.
type Section struct {
	Cells []*results.Cell
	Ops   []string // most frequent first

	stream string // the only stream of the cells; "": all
}

// Sections sorts into sections the cells that ran operations or have a verdict
// that is not ok, in the order of the run.
func Sections(r *results.Run) []Section {
	var all []Section
	shown := r.Select(func(c *results.Cell) bool { // not warm-ups, and phases without operations
		return c.Verdict != results.OK || c.Kind != results.KindWarmup && len(c.Ops) > 0
	})
	alike := func(c *results.Cell) [3]string { return [3]string{c.Where(), c.Durability, LoadLine(c)} }
	var loads []Section // reports show them last
	for _, cells := range results.Grouped(shown, alike) {
		to := &loads
		if cells[0].Measured() {
			to = &all
		}
		*to = append(*to, Section{Cells: cells, Ops: results.OpsOf(cells)})
	}
	return append(all, loads...)
}

// Names gives each cell and audit of a run a name of its own: the model, and the engine and
// the trial if there are several.
type Names struct{ engines, trials bool }

func NamesIn(r *results.Run) Names {
	var n Names
	first := ""
	see := func(engine string, trial int) {
		first = cmp.Or(first, engine)
		n.engines = n.engines || engine != first
		n.trials = n.trials || trial > 1
	}
	for i := range r.Cells {
		see(r.Cells[i].Engine, r.Cells[i].Trial)
	}
	for i := range r.Audits { // a run may have audits and no cells
		see(r.Audits[i].Engine, r.Audits[i].Trial)
	}
	return n
}

func (n Names) Of(c *results.Cell) string { return n.ofTrial(c.Model, c.Engine, c.Trial) }

// Audit is the name of what was audited.
func (n Names) Audit(a *results.Audit) string {
	name := n.ofTrial(a.Model, a.Engine, a.Trial)
	if a.Point != "" {
		name += " at " + a.Point
	}
	return name
}

// ofTrial is the name of a model on an engine in a trial; 0: in all of them.
func (n Names) ofTrial(model, engine string, trial int) string {
	name := n.Part(model, engine)
	if n.trials && trial > 0 {
		name += " #" + strconv.Itoa(trial)
	}
	return name
}

// Part is the name of a model on an engine.
func (n Names) Part(model, engine string) string {
	if n.engines {
		return model + "/" + engine
	}
	return model
}

// AchievedRates says how many operations a second the schedule of an open loop offered to each
// model, and how many were executed, both as medians of the trials; "" if there was no schedule.
func (s *Section) AchievedRates(n Names) string {
	return eachModel("throughput, achieved of offered operations/s: ", []Section{*s}, n, func(cs trials.Column) string {
		var offered, achieved []float64
		for _, c := range cs {
			if o := c.Offered; o != nil && c.Measured() && c.Arrivals != "closed" && o.Rate > 0 {
				offered, achieved = append(offered, o.Rate), append(achieved, o.Achieved)
			}
		}
		if len(offered) == 0 {
			return ""
		}
		return words.Amount(results.Median(achieved)) + " of " + words.Amount(results.Median(offered))
	})
}

// eachModel joins what is said of each model's trials, each text once, after a title; "" if there is nothing to say.
func eachModel(title string, all []Section, n Names, said func(cs trials.Column) string) string {
	var parts []string
	for _, s := range all {
		for _, cs := range trials.Columns(s.Cells) {
			part := n.Part(cs[0].Model, cs[0].Engine) + " " + said(cs)
			if !strings.HasSuffix(part, " ") && !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return title + strings.Join(parts, ", ")
}
