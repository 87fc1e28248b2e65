package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// Side is one side of a comparison: the runs of one build. Their trials are put together.
type Side struct {
	Name   string // folder of the runs
	Runs   []*results.Run
	Folder string // the first run's, if it is not Name
}

// sides are the names of the sides. The two parts of a pair are in this order.
var sides = [2]string{"base", "new"}

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
			add(name, was[engine][name], is[engine][name], engine != "" && name != "durability of "+engine)
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
		of := " of " + c.Engine
		all[c.Engine] = map[string]string{"version" + of: c.Engines.Version, "durability" + of: c.Durability}
		for name, value := range c.Engines.Settings {
			all[c.Engine]["setting "+name+of] = value
		}
	}
	return all
}

// Subject is what the results of two sides must have in common to be compared. The phase is PHASE:STREAM if it runs
// several streams: each is compared by itself.
type Subject struct {
	Model  string `json:"model"`
	Engine string `json:"engine"`
	Phase  string `json:"phase"`
}

// String is MODEL/ENGINE/PHASE.
func (s Subject) String() string { return s.Model + "/" + s.Engine + "/" + s.Phase }

// WholeLoad is the Op of the latencies of all operations of a phase together.
const WholeLoad = "whole load"

// trial is a phase in one trial. The verdict of the cell says what counts: times and counters if it is ok, only
// counters if it is invalid, and of any other nothing.
type trial struct {
	side  int
	run   *results.Run
	cell  *results.Cell
	of    Subject
	found *results.SearchResult // of a search for the highest rate; nil: there was none
}

// series is an operation, or the whole load.
type series struct {
	op  string
	sum [2]results.Op // of the trials of a side
}

// newCells puts the measured trials of both sides together. With force, trials that have metrics and did not fail count
// as ok. Alone names the subjects that only one side has.
func newCells(both [2]Side, force bool) (cells []*Cell, alone []string) {
	var all []trial
	for side, s := range both {
		for _, r := range s.Runs {
			for _, c := range r.Select((*results.Cell).Measured) {
				if force && len(c.Ops) > 0 && c.Verdict != results.Failed {
					forced := *c
					c, forced.Verdict = &forced, results.OK
				}
				one := trial{side: side, run: r, cell: c, of: Subject{c.Model, c.Engine, c.Where()}}
				if at := slices.IndexFunc(r.Searches, func(s results.Search) bool { return s.Key == c.Key }); at >= 0 {
					one.found = r.Searches[at].Found
				}
				if len(c.Streams) == 0 || one.found != nil {
					all = append(all, one)
					continue
				}
				for _, s := range c.Streams {
					one.cell, one.of.Phase = c.Alone(s.Name), c.Where()+":"+s.Name
					all = append(all, one)
				}
			}
		}
	}
	for _, same := range results.Grouped(all, func(t trial) Subject { return t.of }) {
		c := &Cell{Subject: same[0].of, Figures: []Figure{}, trials: same, shares: map[string]float64{}}
		if c.check(); c.BaseCount == 0 || c.NewCount == 0 {
			alone = append(alone, fmt.Sprintf("only %s has %s", both[same[0].side].Name, c.Subject))
			continue
		}
		cells = append(cells, c)
		search := slices.ContainsFunc(same, func(t trial) bool { return t.found != nil })
		for _, s := range c.series() {
			whole := s.op == WholeLoad
			for _, m := range measures {
				// Times and errors of operations are those at the rate that was found, another one in each trial.
				if m.load == whole && m.search == (search && whole) && (whole || !search || !m.Timed() && !m.fraction) {
					c.Figures = append(c.Figures, c.newFigure(s, m))
				}
			}
		}
	}
	return cells, alone
}

// check sorts and counts the trials, sees whether the sides took turns, and notes trials without times. A trial that is
// neither ok nor invalid says that its side did not run the operations, and then nothing can be compared.
func (c *Cell) check() {
	slices.SortStableFunc(c.trials, func(a, b trial) int { return cmp.Compare(a.cell.Started, b.cell.Started) })
	before := ""
	c.turns = len(c.trials) > 2 // trial N of both sides began before trial N+1 of either
	for pair := range slices.Chunk(c.trials, 2) {
		first, last := pair[0], pair[len(pair)-1]
		c.turns = c.turns && first.side != last.side && first.cell.Started > before
		before = last.cell.Started
	}
	slices.SortStableFunc(c.trials, func(a, b trial) int { return cmp.Compare(a.side, b.side) })
	var numbers [2][]int
	var invalid, without [2][]string // reasons of invalid trials, and of searches that found no rate
	for i := range c.trials {
		t := &c.trials[i]
		numbers[t.side] = append(numbers[t.side], t.cell.Trial)
		reason := "no reason is known"
		if t.cell.Reason != nil {
			reason, _, _ = strings.Cut(t.cell.Reason.Text, "\n")
		}
		switch v := t.cell.Verdict; {
		case v == results.OK:
		case v == results.Invalid:
			short, _, _ := strings.Cut(reason, ":") // each has numbers of its own
			invalid[t.side] = append(invalid[t.side], short)
		case c.Why == "":
			c.Why = fmt.Sprintf("%s is %s: %s", sides[t.side], v, words.OneLine(reason))
			c.broken = t.side == 1
			c.note("not compared: %s", c.Why)
		}
		if t.found != nil && math.IsNaN(maxRate(c, t, nil)) {
			without[t.side] = append(without[t.side], t.found.Text)
		}
	}
	for side, all := range numbers {
		if of := invalid[side]; len(of) > 0 {
			c.note("%d of %d trials of %s left out of latency (%s)", len(of), len(all), sides[side], of[0])
		}
		if of := without[side]; len(of) > 0 {
			c.note("%d of %d trials of %s did not find the highest rate, so it is not compared: %s", len(of), len(all),
				sides[side], of[0])
		}
		slices.Sort(all)
	}
	c.BaseCount, c.NewCount, c.same = len(numbers[0]), len(numbers[1]), slices.Equal(numbers[0], numbers[1])
}

// note adds a note of one line.
func (c *Cell) note(format string, args ...any) {
	c.Notes = append(c.Notes, words.OneLine(fmt.Sprintf(format, args...)))
}

// series are the whole load, and the operations that both sides executed, the most frequent first. A note names those
// of one side only.
func (c *Cell) series() []*series {
	var cells []*results.Cell
	for _, t := range c.trials {
		cells = append(cells, t.cell)
	}
	all := []*series{{op: WholeLoad}}
	var only [2][]string
	for _, op := range results.OpsOf(cells) {
		s, enough := &series{op: op}, true
		for _, t := range c.trials {
			o := t.cell.Ops[op] // one that the trial does not have was never attempted
			s.sum[t.side].Add(&o)
			enough = enough && o.Enough(0.5)
		}
		base, fresh := s.sum[0].Attempted(), s.sum[1].Attempted()
		switch {
		case base > 0 && fresh > 0:
			if all = append(all, s); enough {
				c.shares[op] = float64(base + fresh)
			}
		case base > 0:
			only[0] = append(only[0], op)
		case fresh > 0:
			only[1] = append(only[1], op)
		}
	}
	for side, ops := range only {
		if len(ops) > 0 {
			c.note("only %s executed %s: not compared", sides[side], words.List(ops))
		}
	}
	return all
}
