package reports

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
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
	First   string // the model that Text's figures are of, with its trial
	Size    string // how large the largest effect is; "": Text has no number
	size    float64
	cells   []*results.Cell
}

// percentage and amount find the numbers of a doubt's text that say how large its effect is.
var percentage, amount = regexp.MustCompile(`[+-]?[0-9.]+%`), regexp.MustCompile(`[0-9.]+(ns|µs|ms|s|[kMG]?B)\b`)

// sizeOf is how large the effect of a doubt is: how many operations it is about, or the first percentage or else
// the last time or number of bytes of its text.
func sizeOf(d *results.Doubt) (size float64, text string) {
	said, _, _ := strings.Cut(d.Text, "99% interval") // a confidence is no effect
	amounts := amount.FindAllString(said, -1)
	switch percent := percentage.FindString(said); {
	case len(d.Ops) > 0:
		for _, o := range d.Ops {
			size += float64(o.Count)
		}
		text = words.Plural(int(size), "operation")
	case percent != "":
		size, _ = strconv.ParseFloat(strings.Trim(percent, "+-%"), 64)
		text = percent
	case len(amounts) > 0:
		text = amounts[len(amounts)-1]
		span, _ := time.ParseDuration(text) // of bytes 0: those of the first cell are named
		size = float64(span)
	}
	return size, text
}

// changesReading are the doubts that change how figures are read: the store was in another state than readers
// expect, or operations are missing from the figures. Client delay is not in the latency, and queueing belongs to it.
var changesReading = map[results.Code]bool{
	"drifting": true, "not-settled": true, "not-warm": true, "debt-grows": true, "in-memory": true, "not-cold": true,
	"missing-nodes": true,
	"incomplete":    true, "dropped": true, "failed": true, "unknown": true, "too-large": true,
}

// gather adds a cell to the notice of the same phase, verdict and code as n.
func gather(all []Notice, n Notice, c *results.Cell) []Notice {
	at := slices.IndexFunc(all, func(o Notice) bool {
		return o.Code == n.Code && o.Verdict == n.Verdict && o.Phase == n.Phase
	})
	if at < 0 {
		at, all = len(all), append(all, n)
	}
	w := &all[at]
	w.Differs = w.Differs || w.Doubt.String() != n.Doubt.String()
	if size, text := sizeOf(&n.Doubt); size > w.size || w.Size == "" {
		w.size, w.Size = size, text
	}
	if !slices.Contains(w.cells, c) {
		w.cells = append(w.cells, c)
	}
	return all
}

// whom names the models (on engines) of each notice, and their trials if it does not hold for all of them.
func (n Names) whom(r *results.Run, all []Notice) {
	type column struct{ model, engine string }
	trials := map[column][]int{}
	note := func(m map[column][]int, c *results.Cell) (first bool) {
		k := column{c.Model, c.Engine}
		first = m[k] == nil
		if !slices.Contains(m[k], c.Trial) {
			m[k] = append(m[k], c.Trial)
		}
		return first
	}
	for i := range r.Cells {
		note(trials, &r.Cells[i])
	}
	for i := range all {
		w, had := &all[i], map[column][]int{}
		var order []column
		for _, c := range w.cells {
			if note(had, c) {
				order = append(order, column{c.Model, c.Engine})
			}
		}
		w.All, w.Few, w.First = len(order) == len(trials), true, n.Of(w.cells[0])
		for _, k := range order {
			w.Few = w.Few && 2*len(had[k]) < len(trials[k])
			name := n.Part(k.model, k.engine)
			if len(had[k]) < len(trials[k]) {
				w.All = false
				for _, t := range had[k] {
					name += " #" + strconv.Itoa(t)
				}
			}
			w.Who = append(w.Who, name)
		}
	}
}

// verdictsOf are the verdicts that are not ok, each code once a phase, the worst first.
func verdictsOf(r *results.Run, n Names) []Notice {
	var all []Notice
	phases := map[string]bool{}
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Measured() || c.Verdict != results.OK {
			phases[c.Where()] = true
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Verdict == results.OK || c.Verdict == "" {
			continue
		}
		v := Notice{Verdict: c.Verdict}
		if len(phases) > 1 {
			v.Phase = c.Where()
		}
		if c.Reason != nil {
			v.Code, v.Text = c.Reason.Code, c.Reason.Text
		}
		all = gather(all, v, c)
	}
	slices.SortStableFunc(all, func(a, b Notice) int { return b.Verdict.Severity() - a.Verdict.Severity() })
	n.whom(r, all)
	return all
}

// DoubtsOf are the doubts of all cells, each code once.
func DoubtsOf(r *results.Run, n Names) []Notice {
	var all []Notice
	for i := range r.Cells {
		c := &r.Cells[i]
		for _, d := range c.Doubts {
			all = gather(all, Notice{Doubt: d}, c)
		}
	}
	n.whom(r, all)
	return all
}

// String writes a warning in one line.
func (d *Notice) String() string {
	names := strings.Join(d.Who, ", ")
	switch {
	case d.All && len(d.Who) > 1 && d.Differs:
		names = fmt.Sprintf("all models; these values are of %s", d.Who[0])
	case d.All && len(d.Who) > 1:
		names = "all models"
	case d.Differs && len(d.Who) == 1:
		names += "; other phases have other values"
	case d.Differs:
		names += "; these values are of " + d.Who[0]
	}
	return fmt.Sprintf("%s (%s)", d.Doubt.String(), names)
}

// warnings are those that change how the latencies are read: the text of one, or the names of several. Minor ones are
// counted. The texts of those that are only named or counted are folded.
func (v *run) warnings() document.Section {
	s := document.Section{ID: "warnings"}
	all, minor := v.allWarnings()
	var said []string
	for _, w := range all {
		if !slices.Contains(said, w.name) {
			said = append(said, w.name)
		}
	}
	if len(all) == 1 {
		said[0] = all[0].text
	}
	switch {
	case len(minor) == 1 && len(all) != 1:
		said = append(said, minor[0].name)
	case len(minor) > 0:
		said = append(said, fmt.Sprintf("%d minor ones", len(minor)))
	}
	lead := "Warnings"
	if len(all) == 1 && len(minor) == 0 {
		lead = "Warning"
	}
	s.Note(document.Warn, lead, strings.Join(said, ", "))
	return s
}

// furtherWarnings are the texts of the warnings that the first screen only names.
func (v *run) furtherWarnings() document.Section {
	s := document.Section{ID: "further", Title: "Warnings", Fold: true}
	all, minor := v.allWarnings()
	if len(all) == 1 {
		all = nil
	}
	for _, w := range slices.Concat(all, minor) {
		s.Note(document.Plain, "", w.text)
	}
	return s
}

// warning is a warning with its name, for where there is no room for its text.
type warning struct{ name, text string }

// allWarnings are those that change how the latencies are read, and the minor ones.
func (v *run) allWarnings() (all, minor []warning) {
	verdicts := slices.DeleteFunc(verdictsOf(v.Run, v.names), func(n Notice) bool { return !n.Few })
	who := map[results.Verdict][]string{}
	for _, n := range verdicts {
		who[n.Verdict] = append(who[n.Verdict], n.Who...)
	}
	for _, n := range verdicts {
		all = append(all, warning{
			fmt.Sprintf("%s trial (%s)", n.Verdict, strings.Join(who[n.Verdict], ", ")),
			fmt.Sprintf("%s: %s; the other trials count", n.Verdict, n.Said()),
		})
	}
	all = append(all, v.saturated()...)
	all = append(all, v.spread()...)
	for i := range v.loads {
		all = append(all, omissions(&v.loads[i])...)
	}
	for _, d := range DoubtsOf(v.Run, v.names) {
		w := warning{strings.ReplaceAll(string(d.Code), "-", " "), d.String()}
		if d.Size != "" {
			w.name += " (" + d.Size + ")"
		}
		if changesReading[d.Code] {
			all = append(all, w)
		} else {
			minor = append(minor, w)
		}
	}
	return all, minor
}

// saturated names the models of each load whose offered rate was near what they achieve without pauses.
func (v *run) saturated() (all []warning) {
	for i := range v.loads {
		l := &v.loads[i]
		var who []string
		var models []*ranking.Model
		for k := range l.Models {
			m := &l.Models[k]
			if part := m.OfMaximum(); part >= ranking.NearMaximum && m.Ranked() {
				who, models = append(who, fmt.Sprintf("%s %.0f%%", m.Name, 100*part)), append(models, m)
			}
		}
		if len(who) > 0 {
			name := fmt.Sprintf("high load (%s of max ops/s)", strings.Join(who, ", "))
			all = append(all, warning{name, name + ": the latency is mostly queueing; use --set " + ranking.Lower(models...)})
		}
	}
	return all
}

// spread says how far trials of one model differ, if that is much.
func (v *run) spread() (all []warning) {
	for i := range v.loads {
		l := &v.loads[i]
		most, said := 1.5, warning{}
		for k := range l.Models {
			m := &l.Models[k]
			known := m.Values(ranking.Typical).Known()
			if len(known) < 2 {
				continue
			}
			low, high := slices.Min(known), slices.Max(known)
			if high/max(low, 1) > most {
				most = high / max(low, 1)
				who := m.Name
				if len(v.loads) > 1 {
					who += " on " + l.Engine
				}
				said.name = fmt.Sprintf("trials differ (%s %.1f×)", who, most)
				said.text = fmt.Sprintf("trials differ by up to %.1f× (%s %s to %s ms); use --trials %d or a quieter machine",
					most, who, ranking.MS(low), ranking.MS(high), max(5, 2*l.Trials-1))
			}
		}
		if said.text != "" {
			all = append(all, said)
		}
	}
	return all
}

// serverRate is a rate for a server on the machine of the client. The default one is for the embedded engine; a
// Cassandra that shares two processors with its client achieves 500 to 900/s.
const serverRate = "300/s"

// target says how the models are measured on a target engine, if none ran on its own.
func (v *run) target(s *document.Section) {
	var native []string
	models, lead := modelsOf(v.Run), "Real engine"
	for i := range v.Cells {
		c := &v.Cells[i]
		if c.Engines != nil && c.Engine != "embedded" && c.Engine != "null" {
			lead = "Target engine"
		}
		schema := v.explainer.schemas[c.Model]
		if schema != nil && schema.Native == c.Engine {
			return
		}
		if schema != nil && schema.Native != "" {
			native = append(native, schema.Native)
		}
	}
	if len(native) == 0 {
		return
	}
	engine := native[0]
	for _, e := range []string{"hbase", "cassandra"} { // mailbench starts these: the error of run says how
		if slices.Contains(native, e) {
			engine = e
		}
	}
	command := "this command with -e " + engine
	if v.Workload.Name == results.DefaultWorkload { // the file and the settings of another are not known here
		command = "mailbench run -e " + engine + " --set phases.measure.rate=" + serverRate
		if len(models) == 1 {
			command += " -m " + models[0]
		}
	}
	s.Say(document.Plain, lead, command)
}

// Said is a verdict that is not ok, without its name.
func (d *Notice) Said() string {
	who := strings.Join(d.Who, ", ")
	if d.All && len(d.Who) > 1 {
		who = "all models"
	}
	if d.Phase != "" {
		who += ", " + d.Phase
	}
	if d.Differs {
		who += "; for example " + d.First
	}
	return who + ": " + d.Text
}
