package history

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

// Document is the history as a report: for each series what changed, the whole load, the other metrics and the
// runs. With selected, the user named metrics: all are then on the first screen.
func (h *History) Document(selected bool) *document.Document {
	n := 0
	for i := range h.Series {
		n += len(h.Series[i].Runs)
	}
	title := fmt.Sprintf("history of %s: %s", filepath.Base(h.Folder), words.Plural(n, "run"))
	if len(h.Series) > 1 {
		title += fmt.Sprintf(" in %d series", len(h.Series))
	}
	if len(h.Skipped) > 0 {
		title += ", " + words.Plural(len(h.Skipped), "folder") + " skipped"
	}
	d := &document.Document{Title: title}
	for i := range h.Series {
		d.Sections = append(d.Sections, h.Series[i].sections(len(h.Series), selected)...)
	}
	if len(h.Skipped) > 0 {
		t := &document.Table{Columns: []document.Column{{Title: "folder", Left: true}, {Title: "reason", Left: true}}}
		for _, folder := range h.Skipped {
			t.Add("", folder.Folder, folder.Why)
		}
		d.Sections = append(d.Sections, document.Section{ID: "skipped", Title: "Skipped folders", Table: t})
	}
	return d
}

// sections are those of a series.
func (s *Series) sections(of int, selected bool) []document.Section {
	var whole, others []*Figure
	for _, f := range s.Figures {
		if !selected && f.Op == compare.WholeLoad {
			whole = append(whole, f)
		} else {
			others = append(others, f)
		}
	}
	rest := document.Section{ID: "metrics", Title: "Named metrics"}
	if !selected {
		rest.Title, rest.Fold = "All other metrics", true
	}
	load := document.Section{
		ID: "load", Title: "Whole load",
		Lead: "latency of all operations together; typical is the p50 of each, weighted by its share",
	}
	s.values(&load, whole, selected)
	s.values(&rest, others, selected)
	changed := document.Section{
		ID: "changed", Title: "Changed", Lead: "run is the first with the new value", Table: &document.Table{
			Columns: []document.Column{
				{Left: true}, {Title: "run"}, {Title: "before"}, {Title: "after"}, {Title: "verdict", Left: true},
			},
		},
	}
	for _, c := range s.changed {
		verdict := document.Cell{Text: c.why()}
		if c.Says == compare.Worse {
			verdict.Style = document.Bad
		}
		text := c.of.Measure.Text
		changed.Table.Add(c.of.Subject.String(), c.of.label(), c.Run+1, text(c.Before), text(c.After), verdict)
	}
	all := []document.Section{s.verdict(of)}
	for _, section := range []document.Section{changed, load, rest} {
		if len(section.Table.Rows) > 0 && len(s.Runs) > 1 {
			all = append(all, section)
		}
	}
	return append(all, s.runs())
}

// verdict says how many metrics changed, and whether there were runs enough to find changes.
func (s *Series) verdict(of int) document.Section {
	v := document.Section{ID: "verdict"}
	head := fmt.Sprintf("%s of workload %s", words.Plural(len(s.Runs), "run"), s.Runs[0].Workload)
	if of > 1 {
		head = fmt.Sprintf("Series %d of %d, %s", s.Number, of, head)
	}
	worse, better, last := 0, 0, 0
	for _, c := range s.changed {
		if last = max(last, c.Run); c.Says == compare.Worse {
			worse++
		} else {
			better++
		}
	}
	style, said := document.Strong, "no significant change."
	switch {
	case len(s.Runs) < 2:
		said = "no earlier run to compare with."
	case worse+better > 0:
		said = fmt.Sprintf("%s, %s, the last at run %d (%s).", words.Plural(worse, "regression"),
			words.Plural(better, "improvement"), last+1, s.Runs[last].build())
	}
	if worse > 0 {
		style = document.Bad
	}
	v.Say(style, "", head+": "+said)
	v.Say(document.Plain, "Not comparable with series 1", strings.Join(s.Differs, "; "))
	if timed := len(slices.DeleteFunc(slices.Clone(s.Figures), (*Figure).counted)); timed > s.Tested {
		v.Say(document.Plain, "", fmt.Sprintf("A change of a time is found from %d runs on when %d timed metrics are searched: "+
			"%d of them have too few runs; use --metric to search fewer metrics in fewer runs.", s.Least, timed, timed-s.Tested))
	}
	return v
}

// label is the metric with its operation, if it has one.
func (f *Figure) label() string {
	if f.Op == compare.WholeLoad {
		return f.Name
	}
	return f.Op + "." + f.Name
}

// values fills a section with metrics: the median, the last value, and each of the last runs. A page draws all of them.
func (s *Series) values(to *document.Section, figures []*Figure, selected bool) {
	from := max(0, len(s.Runs)-8)
	to.Table = &document.Table{Columns: []document.Column{
		{Left: true},
		{Title: "median"},
		{Title: "last"},
		{
			Title: fmt.Sprintf("the last %d runs, oldest first", len(s.Runs)-from), Left: true,
			Help: "| is before a run at which the metric changed",
		},
	}}
	for _, f := range figures {
		var known []float64
		var each []string
		for i, v := range f.Values {
			if v != nil {
				known = append(known, *v)
			}
			text := f.shown(i)
			if slices.ContainsFunc(f.Changes, func(c Change) bool { return c.Run == i }) {
				text = "| " + text
			}
			each = append(each, text)
		}
		median, last := f.Measure.Text(results.Median(known)), f.Measure.Text(known[len(known)-1])
		to.Table.Add(f.Subject.String(), f.label(), median, last, strings.Join(each[from:], " "))
	}
	to.Charts = s.charts(figures, selected)
}

// runs lists the runs.
func (s *Series) runs() document.Section {
	t := &document.Table{Columns: []document.Column{
		{Title: "run"},
		{Title: "started", Left: true},
		{Title: "mailbench", Left: true},
		{Title: "results", Left: true},
		{Title: "folder", Left: true},
	}}
	for i := range s.Runs {
		r := &s.Runs[i]
		verdict := document.Styled(cmp.Or(string(r.Verdict), "none measured"), document.Warn)
		if r.NotOK > 0 {
			verdict.Text = fmt.Sprintf("%d/%d %s", r.NotOK, r.Cells, r.Verdict)
		} else if r.Verdict == results.OK {
			verdict = document.Cell{Text: fmt.Sprintf("%d %s", r.Cells, results.OK)}
		}
		t.Add("", i+1, r.Started, r.build(), verdict, r.Folder)
	}
	return document.Section{ID: "runs", Title: "Runs", Lead: "the oldest first", Table: t}
}

// charts draw metrics from run to run, with a line for each model and engine. A mark is where a metric changed.
// Unless the user named metrics, those that are neither a latency nor changed are not drawn.
func (s *Series) charts(figures []*Figure, selected bool) (all []document.Chart) {
	drawn := slices.DeleteFunc(slices.Clone(figures), func(f *Figure) bool {
		return !selected && f.Op != compare.WholeLoad && len(f.Changes) == 0 &&
			f.Name != "p50" && f.Name != "p99"
	})
	title := func(f *Figure) string { return f.Op + " " + f.Name + ", " + f.Phase }
	for _, same := range results.Grouped(drawn, title) {
		ch := document.Chart{
			Title: title(same[0]), Summary: "Trend of " + title(same[0]) + ".",
			X: document.Axis{Label: "run", From: 0.5, To: float64(len(s.Runs)) + 0.5},
			Y: document.Axis{Text: same[0].Measure.Text},
		}
		for n := range s.Runs {
			ch.X.Ticks = append(ch.X.Ticks, document.Tick{At: float64(n + 1), Label: strconv.Itoa(n + 1)})
		}
		for _, f := range same {
			l := document.Line{Name: f.Model + "/" + f.Engine}
			for i, v := range f.Values {
				p := document.Point{X: float64(i + 1), Y: math.NaN()}
				if v != nil {
					p.Y, p.Text = *v, fmt.Sprintf("%s, run %d: %s", l.Name, i+1, f.shown(i))
				}
				l.Points = append(l.Points, p)
			}
			ch.Lines = append(ch.Lines, l)
			for _, c := range f.Changes {
				ch.Marks = append(ch.Marks, document.Tick{At: float64(c.Run) + 0.5})
				ch.Says = append(ch.Says, fmt.Sprintf("%s from run %d on: %s -> %s, %s.", l.Name, c.Run+1,
					f.Measure.Text(c.Before), f.Measure.Text(c.After), c.why()))
			}
		}
		all = append(all, ch)
	}
	return all
}
