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

// Differences are what the runs differ in besides the build. If the sides are builds, differences of the sides in what
// a build contains are in held instead. The sides are compared by their first runs, and those of a side with its first.
func Differences(base, new Side, builds bool) (all, held []string) {
	for _, s := range []Side{base, new} {
		for i, r := range s.Runs {
			name := s.Name
			if len(s.Runs) > 1 {
				name += fmt.Sprintf(" (run %d)", i+1)
			}
			same := func(o *results.Run) bool { return Identity(o) == Identity(r) }
			if first := slices.IndexFunc(s.Runs[:i], same); first >= 0 {
				all = append(all, fmt.Sprintf("%s is a copy of run %d", name, first+1))
			}
			if r.Interrupted {
				all = append(all, name+" was interrupted")
			}
			own, ofBuild := differ(s.Runs[0], r, s.Name, name)
			all = append(append(all, own...), ofBuild...)
		}
	}
	own, held := differ(base.Runs[0], new.Runs[0], base.Name, new.Name)
	if all = append(all, own...); builds {
		return all, held
	}
	return append(all, held...), nil
}

// Identity is the same for copies of a run, and for no other runs.
func Identity(r *results.Run) string {
	return fmt.Sprintf("%q %q %q %q %v %d", r.Machine.ID, r.Workload.SHA256, r.Started, r.Ended, r.Seconds, r.Seed)
}

// differ lists the properties that must be equal and are not, with the values of both runs. Properties of a build, such
// as a schema, are apart.
func differ(a, b *results.Run, base, new string) (all, ofBuild []string) {
	value := func(v string) string { return cmp.Or(words.OneLine(v), "none") }
	add := func(what, was, is string, build bool) {
		text := fmt.Sprintf("%s: %s in %s, %s in %s", what, value(was), base, value(is), new)
		switch {
		case was == is:
		case build:
			ofBuild = append(ofBuild, text)
		default:
			all = append(all, text)
		}
	}
	firstLine := func(of, a, b string, build bool) { // in which two texts differ
		for n := 1; a != b; n++ {
			var was, is string
			was, a, _ = strings.Cut(a, "\n")
			is, b, _ = strings.Cut(b, "\n")
			if was, is = strings.TrimSpace(was), strings.TrimSpace(is); was != is {
				add(fmt.Sprintf("line %d of %s", n, of), strconv.Quote(was), strconv.Quote(is), build)
				return
			}
		}
	}
	if add("workload", a.Workload.Name, b.Workload.Name, false); len(all) == 0 {
		firstLine("the workload", a.Workload.Text, b.Workload.Text, false)
	}
	mail, other := cmp.Or(a.Mail, &results.MailInfo{}), cmp.Or(b.Mail, &results.MailInfo{})
	if cmp.Or(mail.SHA256, mail.File) != cmp.Or(other.SHA256, other.File) { // one file may have two names
		add("mail file", named(mail.File, mail.SHA256), named(other.File, other.SHA256), false)
	}
	add("seed", strconv.FormatUint(a.Seed, 10), strconv.FormatUint(b.Seed, 10), false)
	if len(all) == 0 { // another workload has other phases anyway
		for i := range min(len(a.Phases), len(b.Phases)) {
			p, q := a.Phases[i], b.Phases[i]
			trials := min(len(p.Trials), len(q.Trials)) // one side may have more trials
			if p.SHA256 != q.SHA256 || p.Name != q.Name || p.Digested != q.Digested ||
				!slices.Equal(p.Trials[:trials], q.Trials[:trials]) {
				all = append(all, "the operations of phase "+p.Name+" are others")
			}
			add("trace of phase "+p.Name, named("", p.Trace), named("", q.Trace), false) // of the whole file
		}
	}
	for _, s := range a.Schemas {
		for _, t := range b.Schemas {
			if s.Model == t.Model && s.SHA256 != t.SHA256 {
				firstLine("the schema of "+s.Model, s.Text, t.Text, true)
			}
		}
	}
	was, is := properties(a), properties(b)
	for _, engine := range slices.Sorted(maps.Keys(was)) {
		if is[engine] == nil { // of an engine that only one of them has nothing is compared
			continue
		}
		both := maps.Clone(was[engine])
		maps.Copy(both, is[engine])
		for _, name := range slices.Sorted(maps.Keys(both)) {
			what := name
			if engine != "" {
				what += " of " + engine
			}
			add(what, was[engine][name], is[engine][name], engine != "" && name != "durability")
		}
	}
	return all, ofBuild
}

// named is a file with the begin of its checksum.
func named(file, sum string) string { return strings.TrimSpace(file + " " + sum[:min(12, len(sum))]) }

// properties are what runs that are compared must have in common, besides their plans: by engine what each reported in
// its first measured cell, and for "" those of the whole run.
func properties(r *results.Run) map[string]map[string]string {
	e, c := &r.Environment, &r.Config
	own := map[string]string{
		"machine":          cmp.Or(r.Machine.ID, r.Machine.Name),
		"system":           e.OS + "/" + e.Arch,
		"kernel":           e.Kernel,
		"processor":        e.CPU,
		"processors":       strconv.Itoa(e.CPUs),
		"memory":           words.Size(float64(e.Memory)),
		"disk":             e.Disk,
		"GOMAXPROCS":       strconv.Itoa(e.MaxProcs),
		"GOGC":             e.GOGC,
		"cache":            words.Size(float64(c.CacheBytes)),
		"concurrency":      strconv.Itoa(c.Workers),
		"max wait":         fmt.Sprintf("%gs", c.MaxWait),
		"durability":       c.Durability,
		"kept data folder": strconv.FormatBool(c.Data),
		"segments":         strconv.Itoa(max(1, r.Segment.Of, len(r.Segments))),
	}
	if f := c.FindMax; f != nil {
		from := "the phase's rate"
		if f.From > 0 {
			from = perSecond(f.From)
		}
		own["search for the highest rate"] = fmt.Sprintf("from %s up to %s, within %s, in steps of %gs", from,
			perSecond(f.Max), results.Percent(f.Precision), f.Step)
	}
	for name, value := range r.Settings {
		own["setting "+name] = value
	}
	all := map[string]map[string]string{"": own}
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
	return all
}
