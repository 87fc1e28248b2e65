// Package page writes results as one HTML page that needs nothing else: no script, no
// network, no fonts. Every text from results is escaped.
package page

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/kballard/go-shellquote"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/workloads/results"
)

// Ours reports whether a file that begins with head, plainfile.HeadSize bytes, is a page of mailbench.
func Ours(head []byte) bool {
	return bytes.HasPrefix(head, []byte("<!DOCTYPE html>")) &&
		bytes.Contains(head, []byte(`<meta name="generator" content="mailbench report">`))
}

// HTMLFile is the report in a run directory.
const HTMLFile = "report.html"

// Write writes the page of a run.
func Write(w io.Writer, s Source) error {
	d := reports.Of(s.Run, s.By)
	addCharts(d, &s)
	about := document.Section{
		ID: "differences", Title: "Settings that differ",
		Lead: "Their effect is in the differences between the models and engines, too.",
	}
	side := func(s Source) compare.Side { return compare.Side{Name: s.Name, Runs: []*results.Run{s.Run}} }
	for _, other := range s.Others {
		all, _ := compare.Differences(side(s), side(other), false)
		for _, d := range all {
			about.Say(document.Plain, "", d)
		}
	}
	if len(about.Says) > 0 {
		d.Sections = append(d.Sections, about)
	}
	made := &provenance{Run: s.Run}
	for _, of := range append([]Source{s}, s.Others...) {
		made.Repeat = append(made.Repeat, "mailbench run --from "+shellquote.Join(cmp.Or(of.Name, "DIR")))
	}
	v := viewOf(d)
	v.Sections = append(v.Sections, sectionView{
		Section: &document.Section{ID: "provenance", Title: "Repeat it"}, Made: made,
	})
	return v.write(w)
}

// Document writes a document as a page.
func Document(w io.Writer, d *document.Document) error { return viewOf(d).write(w) }

// Source is a run and what a page shows of it.
type Source struct {
	Name   string // folder of the run, as a command can name it; "": not known
	Run    *results.Run
	By     ranking.Metric // by which models are ranked; "": the default
	Others []Source       // runs that Together has added
}

// Together is several runs as one, with models on engines next to each other. Its error says that two of them have the
// same model on the same engine, or executed other operations.
func Together(sources []Source) (Source, error) {
	one := sources[0]
	one.Others = sources[1:]
	all := *one.Run
	one.Run, all.Cells = &all, slices.Clone(all.Cells)
	measured := func(r *results.Run) []results.Phase {
		return slices.DeleteFunc(slices.Clone(r.Phases), func(p results.Phase) bool { return p.Kind != results.KindMeasure })
	}
	equal := func(a, b results.Phase) bool { return a.Name == b.Name && a.SHA256 == b.SHA256 }
	for _, s := range one.Others {
		r := s.Run
		if !slices.EqualFunc(measured(r), measured(&all), equal) || r.Sweep != nil || all.Sweep != nil {
			return one, fmt.Errorf("%s and %s executed other operations, or are sweeps: make a page of each", one.Name, s.Name)
		}
		for _, c := range r.Cells {
			if slices.ContainsFunc(all.Cells, func(o results.Cell) bool { return o.Model == c.Model && o.Engine == c.Engine }) {
				return one, fmt.Errorf("%s has %s on %s, as a run before it: use mailbench compare %s", s.Name, c.Model, c.Engine,
					shellquote.Join(one.Name, s.Name))
			}
		}
		all.Cells, all.Seconds = append(all.Cells, r.Cells...), all.Seconds+r.Seconds
		all.Schemas, all.Audits = slices.Concat(all.Schemas, r.Schemas), slices.Concat(all.Audits, r.Audits)
		all.Searches, all.Left = slices.Concat(all.Searches, r.Searches), slices.Concat(all.Left, r.Left)
		all.Interrupted = all.Interrupted || r.Interrupted
	}
	return one, nil
}

// provenance is how a run was made.
type provenance struct {
	*results.Run
	Repeat []string // commands
}

// addCharts adds the charts of a run to its report. Sections of the first screen come first, then those that are open,
// charts before tables, and then those that are folded.
func addCharts(d *document.Document, s *Source) {
	n := reports.NamesIn(s.Run)
	var own []document.Section
	if s.Run.Sweep == nil { // each point of a sweep has its own
		for _, cells := range reports.Groups(s.Run) {
			if p := percentiles(cells, n); cells[0].Measured() && len(p.Charts) > 0 {
				own = append(own, p)
			}
		}
	}
	if drawn := overTime(s.Run, n); len(drawn) > 0 {
		own = append(own, document.Section{
			ID: "time", Title: "Over time", Fold: true, Open: len(drawn) <= 12, Charts: drawn,
			Lead: "Latency of the operations that succeeded, trial after trial, on the same axis for all. A shaded band " +
				"is a time in which no operation succeeded.",
		})
	}
	d.Sections = append(own, d.Sections...)
	order := map[[2]bool]int{{true, true}: 1, {true, false}: 2} // by Fold and Open
	slices.SortStableFunc(d.Sections, func(a, b document.Section) int {
		return order[[2]bool{a.Fold, a.Open}] - order[[2]bool{b.Fold, b.Open}]
	})
}
