package reports

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// narrowest is the width below which a table is not made narrower.
const narrowest = 60

// WriteText writes the run's tables for a terminal of that width. A wider terminal
// shows more figures.
func WriteText(w io.Writer, r *Run, width int) error {
	out := bufio.NewWriter(w) // keeps the first error
	t := text{out: out, width: max(width, narrowest), names: namesIn(r)}
	t.head(r)
	all := sections(r)
	for i := range all {
		t.section(r, &all[i])
	}
	t.notes(r, all)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

type text struct {
	out   *bufio.Writer
	width int
	names names
}

func (t *text) line(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	fmt.Fprintln(t.out, strings.TrimRight(s, " "))
}

// wrap writes lead and words. Further lines are indented by indent columns.
func (t *text) wrap(lead string, indent int, words string) {
	line := lead
	column, begun := utf8.RuneCountInString(lead), false
	for _, word := range strings.Fields(printable(words)) {
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
	t.labelled("run", fmt.Sprintf("%s, seed %d, %s, %s", r.Workload.Name, r.Seed, r.Started, duration(r.Seconds*1e9)))
	if r.Interrupted {
		t.labelled("", "INTERRUPTED: this is what was measured until then")
	}
	t.labelled("machine", machine(&r.Environment))
	for _, e := range enginesOf(r) {
		t.labelled("engine", e)
	}
	if r.Mail != nil {
		t.labelled("mail", mailInfo(r.Mail))
	}
}

func machine(e *Environment) string {
	parts := []string{e.OS + "/" + e.Arch, e.CPU, fmt.Sprintf("%d CPUs", e.CPUs)}
	if e.Memory > 0 {
		parts = append(parts, size(float64(e.Memory)))
	}
	version := "mailbench " + e.Version
	if e.Dirty {
		version += " (changed since its commit)"
	}
	return joined(append(parts, e.Disk, e.Go, version))
}

func mailInfo(m *MailInfo) string {
	s := fmt.Sprintf("%s: %d messages, %s", m.File, m.Messages, size(float64(m.Bytes)))
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
func (t *text) notes(r *Run, all []section) {
	t.line("")
	if s := tooFew(all); s != "" {
		t.labelled("-", s)
	}
	if s := regime(all, t.names); s != "" {
		t.labelled("regime", s)
	}
	if s := floors(r); s != "" {
		t.labelled("floor", s)
	}
	for i := range r.Audits {
		a := &r.Audits[i]
		t.labelled("audit", t.names.part(a.Model, a.Engine)+": "+a.summary())
		for _, n := range a.Notes {
			t.wrap(strings.Repeat(" ", labelWidth)+"- ", labelWidth+2, n)
		}
	}
	for _, left := range r.Left {
		t.labelled("left", left)
	}
	doubts := doubtsOf(r, t.names)
	for i := range doubts {
		label := ""
		if i == 0 {
			label = "doubts"
		}
		t.wrap(fmt.Sprintf("%-*s- ", labelWidth, label), labelWidth+2, doubts[i].String())
	}
}
