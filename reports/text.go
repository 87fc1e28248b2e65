package reports

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mailbench/mailbench/reports/units"
)

// narrowest is the width below which a table is not made narrower.
const narrowest = 60

// WriteText writes the run's tables for a terminal of that width. A wider terminal
// shows more figures.
func WriteText(w io.Writer, r *Run, width int) error {
	out := bufio.NewWriter(w) // keeps the first error
	t := text{out: out, width: max(width, narrowest), names: NamesIn(r)}
	t.head(r)
	all := Sections(r)
	for i := range all {
		t.section(r, &all[i])
	}
	t.objectives(r)
	t.notes(r, all)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

type text struct {
	out   *bufio.Writer
	width int
	names Names
}

func (t *text) line(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	fmt.Fprintln(t.out, strings.TrimRight(s, " "))
}

// wrap writes lead and words. Further lines are indented by indent columns.
func (t *text) wrap(lead string, indent int, words string) {
	line := lead
	column, begun := utf8.RuneCountInString(lead), false
	for _, word := range strings.Fields(units.OneLine(words)) {
		n := utf8.RuneCountInString(word)
		switch {
		case begun && column+1+n > t.width:
			t.line("%s", line)
			line, column = strings.Repeat(" ", indent)+word, indent+n
		case begun:
			line, column = line+" "+word, column+1+n
		default:
			line, column, begun = line+word, column+n, true
		}
	}
	t.line("%s", line)
}

// labelled writes words in a column beside a label.
func (t *text) labelled(label, words string) {
	t.wrap(fmt.Sprintf("%-*s", labelWidth, label), labelWidth, words)
}

const labelWidth = 10

func (t *text) head(r *Run) {
	t.labelled("run", fmt.Sprintf("%s, seed %d, %s, %s", r.Workload.Name, r.Seed, r.Started, units.Duration(r.Seconds*1e9)))
	if r.Interrupted {
		t.labelled("", "INTERRUPTED: this is what was measured until then")
	}
	t.labelled("machine", MachineLine(&r.Environment))
	for _, e := range EnginesOf(r) {
		t.labelled("engine", e)
	}
	if r.Mail != nil {
		t.labelled("mail", MailLine(r.Mail))
	}
}

func MachineLine(e *Environment) string {
	parts := []string{e.OS + "/" + e.Arch, e.CPU, fmt.Sprintf("%d CPUs", e.CPUs)}
	if e.Memory > 0 {
		parts = append(parts, units.Size(float64(e.Memory)))
	}
	version := "mailbench " + e.Version
	if e.Dirty {
		version += " (changed since its commit)"
	}
	return joined(append(parts, e.Disk, e.Go, version))
}

func MailLine(m *MailInfo) string {
	s := fmt.Sprintf("%s: %d messages, %s", m.File, m.Messages, units.Size(float64(m.Bytes)))
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

// notes writes what a reader of the figures has to know.
func (t *text) notes(r *Run, all []Section) {
	t.line("")
	if s := TooFew(all); s != "" {
		t.labelled("-", s)
	}
	if s := Regime(all, t.names); s != "" {
		t.labelled("regime", s)
	}
	if s := Floors(r); s != "" {
		t.labelled("floor", s)
	}
	for i := range r.Audits {
		a := &r.Audits[i]
		t.labelled("audit", t.names.Part(a.Model, a.Engine)+": "+a.Summary())
		for _, n := range a.Notes {
			t.wrap(strings.Repeat(" ", labelWidth)+"- ", labelWidth+2, n)
		}
	}
	for _, left := range r.Left {
		t.labelled("left", left)
	}
	doubts := DoubtsOf(r, t.names)
	for i := range doubts {
		label := ""
		if i == 0 {
			label = "doubts"
		}
		t.wrap(fmt.Sprintf("%-*s- ", labelWidth, label), labelWidth+2, doubts[i].String())
	}
}
