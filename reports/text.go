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

// narrowest is the width below which a table is not made narrower.
const narrowest = 60

// Text writes runs for a terminal.
type Text struct {
	Width  int  // columns of the terminal; a wider one shows more figures
	Colour bool // marks what is best and what is wrong
	Full   bool // all that is known, and not only what it takes to choose
}

// WriteText writes all of the run for a terminal of that width, without colours.
func WriteText(w io.Writer, r *results.Run, width int) error {
	return Text{Width: width, Full: true}.Write(w, r)
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
	t.notes(r, all, view)
	t.told(r)
	return t.end(out)
}

func (t *text) end(out *bufio.Writer) error {
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

type text struct {
	out    io.Writer
	lines  int // that were written
	width  int
	colour bool
	names  Names

	style   string   // style of the lines that are written
	dropped []string // columns that tables have no room for
	wanted  int      // the width that has room for all columns
}

// Styles are parameters of the terminal's sequence "select graphic rendition".
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// paint gives a text a style, if there are colours.
func (t *text) paint(style, s string) string {
	if !t.colour || style == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

// styled writes the lines of do in a style.
func (t *text) styled(style string, do func()) {
	t.style = style
	do()
	t.style = ""
}

// heading writes the head of a table.
func (t *text) heading(lead, said string) { t.styled(bold, func() { t.wrap(lead, 2, said) }) }

func (t *text) line(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	fmt.Fprintln(t.out, t.paint(t.style, strings.TrimRight(s, " ")))
	t.lines++
}

// wrap writes lead and said. Further lines are indented by indent columns.
func (t *text) wrap(lead string, indent int, said string) {
	for _, line := range words.Wrap(lead, words.OneLine(said), indent, t.width) {
		t.line("%s", line)
	}
}

// labelled writes a text in a column beside a label.
func (t *text) labelled(label, said string) {
	t.wrap(fmt.Sprintf("%-*s", labelWidth, label), labelWidth, said)
}

const labelWidth = 10

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

func MailLine(m *results.MailInfo) string {
	s := fmt.Sprintf("%s: %d messages, %s", m.File, m.Messages, words.Size(float64(m.Bytes)))
	if m.Malformed > 0 {
		s += fmt.Sprintf("; %d malformed, delivered all the same", m.Malformed)
	}
	return s
}

// joined joins the parts that are not empty.
func joined(parts []string) string {
	var s []string
	for _, p := range parts {
		if p != "" {
			s = append(s, p)
		}
	}
	return strings.Join(s, ", ")
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

func (t *text) audit(a *results.Audit) {
	t.labelled("audit", t.names.Audit(a)+": "+AuditSummary(a))
	for _, n := range a.Notes {
		t.wrap(strings.Repeat(" ", labelWidth)+"- ", labelWidth+2, n)
	}
}

// list writes notices below each other, beside a label.
func (t *text) list(label string, notices []Notice) {
	for i := range notices {
		t.wrap(fmt.Sprintf("%-*s- ", labelWidth, label), labelWidth+2, notices[i].String())
		label = ""
	}
}
