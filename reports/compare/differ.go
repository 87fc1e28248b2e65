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

// Differences are what the runs differ in besides the build. If the sides are builds, differences in what a build
// contains are in held instead. All runs of both sides are compared with the first run of the base. A difference that
// not all runs of a side have names the runs.
func Differences(base, new Side, builds bool) (all, held []string) {
	value := func(v string) string {
		if v == "none" { // as a setting
			return `"none"`
		}
		return cmp.Or(v, "none")
	}
	for side, s := range []Side{base, new} {
		named := func(runs ...int) string { // by their numbers, unless they are all runs of the side
			if len(runs) == len(s.Runs) {
				return s.Name
			}
			return fmt.Sprintf("%s (run %s)", s.Name, strings.ReplaceAll(strings.Trim(fmt.Sprint(runs), "[]"), " ", ", "))
		}
		var found []difference
		runs := map[difference][]int{} // their numbers
		for i, r := range s.Runs {
			same := func(o *results.Run) bool { return Identity(o) == Identity(r) }
			if first := slices.IndexFunc(s.Runs[:i], same); first >= 0 {
				all = append(all, fmt.Sprintf("%s is a copy of run %d", named(i+1), first+1))
			}
			if r.Interrupted {
				all = append(all, fmt.Sprintf("%s was interrupted", named(i+1)))
			}
			for _, d := range differ(base.Runs[0], r) {
				if runs[d] == nil {
					found = append(found, d)
				}
				runs[d] = append(runs[d], i+1)
			}
		}
		for _, d := range found {
			text := d.what
			if d.base+d.new != "" {
				text += fmt.Sprintf(": %s in %s, %s in %s", value(d.base), base.Name, value(d.new), named(runs[d]...))
			}
			if builds && d.ofBuild && side == 1 && len(runs[d]) == len(s.Runs) {
				held = append(held, text)
			} else { // all runs of a side must be of one build
				all = append(all, text)
			}
		}
	}
	return all, held
}

// Identity is the same for copies of a run, and for no other runs.
func Identity(r *results.Run) string {
	return fmt.Sprintf("%q %q %q %q %v %d", r.Machine.ID, r.Workload.SHA256, r.Started, r.Ended, r.Seconds, r.Seed)
}

// difference is a property in which two runs differ.
type difference struct {
	what, base, new string
	ofBuild         bool // the property belongs to a build, such as a schema
}

// differ lists the properties that must be equal and are not.
func differ(a, b *results.Run) (all []difference) {
	add := func(what, base, new string, ofBuild bool) {
		if base != new {
			all = append(all, difference{what, words.OneLine(base), words.OneLine(new), ofBuild})
		}
	}
	firstLine := func(of, a, b string, ofBuild bool) { // in which two texts differ
		for n := 1; a != b; n++ {
			var was, is string
			was, a, _ = strings.Cut(a, "\n")
			is, b, _ = strings.Cut(b, "\n")
			if was, is = strings.TrimSpace(was), strings.TrimSpace(is); was != is {
				add(fmt.Sprintf("line %d of %s", n, of), strconv.Quote(was), strconv.Quote(is), ofBuild)
				return
			}
		}
	}
	own, was := properties(a)
	others, is := properties(b)
	add(own[0].name, own[0].value, others[0].value, false)
	if len(all) == 0 { // it is the workload of one name
		firstLine("the workload", a.Workload.Text, b.Workload.Text, false)
	}
	add(own[1].name, own[1].value, others[1].value, false) // the seed
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
			add("trace of phase "+p.Name, fmt.Sprintf("%.8s", p.Trace), fmt.Sprintf("%.8s", q.Trace), false)
		}
	}
	for _, s := range a.Schemas {
		for _, t := range b.Schemas {
			if s.Model == t.Model && s.SHA256 != t.SHA256 {
				firstLine("the schema of "+s.Model, s.Text, t.Text, true)
			}
		}
	}
	if a.Mail != nil && b.Mail != nil && a.Mail.SHA256 != "" && a.Mail.SHA256 == b.Mail.SHA256 {
		is[""]["mail file"] = was[""]["mail file"] // under another path
	}
	for _, engine := range slices.Sorted(maps.Keys(was)) {
		if is[engine] == nil { // of an engine that only one of them has nothing is compared
			continue
		}
		names := slices.AppendSeq(slices.Collect(maps.Keys(was[engine])), maps.Keys(is[engine]))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			what, ofBuild := name, false
			if engine != "" {
				what, ofBuild = name+" of "+engine, name != "durability"
			}
			add(what, was[engine][name], is[engine][name], ofBuild)
		}
	}
	return all
}

// property is what the runs of a comparison must have in common. Reports name its class.
type property struct{ class, name, value string }

// properties are those that every run has, in the order in which reports name their classes. All are, by engine, what
// each reported in its first measured cell, and for "" the properties of the run but for its workload and seed, which
// decide what it executed, and the settings of engines' clients.
func properties(r *results.Run) (own []property, all map[string]map[string]string) {
	e, c, mail, search := &r.Environment, &r.Config, "", ""
	if r.Mail != nil {
		mail = fmt.Sprintf("%s %.8s", r.Mail.File, r.Mail.SHA256)
	}
	if f := c.FindMax; f != nil {
		from := "the phase's rate"
		if f.From > 0 {
			from = perSecond(f.From)
		}
		search = fmt.Sprintf("from %s up to %s, within %s, in steps of %gs",
			from, perSecond(f.Max), results.Percent(f.Precision), f.Step)
	}
	own = []property{
		{"workload", "workload", r.Workload.Name},
		{"seed", "seed", strconv.FormatUint(r.Seed, 10)},
		{"mail", "mail file", mail},
		{"machine", "machine", cmp.Or(r.Machine.ID, r.Machine.Name)},
		{"machine", "system", e.OS + "/" + e.Arch},
		{"machine", "kernel", e.Kernel},
		{"machine", "processor", e.CPU},
		{"machine", "processors", strconv.Itoa(e.CPUs)},
		{"machine", "memory", words.Size(float64(e.Memory))},
		{"machine", "disk", e.Disk},
		{"limits", "GOMAXPROCS", strconv.Itoa(e.MaxProcs)},
		{"limits", "GOGC", e.GOGC},
		{"limits", "cache", words.Size(float64(c.CacheBytes))},
		{"limits", "concurrency", strconv.Itoa(c.Workers)},
		{"limits", "max wait", fmt.Sprintf("%gs", c.MaxWait)},
		{"durability", "durability", c.Durability},
		{"settings", "kept data folder", strconv.FormatBool(c.Data)},
		{"settings", "segments", strconv.Itoa(r.Generators())},
		{"settings", "search for the highest rate", search},
	}
	all = map[string]map[string]string{"": {}}
	for _, p := range own[2:] {
		all[""][p.name] = p.value
	}
	for name, value := range r.Settings {
		all[""]["setting "+name] = value
	}
	for _, c := range r.Select((*results.Cell).Measured) {
		if all[c.Engine] != nil || c.Engines == nil {
			continue
		}
		of := map[string]string{"version": c.Engines.Version, "durability": c.Durability}
		for name, value := range c.Engines.Settings {
			of["setting "+name] = value
		}
		all[c.Engine] = of
	}
	return own, all
}
