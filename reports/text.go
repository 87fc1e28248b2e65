package reports

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// Text writes runs for a terminal.
type Text struct {
	Width  int  // columns of the terminal; a wider one shows more figures
	Colour bool // marks what is best and what is wrong
	Full   bool // all that is known, and not only what it takes to choose
}

// Write writes the run. What is wrong with it and what changes how it is read come first in the full
// text, then the answer, the overview, the tables of the measured phases and those of the load, and
// then the notes.
func (o Text) Write(w io.Writer, r *results.Run) error {
	out := bufio.NewWriter(w) // keeps the first error
	t := text{out: out, width: max(o.Width, narrowest), colour: o.Colour, names: NamesIn(r)}
	view := OverviewOf(r)
	if !o.Full {
		t.short(r, view)
		t.told(r)
		return t.end(out)
	}
	t.head(r)
	t.warnings(r, view)
	t.objectives(r)
	t.searches(r)
	all := Sections(r)
	if r.Sweep != nil {
		t.growth(r) // the tables of each point are on the page
	} else {
		t.answers(AnswersOf(r, view))
		t.overview(view)
		if s := Additions(r); s != "" {
			t.line("")
			t.wrap("ADDITIONS  ", 2, s)
		}
		for i := range all {
			t.section(r, &all[i])
		}
	}
	t.interruptions(r)
	t.notes(r, all, view)
	t.told(r)
	return t.end(out)
}

func (t *text) head(r *results.Run) {
	t.labelled("run", fmt.Sprintf("%s, seed %d, %s, %s", r.Workload.Name, r.Seed, r.Started,
		words.Duration(r.Seconds*1e9)))
	if r.Interrupted {
		t.labelled("", "INTERRUPTED: this is what was measured until then")
	}
	t.labelled("machine", MachineLine(&r.Environment))
	if line := ShardLine(r); line != "" {
		t.labelled("shards", line)
	}
	for _, e := range EnginesOf(r) {
		t.labelled("engine", e)
	}
	if r.Mail != nil {
		t.labelled("mail", MailLine(r.Mail))
	}
}

// notes writes what else a reader of the figures has to know.
func (t *text) notes(r *results.Run, all []Section, view *Overview) {
	t.line("")
	if s := TooFew(all); s != "" && r.Sweep == nil {
		t.labelled("-", s)
	}
	if s := ExaminedNote(all); s != "" && r.Sweep == nil {
		t.labelled("examined", s)
	}
	if slices.ContainsFunc(view.Parts, func(p OverviewPart) bool { return p.Trials > 1 }) {
		t.labelled("±", "figures are medians of the trials; behind a time, how far from it a trial lies at most")
	}
	if len(t.dropped) > 0 {
		t.labelled("no room", fmt.Sprintf("at %d columns the tables leave out %s; from %d on they have all, as run.json "+
			"and report.html do",
			t.width, strings.Join(t.dropped, ", "), t.wanted))
	}
	if s := Regime(all, t.names); s != "" && r.Sweep == nil { // each point of a sweep has its own
		t.labelled("regime", s)
	}
	if s := Floors(r); s != "" {
		t.labelled("floor", s)
	}
	for i := range r.Audits {
		if a := &r.Audits[i]; !a.Wrong() {
			t.audit(a)
		}
	}
	for _, left := range r.Left {
		t.labelled("left", left)
	}
	t.list("further", view.Further)
}
