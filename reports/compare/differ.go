package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// differences are what the runs differ in besides the build. If the sides are commits,
// differences in what a commit contains are in held instead. All runs of both sides are
// compared with the first run of the base.
func differences(base, new Side, commits bool) (all, held []string) {
	first := base.Runs[0]
	for side, s := range []Side{base, new} {
		for i, r := range s.Runs {
			name := s.Name
			if len(s.Runs) > 1 {
				name += " (run " + strconv.Itoa(i+1) + ")"
			}
			if r.Interrupted {
				all = append(all, name+" was interrupted")
			}
			for _, d := range differ(first, r) {
				switch {
				case !commits || !d.ofCommit || side == 0: // all runs of a side must be of one commit
					all = append(all, d.text(base.Name, name))
				case i == 0:
					held = append(held, d.text(base.Name, s.Name))
				}
			}
		}
	}
	return slices.Compact(all), held
}

// difference is a property in which two runs differ.
type difference struct {
	what, base, new string
	ofCommit        bool // the property belongs to a commit, such as a schema
}

func (d difference) text(base, new string) string {
	if d.base == "" && d.new == "" {
		return d.what
	}
	return fmt.Sprintf("%s: %s in %s, %s in %s", d.what, cmp.Or(d.base, "none"), base, cmp.Or(d.new, "none"), new)
}

// differ lists the properties that must be equal and are not.
func differ(a, b *results.Run) (all []difference) {
	add := func(what, base, new string, ofCommit bool) {
		if base != new {
			all = append(all, difference{what, words.OneLine(base), words.OneLine(new), ofCommit})
		}
	}
	add("workload", a.Workload.Name, b.Workload.Name, false)
	if a.Workload.Name == b.Workload.Name {
		line, was, is := firstLine(a.Workload.Text, b.Workload.Text)
		add("line "+strconv.Itoa(line)+" of the workload", was, is, false)
	}
	add("seed", strconv.FormatUint(a.Seed, 10), strconv.FormatUint(b.Seed, 10), false)
	phases := min(len(a.Phases), len(b.Phases))
	if len(all) > 0 {
		phases = 0 // of another workload they are others anyway
	}
	for i, p := range a.Phases[:phases] {
		q := b.Phases[i]
		trials := min(len(p.Trials), len(q.Trials)) // one side may have more trials
		if p.SHA256 != q.SHA256 || p.Name != q.Name || p.Digested != q.Digested ||
			!slices.Equal(p.Trials[:trials], q.Trials[:trials]) {
			all = append(all, difference{what: "the operations of phase " + p.Name + " are others"})
		}
		if p.Trace != q.Trace { // of the whole file
			all = append(all, difference{"trace of phase " + p.Name, abbreviated(p.Trace), abbreviated(q.Trace), false})
		}
	}
	// The same mail under another path is the same.
	if a.Mail == nil || b.Mail == nil || a.Mail.SHA256 == "" || a.Mail.SHA256 != b.Mail.SHA256 {
		add("mail file", mail(a), mail(b), false)
	}
	for _, s := range a.Schemas {
		for _, t := range b.Schemas {
			if s.Model == t.Model && s.SHA256 != t.SHA256 {
				line, was, is := firstLine(s.Text, t.Text)
				add(fmt.Sprintf("line %d of the schema of %s", line, s.Model), was, is, true)
			}
		}
	}
	was, is := settings(a), settings(b)
	for _, name := range union(was, is) {
		add(name, was[name], is[name], false)
	}
	before, after := reported(a), reported(b)
	for _, engine := range union(before, after) {
		if before[engine] == nil || after[engine] == nil {
			continue
		}
		for _, name := range union(before[engine], after[engine]) {
			add(name+" of "+engine, before[engine][name], after[engine][name], name != "durability")
		}
	}
	return all
}

// union are the keys of both maps, in order.
func union[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// firstLine is the first line in which two texts differ, counted from 1.
func firstLine(a, b string) (line int, was, is string) {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(as), len(bs)) {
		was, is = "", ""
		if i < len(as) {
			was = strings.TrimSpace(as[i])
		}
		if i < len(bs) {
			is = strings.TrimSpace(bs[i])
		}
		if was != is {
			return i + 1, strconv.Quote(was), strconv.Quote(is)
		}
	}
	return 0, "", ""
}

func mail(r *results.Run) string {
	if r.Mail == nil {
		return ""
	}
	return r.Mail.File + " " + abbreviated(r.Mail.SHA256)
}

// abbreviated is the beginning of a digest.
func abbreviated(digest string) string { return digest[:min(8, len(digest))] }

// settings are the machine, the limits and the flags of a run by name.
func settings(r *results.Run) map[string]string {
	e, c := &r.Environment, &r.Config
	s := map[string]string{
		"machine":          cmp.Or(r.Machine.ID, r.Machine.Name),
		"system":           e.OS + "/" + e.Arch,
		"kernel":           e.Kernel,
		"processor":        e.CPU,
		"processors":       strconv.Itoa(e.CPUs),
		"GOMAXPROCS":       strconv.Itoa(e.MaxProcs),
		"GOGC":             e.GOGC,
		"memory":           words.Size(float64(e.Memory)),
		"disk":             e.Disk,
		"durability":       c.Durability,
		"cache":            words.Size(float64(c.CacheBytes)),
		"concurrency":      strconv.Itoa(c.Workers),
		"max wait":         fmt.Sprintf("%gs", c.MaxWait),
		"kept data folder": strconv.FormatBool(c.Data),
		"shards":           strconv.Itoa(r.Generators()),
	}
	if f := c.FindMax; f != nil {
		from := "the phase's rate"
		if f.From > 0 {
			from = perSecond(f.From)
		}
		s["search for the highest rate"] = fmt.Sprintf("from %s up to %s, within %s, in steps of %gs",
			from, perSecond(f.Max), results.Percent(f.Precision), f.Step)
	}
	for name, value := range r.Settings {
		s["setting "+name] = value
	}
	return s
}

// reported is what each engine reported in its first measured cell, by engine and name.
func reported(r *results.Run) map[string]map[string]string {
	all := map[string]map[string]string{}
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Kind != results.KindMeasure || c.Engines == nil || all[c.Engine] != nil {
			continue
		}
		of := map[string]string{"version": c.Engines.Version, "durability": c.Durability}
		for name, value := range c.Engines.Settings {
			of["setting "+name] = value
		}
		all[c.Engine] = of
	}
	return all
}

// Differences are what two sides differ in besides the build.
func Differences(base, new Side) []string {
	all, _ := differences(base, new, false)
	return all
}
