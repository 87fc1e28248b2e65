package queries

import (
	"fmt"
	"io"
	"strconv"

	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/trace"
)

// WriteText writes a table of what was foretold and what was done, at most width columns wide (0 is no
// limit), and below it each statement. legend explains the columns.
func (r *Report) WriteText(w io.Writer, legend string, width int) error {
	fmt.Fprintf(w, "%s on %s (%s): what lint foretells of each statement, and what the engine did for it:\n"+
		"medians of its runs, and the most in brackets. Values of parameters are of the table's own rows.\n%s\n\n",
		r.Schema, r.Engine, r.Version, legend)
	patterns := make([]trace.Pattern, len(r.Statements))
	for i := range r.Statements {
		patterns[i] = r.Statements[i].Pattern
	}
	shown := trace.Columns(patterns)
	head := []string{"STATEMENT", "PATTERN", "FORETOLD", "RUNS"}
	for _, c := range shown {
		head = append(head, c.Head)
	}
	rows := [][]string{head}
	for i := range r.Statements {
		s := &r.Statements[i]
		if s.NotRun != "" {
			continue
		}
		row := []string{s.place(), s.Name, s.Foretold.Partitions + ", " + s.Foretold.Bound, strconv.Itoa(s.Calls)}
		for _, c := range shown {
			cell := c.Cell(&s.Pattern)
			if c.Head == "RETURNED" && s.More {
				cell += "+"
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	if len(rows) > 1 {
		if _, err := io.WriteString(w, words.Table(rows, len(head), width)); err != nil {
			return err
		}
	}
	for i := range r.Statements {
		r.Statements[i].write(w)
	}
	for i, f := range r.Tables {
		if i == 0 {
			fmt.Fprintln(w, "\nWhat lint finds in the tables themselves:")
		}
		fmt.Fprintf(w, "  %s\n", f)
	}
	for _, u := range r.Unread {
		fmt.Fprintf(w, "\n%s:%d: not read: %s\n", u.File, u.Line, u.Reason)
	}
	return nil
}

func (s *Statement) place() string { return s.File + ":" + strconv.Itoa(s.Line) }

// write prints a statement, what lint finds in it, and what the engine did that is worth a look.
func (s *Statement) write(w io.Writer) {
	fmt.Fprintf(w, "\n%s: %s: %s\n", s.place(), s.Name, s.Text)
	for _, f := range s.Foretold.Findings {
		fmt.Fprintf(w, "  lint: %s\n", f)
	}
	if len(s.Foretold.Findings) == 0 {
		fmt.Fprintln(w, "  lint: no finding")
	}
	if s.NotRun != "" {
		fmt.Fprintf(w, "  not run: %s\n", words.OneLine(s.NotRun))
		return
	}
	for _, e := range s.Errors {
		fmt.Fprintf(w, "  failed: %s\n", words.OneLine(e))
	}
	if s.Most == nil {
		return
	}
	fmt.Fprintf(w, "  engine: at most %d rows and %d tombstones read for %d returned", s.Most.Rows,
		max(s.Most.Tombstones, 0), s.Most.Returned)
	if s.More {
		fmt.Fprint(w, ", and the read goes on after the first page, which was not read")
	}
	if s.Worst != "" {
		fmt.Fprintf(w, "; the most with %s", words.OneLine(s.Worst))
	}
	fmt.Fprintln(w)
}
