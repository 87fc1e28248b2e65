package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/trials"
)

// Regime says how large the data of each model was in comparison with the cache in the
// measured phases, as medians of the trials. Values of a store that fits its cache show
// nothing about one that does not.
func Regime(all []Section, n Names) string {
	return eachModel("data on disk (times the cache): ", all, n, func(cs trials.Column) string {
		var data, ratio []float64
		for _, c := range cs {
			if !c.Measured() || c.Engines == nil || c.Engines.DiskBytes < 0 {
				continue
			}
			data = append(data, float64(c.Engines.DiskBytes))
			if c.Engines.CacheBytes > 0 {
				ratio = append(ratio, float64(c.Engines.DiskBytes)/float64(c.Engines.CacheBytes))
			}
		}
		switch {
		case len(data) == 0:
			return ""
		case len(ratio) == 0:
			return words.Size(results.Median(data))
		}
		return fmt.Sprintf("%s (%.2f)", words.Size(results.Median(data)), results.Median(ratio))
	})
}

// Floors says what the harness and each model cost by themselves.
func Floors(r *results.Run) string {
	var parts []string
	var measured []results.Floor
	for _, f := range r.Floor {
		switch {
		case f.Error != "":
			parts = append(parts, fmt.Sprintf("%s not measured (%s)", cmp.Or(f.Model, "harness"), f.Error))
		case f.Model == "":
			parts = append(parts, fmt.Sprintf("harness %s and %s allocations an operation",
				words.Duration(f.NS), words.Amount(f.Allocs)))
		default:
			measured = append(measured, f)
		}
	}
	longer := func(a, b results.Floor) int { return cmp.Compare(a.NS, b.NS) }
	for _, of := range results.Grouped(measured, func(f results.Floor) string { return f.Model }) {
		least, most := slices.MinFunc(of, longer), slices.MaxFunc(of, longer)
		parts = append(parts, fmt.Sprintf("%s %s (%s) to %s (%s)", of[0].Model, words.Duration(least.NS), least.Op,
			words.Duration(most.NS), most.Op))
	}
	if len(parts) == 0 {
		return ""
	}
	return "cost of mailbench itself: " + strings.Join(parts, ", ")
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
	excuse := "" // why they are not wrong
	if a.Interrupted {
		excuse = " (of interrupted operations)"
	}
	add(a.Dangling, "broken references"+excuse)
	add(a.Duplicated, "duplicated")
	add(a.BrokenBodies, "broken bodies"+excuse)
	if a.CounterDrift > 0 {
		drift := "COUNTER DRIFT of %d in all"
		if !a.Exact {
			drift = "counter drift of %d in all (operations were interrupted, or have an unknown outcome)"
		}
		parts = append(parts, fmt.Sprintf(drift, a.CounterDrift))
	}
	add(a.Unreferenced, "orphaned")
	add(a.InterruptedBlobs, "interrupted blob writes")
	add(a.Purgeable, "purgeable")
	return strings.Join(parts, ", ")
}

// EnginesOf describes each engine of the run: its version, what an acknowledged
// write survives, and the settings in force, the most important first. The settings
// of servers and tables are left to the page's provenance.
func EnginesOf(r *results.Run) []string {
	var lines, known []string
	for c := range r.All {
		if c.Engines == nil || slices.Contains(known, c.Engine) {
			continue
		}
		known = append(known, c.Engine)
		measured := r.Select(func(m *results.Cell) bool { return m.Measured() && m.Engine == c.Engine && m.Durability != "" })
		classes := results.Distinct(measured, func(m *results.Cell) string { return m.Durability })
		settings := slices.Clone(firstSettings)
		for _, k := range slices.Sorted(maps.Keys(c.Engines.Settings)) {
			own := !strings.HasPrefix(k, "server_") && !strings.HasPrefix(k, "table_")
			if own && k != "durability" && !slices.Contains(settings, k) {
				settings = append(settings, k)
			}
		}
		lines = append(lines, c.Engine+": "+described(c, c.Engines.Version, classes, settings))
	}
	return lines
}

// firstSettings are the most important settings of an engine.
var firstSettings = []string{"replication", "consistency"}

// described is the version of an engine, what its acknowledged writes survive, and its settings of these names.
func described(c *results.Cell, version string, classes, settings []string) string {
	parts := []string{version}
	if len(classes) > 0 {
		parts = append(parts, "durability "+strings.Join(classes, " and "))
	}
	for _, name := range settings {
		if v := c.Engines.Settings[name]; v != "" {
			parts = append(parts, name+" "+v)
		}
	}
	return joined(parts)
}

// SegmentLine says which part of a run the results are, or how many load generators they
// were put together from. It is "" for a run of one load generator.
func SegmentLine(r *results.Run) string {
	machines := map[results.Machine]bool{}
	for _, s := range r.Segments {
		machines[s.Machine] = true
	}
	switch n := len(r.Segments); {
	case n > 0 && len(machines) == 1:
		return fmt.Sprintf("%d segments on one machine, merged", n)
	case n > 0:
		return fmt.Sprintf("%d segments on %d machines, merged; that of segment 1 is named", n, len(machines))
	case r.Segment.Of > 1:
		return fmt.Sprintf("segment %d of %d, a part of the run: mailbench merge puts all together", r.Segment.Index, r.Segment.Of)
	}
	return ""
}

func MachineLine(e *results.Environment) string {
	parts := []string{e.OS + "/" + e.Arch, e.CPU, fmt.Sprintf("%d CPUs", e.CPUs)}
	if e.Memory > 0 {
		parts = append(parts, words.Size(float64(e.Memory)))
	}
	version := "mailbench " + e.Version
	if e.Dirty {
		version += " (changed since its commit)"
	}
	return joined(append(parts, e.Disk, e.Go, version))
}

// joined joins the parts that are not empty.
func joined(parts []string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}

// EnginesIn names the engines of the measured phases with their versions and durability, and how they
// compress their files, if they differ in that.
func EnginesIn(r *results.Run) []string {
	measured := r.Select(func(c *results.Cell) bool { return c.Engines != nil && c.Measured() })
	compressions := results.Distinct(measured, compression)
	differ := len(slices.DeleteFunc(compressions, func(s string) bool { return s == "" })) > 1
	engines := results.Distinct(measured, func(c *results.Cell) string {
		version := strings.TrimSpace(c.Engine + " " + strings.TrimPrefix(c.Engines.Version, c.Engine+" "))
		s := described(c, version, []string{c.Durability}, firstSettings)
		if differ {
			s = joined([]string{s, compression(c)})
		}
		return s
	})
	recorded := results.Distinct(measured, func(c *results.Cell) string { return c.Engine })
	for _, name := range results.Distinct(r.Cells, func(c results.Cell) string { return c.Engine }) {
		if !slices.Contains(recorded, name) {
			engines = append(engines, name)
		}
	}
	return engines
}

// compression says how the engine of a cell compresses its files; "" if that is not known. Cassandra's
// setting compression is that of requests, and that of files one of tables.
func compression(c *results.Cell) string {
	by := cmp.Or(c.Engines.Settings["table_compression"], c.Engines.Settings["compression"])
	by, _, _ = strings.Cut(by, " ") // without the options of its class
	switch by {
	case "":
		return ""
	case "none":
		return "files not compressed"
	}
	return "files compressed by " + strings.ToLower(strings.TrimSuffix(by, "Compressor"))
}

// ScannedNote explains how the rows scanned in a run's tables were found out, or "".
func ScannedNote(all []Section) string {
	traced, unreported := int64(0), false
	for _, s := range all {
		for _, c := range s.Cells {
			for _, o := range c.Ops {
				if o.Count > 0 && s.Cells[0].Measured() {
					traced = max(traced, o.Store.Traced)
					unreported = unreported || o.Store.RowsScanned == nil
				}
			}
		}
	}
	var notes []string
	if traced > 0 {
		notes = append(notes, fmt.Sprintf("~ mean of %d traced operations, after the phase", traced))
	}
	if unreported {
		notes = append(notes, "- the engine does not report them")
	}
	return strings.Join(notes, "; ")
}

// additions says which share of each model's requests was made by access patterns that are additions
// to its document, or that are about tables that are, and which share of its bytes is of these and of
// added columns. It is "" if there are none.
func (e *explainer) additions(r *results.Run) string {
	var parts []string
	found := false
	for _, model := range r.Config.Models {
		s := e.schemas[model]
		if s == nil {
			continue
		}
		var requests, added, bytes, addedBytes float64
		var names []string // of added patterns
		for _, c := range r.Select(func(c *results.Cell) bool { return c.Model == model && c.Measured() }) {
			for _, o := range c.Ops {
				bytes += float64(o.Count) * (o.Store.BytesRead + o.Store.BytesWritten)
				addedBytes += float64(o.Count) * o.Store.BytesAdded
				for _, ran := range o.Patterns {
					share, calls := additionOf(s.Pattern(ran.Name)), ran.Requests*float64(o.Count)
					requests, added = requests+calls, added+share*calls
					if share > 0 && calls > 0 && !slices.Contains(names, ran.Name) {
						names = append(names, ran.Name)
					}
				}
			}
		}
		if requests == 0 {
			continue
		}
		found = found || len(names) > 0 || addedBytes > 0
		part := fmt.Sprintf("%s %.0f%%/%.0f%%", model, 100*added/requests, 100*addedBytes/max(bytes, 1))
		if slices.Sort(names); len(names) > 0 {
			part += " (" + strings.Join(names, ", ") + ")"
		}
		parts = append(parts, part)
	}
	if !found {
		return ""
	}
	return "share of requests and bytes that the source design does not have: " + strings.Join(parts, ", ") +
		". Added columns count as bytes only"
}

// additionOf is which share of a pattern's requests is an addition: 1, 0, or that of the parts of a batch.
func additionOf(p *schemas.Pattern) float64 {
	switch {
	case p == nil:
		return 0
	case p.Addition != "" && !p.Form:
		return 1
	case p.Kind == schemas.Batch:
		sum := 0.0
		for _, part := range p.Parts {
			sum += additionOf(part.Pattern)
		}
		return sum / float64(max(1, len(p.Parts)))
	}
	for t := p.Table; t != nil; t = t.Parent {
		if t.Addition != "" {
			return 1
		}
	}
	return 0
}

// explainer knows the schemas of a run, and which of their patterns schema lint calls an error, also if the
// schema accepts that.
type explainer struct {
	schemas map[string]*schemas.Schema
	errors  map[[2]string]string // rules by model and pattern
}

func newExplainer(r *results.Run) *explainer {
	e := &explainer{schemas: map[string]*schemas.Schema{}, errors: map[[2]string]string{}}
	for _, s := range r.Schemas {
		parsed, err := schemas.ParseStored(s.Model, []byte(s.Text))
		if err != nil {
			continue
		}
		e.schemas[s.Model] = parsed
		report, err := lint.Check(parsed, lint.Options{Engines: lint.EngineNames()})
		if err != nil {
			continue
		}
		for _, f := range report.Findings {
			if f.Rule.Severity == lint.Error && f.Pattern != "" && f.Engine == "" {
				e.errors[[2]string{s.Model, f.Pattern}] = f.Rule.ID
			}
		}
	}
	return e
}
