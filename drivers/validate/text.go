package validate

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/schemas/words"
)

// WriteText writes what was read, and then what was found, in lines of at most width columns; 0 is
// any number.
func (r *Report) WriteText(w io.Writer, width int) error {
	rows := [][]string{{"TABLE", "ROWS", "BYTES", "READ", "TIME", "ROWS/S"}}
	for _, t := range r.Tables {
		name, part := t.Name, "all"
		if t.Static {
			name += " (static)"
		}
		if t.Read < t.Parts {
			part = fmt.Sprintf("%d of %d parts", t.Read, t.Parts)
		}
		if t.Earlier > 0 {
			part += fmt.Sprintf(", %d before", t.Earlier)
		}
		rows = append(rows, []string{
			name, strconv.FormatInt(t.Rows, 10), words.Size(float64(t.Bytes)), part,
			seconds(t.Seconds), perSecond(t.Rows-t.RowsEarlier, t.Seconds),
		})
	}
	if _, err := io.WriteString(w, words.Table(rows, len(rows[0]), width)); err != nil {
		return err
	}
	r.writeFindings(w, "Broken", false)
	r.writeFindings(w, "Left over by an interrupted operation or a delete: nothing needs these rows", true)
	r.writeUnseen(w)
	if len(r.Unchecked) > 0 {
		fmt.Fprintf(w, "\nNot checked in a sample: %s.\n", strings.Join(r.Unchecked, ", "))
	}
	r.Paced.write(w)
	return nil
}

// writeFindings prints the findings of one sort under a heading, if there are any.
func (r *Report) writeFindings(w io.Writer, heading string, leftover bool) {
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Leftover != leftover {
			continue
		}
		if heading != "" {
			fmt.Fprintf(w, "\n%s:\n", heading)
			heading = ""
		}
		fmt.Fprintf(w, "  %s: %s %s: %s", f.Table, f.Check, f.Name, words.Plural(f.Rows, "row"))
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
		if more := f.Rows - int64(len(f.Examples)); more > 0 && len(f.Examples) == Examples {
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

// String says how far a check is, in one line.
func (p Progress) String() string {
	what := "reading " + p.Table
	if p.Table == "" {
		what = "comparing references and counts"
	}
	line := fmt.Sprintf("%s: part %d of %d, %d rows, %s, %s", what, p.Part, p.Parts, p.Rows,
		words.Size(float64(p.Bytes)), p.Elapsed.Round(time.Second))
	switch {
	case p.Pausing > 0:
		line += fmt.Sprintf("; a read was slow: pause %d, %s left", p.Pauses, p.Pausing.Round(time.Second))
	case p.Pauses > 0:
		line += "; " + words.Plural(p.Pauses, "pause")
	}
	return line
}
