// Package reports writes the results of a run for people and for other tools: text for a
// terminal, Markdown, CSV, JUnit, Go benchmark lines, and the overview that compares models.
// A report can always be made again from a run directory (package workloads/results).
package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/answer"
	"github.com/mailbench/mailbench/workloads/results"
)

// Of is the report of a run: what is wrong first, then the verdict with the latency of the whole load
// and of each operation, then warnings, and folded all that is known.
func Of(r *results.Run, by ranking.Metric) *document.Document {
	n := NamesIn(r)
	v := &run{r, n, ranking.Of(r, cmp.Or(by, ranking.Typical)), Groups(r), noticesOf(r, n)}
	d := &document.Document{Title: v.title(), Facts: v.facts()}
	add := func(sections ...document.Section) {
		for _, s := range sections {
			if len(s.Says)+len(s.Notes) > 0 || s.Table != nil && len(s.Table.Rows) > 0 {
				d.Sections = append(d.Sections, s)
			}
		}
	}
	add(v.alerts())
	add(v.searches()...)
	if r.Sweep != nil {
		add(v.growth()...)
	}
	for _, loads := range results.Grouped(v.loads, func(l *ranking.Load) string { return l.Phase }) { // on several engines
		add(v.verdict(loads), v.wholeLoad(loads), v.operations(loads))
	}
	warnings, further := v.warnings()
	add(v.findings(), v.interrupted(), warnings, v.thresholds(), v.costs(), v.unsupported())
	add(v.details()...)
	add(further, v.setup())
	return d
}

// run is a run with what its report needs at several places.
type run struct {
	*results.Run
	names   Names
	loads   []*ranking.Load // of measured phases; empty for a sweep
	groups  [][]*results.Cell
	notices []*notice
}

func (v *run) title() string {
	models := results.Distinct(v.Cells, func(c results.Cell) string { return c.Model })
	engines := enginesIn(v.Run, false)
	what, where := words.Plural(len(models), "model"), words.Plural(len(engines), "engine")
	if len(models) == 1 {
		what = models[0]
	}
	if len(engines) == 1 {
		where = engines[0]
	}
	return fmt.Sprintf("%s: %s on %s; %d CPUs; %s", v.Workload.Name, what, where, v.Environment.CPUs,
		words.About(time.Duration(v.Seconds*1e9)))
}

// facts say what was measured.
func (v *run) facts() (all []string) {
	if all = enginesIn(v.Run, false); len(all) < 2 {
		all = nil // the title has it
	}
	var parts []string
	add := func(s string) { parts = append(parts, s) }
	if e := v.loaded(); e != nil {
		s := fmt.Sprintf("%s %ss", words.Thousands(e.Copies), cmp.Or(e.Unit, "message"))
		if e.MailBytes > 0 {
			s += ", " + words.Size(float64(e.MailBytes))
		}
		add(s)
	}
	if len(v.loads) > 0 {
		add(ranking.Fact(v.loads, v.whole()))
	}
	if v.Sweep != nil {
		add(fmt.Sprintf("%s at %d values", v.Sweep.Path, len(v.Sweep.Points)))
	}
	if m := v.Mail; m != nil {
		s := fmt.Sprintf("mail: %s: %s, %s", m.File, words.Plural(m.Messages, "message"), words.Size(float64(m.Bytes)))
		if m.Malformed > 0 {
			s += fmt.Sprintf("; %d malformed, delivered all the same", m.Malformed)
		}
		add(strings.Join(append([]string{s}, m.Notes...), "; "))
	}
	if n := len(v.Segments); n > 0 {
		add(fmt.Sprintf("%d segments, merged; the machine is that of segment 1", n))
	} else if s := v.Segment; s.Of > 1 {
		add(fmt.Sprintf("segment %d of %d, a part of the run: mailbench merge puts all together", s.Index, s.Of))
	}
	if len(parts) > 0 {
		all = append(all, strings.Join(parts, "; "))
	}
	return all
}

// whole reports whether nothing of the run is missing or was left out.
func (v *run) whole() bool {
	return !v.Interrupted && !slices.ContainsFunc(v.notices, func(o *notice) bool { return o.verdict != results.OK })
}

// loaded is the evidence of the first load, or nil.
func (v *run) loaded() *results.Evidence {
	for i := range v.Cells {
		if e := v.Cells[i].Evidence; v.Cells[i].Kind == results.KindLoad && e != nil && e.Copies > 0 {
			return e
		}
	}
	return nil
}

// alerts are what is wrong with the run, missed thresholds, and the workload's own answer.
func (v *run) alerts() document.Section {
	s := document.Section{ID: "alerts"}
	if v.Interrupted {
		s.Say(document.Bad, "INTERRUPTED", "the results are those up to the interruption.")
	}
	for i := range v.Audits {
		a, lead, style := &v.Audits[i], "Verified", document.Plain
		who := v.names.Of(results.Key{Model: a.Model, Engine: a.Engine, Trial: a.Trial})
		if a.Point != "" {
			who += " at " + a.Point
		}
		switch {
		case a.Wrong():
			lead, style = "DATA WRONG OR LOST", document.Bad
		case a.Incomplete():
			lead, style = "NOT VERIFIED", document.Bad
		}
		s.Say(style, lead, who+": "+AuditSummary(a))
		for _, n := range a.Notes {
			s.Say(document.Plain, "", n)
		}
	}
	if len(v.Cells) == 0 && len(v.Audits) == 0 {
		s.Say(document.Bad, "NOTHING MEASURED", "the run has no results.")
	}
	for _, o := range v.notices {
		if o.verdict != results.OK && !o.few { // few are a warning
			s.Say(document.Bad, strings.ToUpper(string(o.verdict)), o.String())
		}
	}
	if setting := v.slower(); setting != "" {
		s.Say(document.Plain, "", "With --set "+setting+" the models that are not ranked may be valid.")
	}
	missed, met := v.missed()
	for _, m := range missed {
		s.Say(document.Bad, "THRESHOLD", m)
	}
	if met > 0 && len(missed) == 0 {
		s.Say(document.Plain, "", words.Plural(met, "threshold")+" met.")
	}
	for _, left := range v.Left {
		s.Say(document.Warn, "Leftovers", left)
	}
	for _, l := range answer.Of(v.Run) { // one that names no models is said of each
		who := strings.TrimPrefix(v.names.Part(l.Model, l.Engine), "/") // only the engine if there are several
		s.Say(document.Strong, "", strings.TrimPrefix(who+": "+l.Text, ": "))
	}
	return s
}

// slower is the setting of a rate that all models achieve, if one is not ranked because it was offered more; else "".
func (v *run) slower() string {
	var all, left []*ranking.Model // models of the loads with some that are not ranked, and these
	for _, l := range v.loads {
		if some := slices.DeleteFunc(slices.Clone(l.Models), (*ranking.Model).Ranked); len(some) > 0 {
			all, left = append(all, l.Models...), append(left, some...)
		}
	}
	if ranking.Lower(left) == "" {
		return ""
	}
	return ranking.Lower(all)
}

// findings are what lint says of the schema, next to what the run shows of it.
func (v *run) findings() document.Section {
	s := document.Section{ID: "findings", Title: "Lint findings, and whether growth shows them"}
	style := map[string]document.Style{"confirmed": document.Strong}
	for _, f := range v.Findings {
		s.Say(style[f.Verdict], fmt.Sprintf("%s %s on %s", f.Rule, f.Where, f.Engine), f.Verdict+": "+f.Measured)
		s.Say(document.Faint, "lint", f.Predicted)
	}
	if v.Sweep == nil || len(v.Sweep.Points) == 0 || len(v.Findings) == 0 {
		return s
	}
	disk, rough := map[[2]string]float64{}, false // of the tables after the load, without the log; 0: unknown
	for c := range v.All {
		if at := [2]string{c.Engine, c.Point}; c.Kind == results.KindSettle && c.Engines != nil && disk[at] == 0 {
			bytes, known := c.Engines.Disk()
			disk[at], rough = float64(bytes), rough || !known
		}
	}
	first, last := v.Sweep.Points[0], v.Sweep.Points[len(v.Sweep.Points)-1]
	for _, p := range last.Partitions { // of the one model
		i := slices.IndexFunc(first.Partitions, func(o results.Partition) bool { return o.Engine == p.Engine })
		was, is := disk[[2]string{p.Engine, first.Value}], disk[[2]string{p.Engine, last.Value}]
		if i >= 0 && was > 0 && is > 0 {
			s.Say(document.Plain, "size on "+p.Engine, fmt.Sprintf("forecast %s → %s, on disk %s%s → %s",
				words.Size(first.Partitions[i].Files), words.Size(p.Files), map[bool]string{true: "up to "}[rough],
				words.Size(was), words.Size(is)))
		}
	}
	return s
}

// setup says how the run was made.
func (v *run) setup() document.Section {
	s := document.Section{ID: "setup", Title: "How it was run", Fold: true}
	s.Note(document.Plain, "run", fmt.Sprintf("%s, seed %d, started %s", v.Workload.Name, v.Seed, v.Started))
	e := &v.Environment
	machine := []string{e.OS + "/" + e.Arch, e.CPU, fmt.Sprintf("%d CPUs", e.CPUs)}
	if e.Memory > 0 {
		machine = append(machine, words.Size(float64(e.Memory)))
	}
	version := "mailbench " + e.Version
	if e.Dirty {
		version += " (changed since its commit)"
	}
	machine = slices.DeleteFunc(append(machine, e.Disk, e.Go, version), func(p string) bool { return p == "" })
	s.Note(document.Plain, "machine", strings.Join(machine, ", "))
	for _, e := range enginesIn(v.Run, true) {
		s.Note(document.Plain, "engine", e)
	}
	return s
}

// AuditSummary says what the audit found, the worst first.
func AuditSummary(a *results.Audit) string {
	var parts []string
	add := func(n int64, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	if a.Fault != "" {
		parts = append(parts, "UNKNOWN LOSSES: "+a.Fault)
		if a.Delivered == 0 {
			return parts[0]
		}
	}
	add(a.Lost, "LOST")
	add(a.Corrupt, "CORRUPT")
	add(a.Resurrected, "deleted but still there")
	add(a.BadUIDs, "UIDs given twice or out of order")
	switch {
	case a.Error != "":
		parts = append(parts, fmt.Sprintf("INTERRUPTED after %d of %d deliveries: %s", a.Verified, a.Delivered, a.Error))
	case len(parts) == 0 && a.Unread == 0:
		parts = append(parts, "nothing lost")
		fallthrough
	default:
		parts = append(parts, fmt.Sprintf("%d of %d deliveries verified", a.Verified, a.Delivered))
	}
	parts = append(parts, fmt.Sprintf("%d deleted", a.Deleted))
	add(a.Unknown, "of unknown outcome")
	add(a.Unread, "could not be read")
	add(a.Dangling, "broken references")
	add(a.Duplicated, "duplicated")
	add(a.BrokenBodies, "broken bodies")
	if a.CounterDrift > 0 {
		drift := map[bool]string{true: "COUNTER DRIFT", false: "counter drift"}[a.Exact]
		parts = append(parts, fmt.Sprintf("%s of %d in all", drift, a.CounterDrift))
	}
	if a.Dangling+a.BrokenBodies+a.CounterDrift > 0 && (a.Interrupted || !a.Exact) { // so they are not wrong
		parts = append(parts, "as operations were interrupted, or have an unknown outcome")
	}
	add(a.Unreferenced, "orphaned")
	add(a.InterruptedBlobs, "interrupted blob writes")
	add(a.Purgeable, "purgeable")
	return strings.Join(parts, ", ")
}

// enginesIn names the engines of the measured phases with their versions, what an acknowledged write survives, and
// their settings: the most important ones, or all but those of servers.
func enginesIn(r *results.Run, all bool) []string {
	measured := r.Select(func(c *results.Cell) bool { return c.Engines != nil && c.Measured() })
	engines := results.Distinct(measured, func(c *results.Cell) string {
		parts := []string{strings.TrimSpace(c.Engine + " " + strings.TrimPrefix(c.Engines.Version, c.Engine+" "))}
		if c.Durability != "" {
			parts = append(parts, "durability "+c.Durability)
		}
		important := []string{"replication", "consistency"}
		for _, k := range slices.Concat(important, slices.Sorted(maps.Keys(c.Engines.Settings))) {
			setting := k + " " + c.Engines.Settings[k]
			shown := slices.Contains(important, k) || all && !strings.HasPrefix(k, "server_") && k != "durability"
			if shown && c.Engines.Settings[k] != "" && !slices.Contains(parts, setting) {
				parts = append(parts, setting)
			}
		}
		return strings.Join(parts, ", ")
	})
	recorded := results.Distinct(measured, func(c *results.Cell) string { return c.Engine })
	for _, name := range results.Distinct(r.Cells, func(c results.Cell) string { return c.Engine }) {
		if !slices.Contains(recorded, name) {
			engines = append(engines, name)
		}
	}
	return engines
}

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

// Groups are the cells that ran operations or have a verdict that is not ok, in the order of the run. Those of a group
// can be compared: they are of one phase, had the same load, and give the same promise of durability.
func Groups(r *results.Run) [][]*results.Cell {
	shown := func(measured bool) []*results.Cell { // not warm-ups, and phases without operations
		return r.Select(func(c *results.Cell) bool {
			return c.Measured() == measured && (c.Verdict != results.OK || c.Kind != results.KindWarmup && len(c.Ops) > 0)
		})
	}
	alike := func(c *results.Cell) [3]string { return [3]string{c.Where(), c.Durability, LoadLine(c)} }
	return results.Grouped(append(shown(true), shown(false)...), alike) // loads are last
}

// Names gives each cell and audit of a run a name of its own: the model, and the engine and
// the trial if there are several.
type Names struct{ engines, trials bool }

func NamesIn(r *results.Run) (n Names) {
	engines := map[string]bool{}
	add := func(engine string, trial int) { engines[engine], n.trials = true, n.trials || trial > 1 }
	for c := range r.All {
		add(c.Engine, c.Trial)
	}
	for i := range r.Audits { // a run may have audits and no cells
		add(r.Audits[i].Engine, r.Audits[i].Trial)
	}
	n.engines = len(engines) > 1
	return n
}

// Of is the name of a model on an engine in a trial; 0: in all of them.
func (n Names) Of(k results.Key) string {
	name := n.Part(k.Model, k.Engine)
	if n.trials && k.Trial > 0 {
		name += " #" + strconv.Itoa(k.Trial)
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
