package trace

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/schemas/words"
)

// Column is one column of a table of costs.
type Column struct {
	Head string
	of   func(c *Cost) int64
	text func(n int64) string
}

func plainNumber(n int64) string { return strconv.FormatInt(n, 10) }

func shortTime(n int64) string {
	d := time.Duration(n)
	if d < 10*time.Millisecond {
		return strconv.FormatInt(d.Microseconds(), 10) + "µs"
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}

var columns = []Column{
	{"REQUESTS", func(c *Cost) int64 { return c.Requests }, plainNumber},
	{"NODES", func(c *Cost) int64 { return c.Nodes }, plainNumber},
	{"RETURNED", func(c *Cost) int64 { return c.Returned }, plainNumber},
	{"READ", func(c *Cost) int64 { return c.Rows }, plainNumber},
	{"TOMBSTONES", func(c *Cost) int64 { return c.Tombstones }, plainNumber},
	{"HIDDEN", func(c *Cost) int64 { return c.Hidden }, plainNumber},
	{"CELLS", func(c *Cost) int64 { return c.Cells }, plainNumber},
	{"BYTES", func(c *Cost) int64 { return c.Bytes }, plainNumber},
	{"BLOCKS", func(c *Cost) int64 { return c.Blocks }, plainNumber},
	{"TIME", func(c *Cost) int64 {
		if c.Server >= 0 {
			return int64(c.Server)
		}
		return int64(c.Client)
	}, shortTime},
}

// Columns returns the columns of which some pattern knows the value.
func Columns(patterns []Pattern) []Column {
	return slices.DeleteFunc(slices.Clone(columns), func(c Column) bool {
		return !slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Most != nil && c.of(p.Most) >= 0 })
	})
}

// WriteText writes the costs as tables of at most width columns; 0 is no limit. Above them is the
// engine's explanation of the columns.
func (r *Report) WriteText(w io.Writer, legend string, width int) error {
	fmt.Fprintf(w, "%s on %s (%s): medians of the calls of each pattern, and the most in brackets.\n%s\n\n",
		r.Model, r.Engine, r.Version, legend)
	shown := Columns(r.Patterns)
	head := []string{"PATTERN", "CALLS"}
	for _, c := range shown {
		head = append(head, c.Head)
	}
	var rows [][]string
	for i := range r.Patterns {
		p := &r.Patterns[i]
		if p.Calls == 0 {
			continue
		}
		row := []string{patternName(p), strconv.Itoa(p.Calls)}
		for _, c := range shown {
			row = append(row, c.Cell(p))
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		if _, err := io.WriteString(w, words.Table(append([][]string{head}, rows...), len(head), width)); err != nil {
			return err
		}
	}
	if err := r.writePlans(w, width); err != nil {
		return err
	}
	return r.writeNotes(w)
}

// writePlans prints how the engine runs the patterns, if it tells.
func (r *Report) writePlans(w io.Writer, width int) error {
	rows := [][]string{{"PATTERN", "PLAN"}}
	for i := range r.Patterns {
		name := r.Patterns[i].Name
		for _, line := range r.Patterns[i].Plan {
			rows, name = append(rows, []string{name, line}), ""
		}
	}
	if len(rows) == 1 {
		return nil
	}
	fmt.Fprintln(w)
	_, err := io.WriteString(w, words.Table(rows, len(rows[0]), width))
	return err
}

func patternName(p *Pattern) string {
	if p.Runs != "" {
		return p.Name + " (by " + p.Runs + ")"
	}
	return p.Name
}

// Cell writes the median, and the most if that differs.
func (c *Column) Cell(p *Pattern) string {
	if p.Median == nil || c.of(p.Median) < 0 {
		return "-"
	}
	middle, most := c.text(c.of(p.Median)), c.text(c.of(p.Most))
	if middle == most {
		return middle
	}
	return middle + " (" + most + ")"
}

// writeNotes names the arguments of reads that met tombstones or hidden entries, the patterns
// whose calls failed, and the patterns that were not called.
func (r *Report) writeNotes(w io.Writer) error {
	var notes, reasons []string
	not := make(map[string][]string)
	for i := range r.Patterns {
		p := &r.Patterns[i]
		switch {
		case p.NotRun != "":
			if not[p.NotRun] == nil {
				reasons = append(reasons, p.NotRun)
			}
			not[p.NotRun] = append(not[p.NotRun], p.Name)
		case p.Failed > 0:
			notes = append(notes, fmt.Sprintf("%s: %d of %d calls failed", p.Name, p.Failed, p.Calls))
		case p.Most.Tombstones > 0 || p.Most.Hidden > 0:
			notes = append(notes, fmt.Sprintf("%s read the most with %s", p.Name, p.Worst))
		}
	}
	for _, reason := range reasons {
		notes = append(notes, reason+": "+strings.Join(not[reason], ", "))
	}
	for i, n := range notes {
		if i == 0 {
			fmt.Fprintln(w)
		}
		if _, err := fmt.Fprintln(w, n); err != nil {
			return err
		}
	}
	return nil
}
