package cmd

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/run"
	"github.com/mailbench/mailbench/workloads/trace"
)

// liveFlags are the flags of schema explain --live as they were given.
type liveFlags struct {
	workloadFlags
	json, quiet bool
}

// run runs the operations of a model and prints what its patterns cost.
func (f *liveFlags) run(
	cmd *cobra.Command, known registry, name string, e drivers.Engine, patterns []*schemas.Pattern,
) error {
	picked, err := known.pickModels([]string{name})
	if err != nil {
		return fmt.Errorf("--live runs mail operations, so it needs a model: %w", err)
	}
	more, err := contactOverride([]drivers.Engine{e}, f.contact)
	if err != nil {
		return err
	}
	w, err := trace.Workload(slices.Concat(f.set, more)...)
	if err != nil {
		return usage(err)
	}
	if err := w.CheckEngines(engineWords(known.engines)); err != nil {
		return usage(err)
	}
	if err := known.checkModels(w); err != nil {
		return err
	}
	bar := newLineBar(cmd.ErrOrStderr(), f.quiet)
	report, err := trace.Run(cmd.Context(), trace.Config{
		Model: picked[0], Engine: e, Workload: w,
		Progress: func(p run.Progress) { bar.show(p.Model + " on " + p.Engine + ": " + p.Phase) },
	})
	bar.close()
	if err != nil {
		return err
	}
	report.Patterns = slices.DeleteFunc(report.Patterns, func(p trace.Pattern) bool {
		return !slices.ContainsFunc(patterns, func(s *schemas.Pattern) bool { return s.Name == p.Name })
	})
	out := cmd.OutOrStdout()
	if f.json {
		err = printJSON(out, report)
	} else {
		err = writeTraced(out, report, e.TraceDoc)
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}

// column is one column of the table of costs.
type column struct {
	head string
	of   func(c *trace.Cost) int64
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

var costColumns = []column{
	{"REQUESTS", func(c *trace.Cost) int64 { return c.Requests }, plainNumber},
	{"NODES", func(c *trace.Cost) int64 { return c.Nodes }, plainNumber},
	{"RETURNED", func(c *trace.Cost) int64 { return c.Returned }, plainNumber},
	{"READ", func(c *trace.Cost) int64 { return c.Rows }, plainNumber},
	{"TOMBSTONES", func(c *trace.Cost) int64 { return c.Tombstones }, plainNumber},
	{"HIDDEN", func(c *trace.Cost) int64 { return c.Hidden }, plainNumber},
	{"CELLS", func(c *trace.Cost) int64 { return c.Cells }, plainNumber},
	{"BYTES", func(c *trace.Cost) int64 { return c.Bytes }, plainNumber},
	{"BLOCKS", func(c *trace.Cost) int64 { return c.Blocks }, plainNumber},
	{"TIME", func(c *trace.Cost) int64 {
		if c.Server >= 0 {
			return int64(c.Server)
		}
		return int64(c.Client)
	}, shortTime},
}

// writeTraced prints the costs as a table. Above it is the engine's explanation of the columns.
func writeTraced(w io.Writer, r *trace.Report, legend string) error {
	fmt.Fprintf(w, "%s on %s (%s): medians of the calls of each pattern, and the most in brackets.\n%s\n\n",
		r.Model, r.Engine, r.Version, legend)
	shown := slices.DeleteFunc(slices.Clone(costColumns), func(c column) bool {
		return !slices.ContainsFunc(r.Patterns, func(p trace.Pattern) bool { return p.Most != nil && c.of(p.Most) >= 0 })
	})
	head := []string{"PATTERN", "CALLS"}
	for _, c := range shown {
		head = append(head, c.head)
	}
	var rows [][]string
	for i := range r.Patterns {
		p := &r.Patterns[i]
		if p.Calls == 0 {
			continue
		}
		row := []string{patternName(p), strconv.Itoa(p.Calls)}
		for _, c := range shown {
			row = append(row, c.cell(p))
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		if err := table(w, head, rows); err != nil {
			return err
		}
	}
	if err := writePlans(w, r); err != nil {
		return err
	}
	return writeNotes(w, r)
}

// writePlans prints how the engine runs the patterns, if it tells.
func writePlans(w io.Writer, r *trace.Report) error {
	var rows [][]string
	for i := range r.Patterns {
		name := r.Patterns[i].Name
		for _, line := range r.Patterns[i].Plan {
			rows, name = append(rows, []string{name, line}), ""
		}
	}
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return table(w, []string{"PATTERN", "PLAN"}, rows)
}

func patternName(p *trace.Pattern) string {
	if p.Runs != "" {
		return p.Name + " (by " + p.Runs + ")"
	}
	return p.Name
}

// cell writes the median, and the most if that differs.
func (c *column) cell(p *trace.Pattern) string {
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
func writeNotes(w io.Writer, r *trace.Report) error {
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
