package page

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/glossary"
	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// severalView shows runs side by side, in the order given. It has medians and ratios only;
// package compare says which differences are more than chance.
type severalView struct {
	Answers     []answerView // if each run has models or engines of its own, and the same load
	Matrices    []matrix
	Runs        []runHead
	Same        []fact // settings that all runs have in common
	Differences []difference
	Blocks      []block
	Curves      []severalCurves
	Operations  []glossary.Term
	Columns     []glossary.Term
	Compare     string // the command that says which differences are more than chance
}

type runHead struct {
	Label, Name, Started, Repeat string
	Took                         string
	Notices, Doubts              []string
	Further                      int
}

// difference is a setting that differs, with its value in each run.
type difference struct {
	Label  string
	Values []string
}

// block has a phase of one model on one engine: rows of operations, columns of runs.
type block struct {
	Title  string
	Labels []string
	Trends bool
	Rows   []severalRow
}

type severalRow struct {
	Op    string
	Lines []severalLine
}

// severalLine is one figure in each run, and its course from the first run to the last.
type severalLine struct {
	Figure string
	Cells  []severalCell
	Trend  *chart
}

type severalCell struct{ Text, Ratio, Trouble string }

func newSeveralView(sources []Source) *severalView {
	v := &severalView{Operations: glossary.Operations(), Columns: glossary.Columns()}
	var names, labels []string
	for i := range sources {
		s := &sources[i]
		h := runHead{
			Label: "run " + strconv.Itoa(i+1), Name: cmp.Or(s.Name, s.Run.Workload.Name), Started: s.Run.Started,
			Repeat: repeat(s.Name), Took: words.Duration(s.Run.Seconds * 1e9),
		}
		o := reports.OverviewOf(s.Run)
		if s.Run.Interrupted {
			h.Notices = append(h.Notices, "interrupted")
		}
		if len(s.Run.Cells) == 0 {
			h.Notices = append(h.Notices, "nothing was measured")
		}
		if s.NoLog {
			h.Notices = append(h.Notices, "no curves: its latency.hlog is gone")
		}
		for n := range s.Run.Audits {
			if a := &s.Run.Audits[n]; a.Wrong() {
				h.Notices = append(h.Notices,
					"data is wrong or lost in "+reports.NamesIn(s.Run).Audit(a)+": "+reports.AuditSummary(a))
			}
		}
		for n := range o.Verdicts {
			h.Notices = append(h.Notices, o.Verdicts[n].String())
		}
		for n := range o.Doubts {
			h.Doubts = append(h.Doubts, o.Doubts[n].String())
		}
		h.Further = len(o.Further)
		v.Runs, labels = append(v.Runs, h), append(labels, h.Label)
		names = append(names, shellWord(cmp.Or(s.Name, "DIR")))
	}
	v.Compare = "mailbench compare " + names[0] + " " + names[len(names)-1]
	if r := union(sources); r != nil {
		o := reports.OverviewOf(r)
		v.Answers = newAnswerViews(r, o)
		for i := range o.Parts {
			v.Matrices = append(v.Matrices, newMatrix(&o.Parts[i]))
		}
	}
	v.settings(sources)
	v.figures(sources)
	v.Curves = newSeveralCurves(sources, labels)
	return v
}

// union is all runs as one, with models on engines side by side. It is nil if two runs have the same
// model on the same engine, were asked for other operations, or ran a model with another schema.
func union(sources []Source) *results.Run {
	all := &results.Run{Workload: sources[0].Run.Workload}
	seen, text := map[string]int{}, map[string]string{}
	for i := range sources {
		r := sources[i].Run
		if r.Sweep != nil || digests(r) != digests(sources[0].Run) {
			return nil
		}
		for _, c := range r.Cells {
			if at, ok := seen[c.Model+"/"+c.Engine]; ok && at != i {
				return nil
			}
			seen[c.Model+"/"+c.Engine] = i
		}
		for _, s := range r.Schemas {
			if t, ok := text[s.Model]; ok && t != s.Text {
				return nil
			}
			if _, ok := text[s.Model]; !ok {
				text[s.Model], all.Schemas = s.Text, append(all.Schemas, s)
			}
		}
		all.Cells = append(all.Cells, r.Cells...)
	}
	return all
}

// digests are those of the measured phases' operations.
func digests(r *results.Run) string {
	var all []string
	for _, p := range r.Phases {
		if p.Kind == results.KindMeasure {
			all = append(all, p.Name+" "+p.SHA256)
		}
	}
	return strings.Join(all, "\n")
}

// settings tells what differs between the runs from what does not.
func (v *severalView) settings(sources []Source) {
	var order []string
	values := map[string][]string{}
	for i := range sources {
		for _, f := range settingsOf(sources[i].Run) {
			if values[f.Label] == nil {
				order, values[f.Label] = append(order, f.Label), make([]string, len(sources))
			}
			values[f.Label][i] = f.Text
		}
	}
	for _, label := range order {
		vs := values[label]
		if slices.ContainsFunc(vs, func(s string) bool { return s != vs[0] }) {
			v.Differences = append(v.Differences, difference{label, vs})
		} else {
			v.Same = append(v.Same, fact{label, vs[0]})
		}
	}
}

// settingsOf are the properties that decide whether runs can be compared.
func settingsOf(r *results.Run) []fact {
	e := &r.Environment
	fs := []fact{
		{"workload", r.Workload.Name},
		{"workload, SHA-256", short(r.Workload.SHA256)},
		{"overrides", strings.Join(r.Workload.Overrides, " ")},
		{"seed", strconv.FormatUint(r.Seed, 10)},
		{"trials", strconv.Itoa(r.Config.Trials)},
		{"workers", strconv.Itoa(r.Config.Workers)},
		{"durability asked for", r.Config.Durability},
		{"machine", strings.TrimSpace(r.Machine.Name + " " + short(r.Machine.ID))},
		{"mailbench", strings.TrimSpace(e.Version + " " + short(e.Commit))},
		{"changed since its commit", strconv.FormatBool(e.Dirty)},
		{"Go", e.Go},
		{"CPU", e.CPU},
		{"CPUs", strconv.Itoa(e.CPUs)},
		{"kernel", e.Kernel},
		{"disk", e.Disk},
	}
	for _, line := range reports.EnginesOf(r) {
		name, text, _ := strings.Cut(line, ": ")
		fs = append(fs, fact{"engine " + name, text})
	}
	for _, s := range r.Schemas {
		fs = append(fs, fact{"schema of " + s.Model, short(s.SHA256)})
	}
	return append(fs, sortedFacts(r.Settings)...)
}

// short is enough of a digest to tell it from others.
func short(digest string) string {
	const enough = 12
	if len(digest) > enough {
		return digest[:enough]
	}
	return digest
}

// figures puts the runs side by side, for each phase of each model and engine.
func (v *severalView) figures(sources []Source) {
	type key struct{ phase, model, engine string }
	var order []key
	columns, ops := map[key][]*column{}, map[key][]string{}
	engines := false
	for i := range sources {
		r := sources[i].Run
		for _, s := range reports.Sections(r) {
			if !s.Cells[0].Measured() {
				continue
			}
			for _, c := range columnsOf(&s, reports.Names{}) {
				k := key{s.Cells[0].Where(), c.cells[0].Model, c.cells[0].Engine}
				engines = engines || len(order) > 0 && k.engine != order[0].engine
				if columns[k] == nil {
					order, columns[k] = append(order, k), make([]*column, len(sources))
				}
				columns[k][i] = &c
				for _, op := range s.Ops {
					if !slices.Contains(ops[k], op) {
						ops[k] = append(ops[k], op)
					}
				}
			}
		}
	}
	for _, k := range order {
		b := block{Title: k.model + ", " + k.phase, Trends: len(sources) >= trendLeast}
		if engines {
			b.Title = k.model + "/" + k.engine + ", " + k.phase
		}
		for _, h := range v.Runs {
			b.Labels = append(b.Labels, h.Label)
		}
		for _, op := range ops[k] {
			if row, ok := newSeveralRow(columns[k], op); ok {
				b.Rows = append(b.Rows, row)
			}
		}
		if len(b.Rows) > 0 {
			v.Blocks = append(v.Blocks, b)
		}
	}
}

// newSeveralRow makes the row of an operation, and reports whether some run had the operation.
func newSeveralRow(columns []*column, op string) (severalRow, bool) {
	row := severalRow{Op: op}
	some := false
	line := func(figure string, text func(float64) string, of func(o *reports.Trials) float64) severalLine {
		l := severalLine{Figure: figure}
		var course []float64
		first := math.NaN()
		for _, c := range columns {
			cell, value := severalCell{Text: "-"}, math.NaN()
			if c != nil {
				if o, ok := c.op(op); ok && o.Count > 0 {
					value = of(o)
				}
			}
			if !math.IsNaN(value) {
				some, cell.Text, cell.Trouble = true, text(value), c.trouble()
				if math.IsNaN(first) {
					first = value
				} else if first > 0 {
					cell.Ratio = strconv.FormatFloat(value/first, 'f', 2, 64) + "×"
				}
			}
			l.Cells, course = append(l.Cells, cell), append(course, value)
		}
		l.Trend = newTrend(op+" "+figure, course)
		return l
	}
	time := func(p float64, of func(*reports.Trials) int64) func(*reports.Trials) float64 {
		return func(o *reports.Trials) float64 {
			for _, used := range o.Used {
				if !used.Tells(p) {
					return math.NaN()
				}
			}
			return float64(of(o))
		}
	}
	row.Lines = []severalLine{
		line("calls", words.Digits, func(o *reports.Trials) float64 { return o.Store.Calls }),
		line("p50", words.Duration, time(0.5, func(o *reports.Trials) int64 { return o.Response.P50 })),
		line("p99", words.Duration, time(0.99, func(o *reports.Trials) int64 { return o.Response.P99 })),
	}
	return row, some
}

// trendLeast is how many runs make a trend.
const trendLeast = 3

const trendWidth, trendHeight = 90, 22

// newTrend draws a figure from run to run as a small line from 0 up. It is nil if fewer than
// trendLeast runs have the figure.
func newTrend(title string, course []float64) *chart {
	known, most := 0, 0.0
	for _, v := range course {
		if !math.IsNaN(v) {
			known, most = known+1, max(most, v)
		}
	}
	if known < trendLeast || most <= 0 {
		return nil
	}
	c := &chart{
		Width: trendWidth, Height: trendHeight, Left: 3, Right: trendWidth - 3, Top: 3,
		Bottom: trendHeight - 2, Summary: "Trend of " + title,
	}
	var points polyline
	for i, v := range course {
		if math.IsNaN(v) {
			points.lift()
			continue
		}
		points.add(c.Left+float64(i)/float64(len(course)-1)*(c.Right-c.Left), c.Bottom-v/most*(c.Bottom-c.Top))
	}
	c.Lines = []line{{Name: title, Segments: points.drawn()}}
	return c
}
