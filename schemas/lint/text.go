package lint

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

// Report is what lint says of one schema.
type Report struct {
	Schema   *schemas.Schema
	Engines  []string // engines that the schema was checked for
	Workload string   // the workload of the numbers, or ""
	Findings []Finding
	Guesses  []Guess // what columns are for, where the schema does not say it
	Gone     int     // findings of a baseline that are no longer there
}

// Counts are the numbers of findings of a report by severity. Those that the schema
// accepts, and those that a baseline has, count apart.
type Counts struct{ Errors, Warnings, Notes, Accepted, Known int }

// Counts counts the findings.
func (r *Report) Counts() (n Counts) {
	for _, f := range r.Findings {
		switch {
		case f.Accepted != "":
			n.Accepted++
		case f.Known:
			n.Known++
		case f.Severity == Error:
			n.Errors++
		case f.Severity == Warning:
			n.Warnings++
		default:
			n.Notes++
		}
	}
	return n
}

// WriteText writes errors and warnings, one a line with its place, and below it what
// to do. With all it also writes notes, what is accepted, and how each pattern is
// answered. What had to be guessed follows. Findings are broken into lines of width columns; 0 is a line for each.
func (r *Report) WriteText(w io.Writer, all bool, width int) error {
	b := bufio.NewWriter(w)
	n := r.Counts()
	if all {
		rows := [][]string{{"PATTERN", "KIND", "TABLE", "ANSWERED BY", "ORDER", "BOUND"}}
		for _, a := range Answers(r.Schema) {
			rows = append(rows, []string{
				a.Pattern.Name, a.Pattern.Kind.String(), cmp.Or(tableName(a.Pattern), "-"), a.Partitions, a.Order, a.Bound,
			})
		}
		fmt.Fprintln(b, words.Table(rows, len(rows[0]), 0))
	}
	for _, f := range r.Findings {
		if !all && (f.Accepted != "" || f.Known || f.Severity == Note) {
			continue
		}
		wrap(b, "", fmt.Sprintf("%s: %s", f.Pos.In(r.Schema.File), &f), width)
		switch {
		case f.Accepted != "":
			wrap(b, indent, "accepted: "+f.Accepted, width)
		case f.Known:
			wrap(b, indent, "known: the baseline has it", width)
		default:
			wrap(b, indent, "Do: "+f.Do, width)
		}
	}
	for _, g := range r.Guesses {
		wrap(b, "", fmt.Sprintf("%s: %s", g.Column.Pos.In(r.Schema.File), g), width)
	}
	fmt.Fprintf(b, "%s for %s: %s, %s, %s, %d accepted", r.Schema.Name, list(r.Engines), words.Plural(n.Errors, "error"),
		words.Plural(n.Warnings, "warning"), words.Plural(n.Notes, "note"), n.Accepted)
	if n.Known+r.Gone > 0 {
		fmt.Fprintf(b, ", %d known from the baseline, %d of it gone", n.Known, r.Gone)
	}
	if !all && n.Notes+n.Accepted+n.Known > 0 {
		fmt.Fprint(b, " (--all shows them)")
	}
	fmt.Fprintln(b)
	return b.Flush()
}

// String returns severity, rule, what the finding is about and the message.
func (f *Finding) String() string {
	return fmt.Sprintf("%s %s: %s: %s", f.Severity, f.Rule.ID, f.subject(), f.Message)
}

// subject is what a finding is about, in words.
func (f *Finding) subject() string {
	if f.Pattern != "" {
		return "pattern " + f.Pattern
	}
	return "table " + f.Table
}

// list joins words as a sentence does.
func list(all []string) string {
	if n := len(all); n > 1 {
		return strings.Join(all[:n-1], ", ") + " and " + all[n-1]
	}
	return strings.Join(all, "")
}

// wrap writes text after lead, in lines of width columns. Those after the first are indented.
// Width 0 is one line.
func wrap(w io.Writer, lead, text string, width int) {
	for _, line := range words.Wrap(lead, text, len(indent), width) {
		fmt.Fprintln(w, line)
	}
}

const indent = "    "
