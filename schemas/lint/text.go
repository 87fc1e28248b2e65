package lint

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/mailbench/mailbench/schemas"
)

// Report is what lint says of one schema.
type Report struct {
	Schema   *schemas.Schema
	Engines  []string // engines that the schema was checked for
	Workload string   // the workload of the numbers, or ""
	Findings []Finding
}

// Counts are the numbers of findings of a report by severity; accepted ones count apart.
type Counts struct{ Errors, Warnings, Notes, Accepted int }

// Counts counts the findings.
func (r *Report) Counts() (n Counts) {
	for _, f := range r.Findings {
		switch {
		case f.Accepted != "":
			n.Accepted++
		case f.Rule.Severity == Error:
			n.Errors++
		case f.Rule.Severity == Warning:
			n.Warnings++
		default:
			n.Notes++
		}
	}
	return n
}

// WriteText writes errors and warnings, one a line with its place, and below it what
// to do. With all it also writes notes, what is accepted, and how each pattern is
// answered. Findings are broken into lines of width columns; 0 is a line for each.
func (r *Report) WriteText(w io.Writer, all bool, width int) error {
	b := bufio.NewWriter(w)
	n := r.Counts()
	if all {
		t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "PATTERN\tKIND\tTABLE\tANSWERED BY\tORDER\tBOUND")
		for _, a := range Answers(r.Schema) {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n",
				a.Pattern.Name, a.Pattern.Kind, cmp.Or(tableName(a.Pattern), "-"), a.Partitions, a.Order, a.Bound)
		}
		t.Flush()
		fmt.Fprintln(b)
	}
	for _, f := range r.Findings {
		if !all && (f.Accepted != "" || f.Rule.Severity == Note) {
			continue
		}
		wrap(b, "", fmt.Sprintf("%s: %s", f.Pos.In(r.Schema.File), &f), width)
		if f.Accepted != "" {
			wrap(b, indent, "accepted: "+f.Accepted, width)
		} else {
			wrap(b, indent, "Do: "+f.Rule.Do, width)
		}
	}
	fmt.Fprintf(b, "%s for %s: %s, %s, %s, %d accepted", r.Schema.Name, list(r.Engines), count(n.Errors, "error"),
		count(n.Warnings, "warning"), count(n.Notes, "note"), n.Accepted)
	if !all && n.Notes+n.Accepted > 0 {
		fmt.Fprint(b, " (--all shows them)")
	}
	fmt.Fprintln(b)
	return b.Flush()
}

// String returns severity, rule, what the finding is about and the message.
func (f *Finding) String() string {
	return fmt.Sprintf("%s %s: %s: %s", f.Rule.Severity, f.Rule.ID, f.subject(), f.Message)
}

// subject is what a finding is about, in words.
func (f *Finding) subject() string {
	if f.Pattern != "" {
		return "pattern " + f.Pattern
	}
	return "table " + f.Table
}

// WriteRules writes the documentation of all rules.
func WriteRules(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i, r := range Rules() {
		if i > 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "%s (%s%s)\n", r.ID, r.Severity, r.about())
		for _, part := range [][2]string{{"", r.Doc}, {"Do: ", r.Do}, {"Source: ", r.Source}} {
			wrap(b, indent, part[0]+part[1], 80)
		}
	}
	return b.Flush()
}

// about says which engines a rule is for, and whether it needs a workload.
func (r *Rule) about() string {
	s := ""
	if r.Engines != nil && len(r.Engines) < len(EngineNames()) {
		s = ", for " + list(r.Engines)
	}
	if r.Numbers {
		s += ", with --workload"
	}
	return s
}
