package cmd

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers/validate"
)

// writeText prints what was read, and then what was found.
func (v *validated) writeText(w io.Writer) error {
	var rows [][]string
	for _, t := range v.Tables {
		name, part := t.Name, "all"
		if t.Static {
			name += " (static)"
		}
		if t.Read < t.Parts {
			part = fmt.Sprintf("%d of %d parts", t.Read, t.Parts)
		}
		rows = append(rows, []string{
			name, strconv.FormatInt(t.Rows, 10), megabytes(t.Bytes), part,
			seconds(t.Seconds), perSecond(t.Rows, t.Seconds),
		})
	}
	if err := table(w, []string{"TABLE", "ROWS", "BYTES", "READ", "TIME", "ROWS/S"}, rows); err != nil {
		return err
	}
	v.writeFindings(w, "Broken", false)
	v.writeFindings(w, "Left over, which does no harm", true)
	if len(v.Unchecked) > 0 {
		fmt.Fprintf(w, "\nNot checked in a sample: %s.\n", strings.Join(v.Unchecked, ", "))
	}
	if a := v.Audit; a != nil {
		fmt.Fprintf(w, "\nAudit of the model: %d accounts, %d folders, %d messages, %d deleted; %d unreferenced;\n"+
			"%d dangling, %d duplicated, %d broken bodies, counters adrift by %d.\n",
			a.Accounts, a.Folders, a.Messages, a.Deleted, a.Unreferenced, a.Dangling, a.Duplicated,
			a.BrokenBodies, a.CounterDrift)
		for _, note := range a.Notes {
			fmt.Fprintln(w, note)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s on %s: %s broken, %d left over\n", v.Schema, v.Engine,
		amountOf(v.Broken, "row"), v.Leftover)
	return err
}

// writeFindings prints the findings of one sort under a heading, if there are any.
func (v *validated) writeFindings(w io.Writer, heading string, leftover bool) {
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Leftover != leftover {
			continue
		}
		if heading != "" {
			fmt.Fprintf(w, "\n%s:\n", heading)
			heading = ""
		}
		fmt.Fprintf(w, "  %s: %s %s: %s", f.Table, f.Check, f.Name, amountOf(f.Rows, "row"))
		if f.Missing > 0 && f.Missing != f.Rows {
			fmt.Fprintf(w, " for %d that are not there", f.Missing)
		}
		if f.Drift != 0 {
			fmt.Fprintf(w, ", off by %d in all", f.Drift)
		}
		fmt.Fprintln(w)
		for _, example := range f.Examples {
			fmt.Fprintf(w, "      %s\n", example)
		}
		if more := f.Rows - int64(len(f.Examples)); more > 0 && len(f.Examples) == validate.Examples {
			fmt.Fprintln(w, "      …")
		}
	}
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
}

func perSecond(n int64, s float64) string {
	if s <= 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(n)/s, 'f', 0, 64)
}

// amountOf is a number with its noun.
func amountOf(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// validateLine says how far a check is, in one line.
func validateLine(p validate.Progress) string {
	what := "reading " + p.Table
	if p.Table == "" {
		what = "comparing references and counts"
	}
	return fmt.Sprintf("%s: part %d of %d, %d rows, %s, %s", what, p.Part, p.Parts, p.Rows,
		megabytes(p.Bytes), p.Elapsed.Round(time.Second))
}

// lineBar is one line of progress that is redrawn. It is shown on a terminal only.
type lineBar struct {
	w     io.Writer
	drawn bool
}

func newLineBar(w io.Writer, quiet bool) *lineBar {
	if quiet || !isTerminal(w) {
		return &lineBar{}
	}
	return &lineBar{w: w}
}

func (b *lineBar) show(line string) {
	if b.w == nil {
		return
	}
	cut := []rune(printable(line))
	redraw(b.w, string(cut[:min(len(cut), max(width(b.w)-1, 0))]))
	b.drawn = true
}

// close takes the line off the terminal.
func (b *lineBar) close() {
	if b.drawn {
		redraw(b.w, "")
		b.drawn = false
	}
}
