package cmd

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/history"
	"github.com/mailbench/mailbench/reports/page"
)

// historyFlags are the flags of history as they were given.
type historyFlags struct {
	metrics   []string
	file      string
	overwrite bool
	full      bool // all metrics
}

func newHistory() *cobra.Command {
	var f historyFlags
	c := &cobra.Command{
		Use:               "history DIR",
		Short:             "Show a folder of results as a series, and its changes",
		Args:              lacking(cobra.ExactArgs(1), "expected one folder that contains folders of results"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := c.Flags()
	bindList(flags, &f.metrics, "metric", "", "draw the trend of these `METRICS`, such as list.p99 or 'james/*.p50'")
	register(c, "metric", completeList(compare.Names()))
	flags.BoolVar(&f.full, "full", false, "print all metrics of all runs")
	flags.StringVarP(&f.file, "output", "o", "", "write one HTML page to `FILE`, or to standard output (-)")
	flags.BoolVar(&f.overwrite, "overwrite", false, "overwrite a file that mailbench has not written")
	bindJSON(flags, "print JSON")
	return c
}

// run reads the folder, and writes the history in each form that the flags name. A metric that no run has is an error.
func (f *historyFlags) run(cmd *cobra.Command, dir string) error {
	out := cmd.OutOrStdout()
	if asJSON(cmd) && f.file == "-" {
		return usagef("--json and -o - both write to standard output: leave one out")
	}
	var selected []compare.Gate
	var err error
	if len(f.metrics) > 0 {
		if selected, err = compare.ParseGates(strings.Join(f.metrics, ",")); err != nil {
			return usagef("--metric %w", err)
		}
	}
	h, err := history.Read(dir, selected)
	switch {
	case err != nil:
		return missing(err)
	case len(h.Series) == 0 && len(h.Skipped) > 0:
		return usagef("%s contains no results of complete runs; %d folders skipped, first %s: %s", dir, len(h.Skipped),
			h.Skipped[0].Folder, h.Skipped[0].Why)
	case len(h.Series) == 0:
		return usagef("%s contains no results of complete runs", dir)
	case len(selected) > 0 && !slices.ContainsFunc(h.Series, func(s history.Series) bool { return len(s.Figures) > 0 }):
		return usagef("--metric %s: no run in %s has this metric in a phase with the verdict ok",
			strings.Join(f.metrics, ","), dir)
	}
	d := h.Document(len(f.metrics) > 0)
	if f.file != "" {
		var text bytes.Buffer
		if err := page.Document(&text, d); err != nil {
			return err
		}
		if err := writeOutput(out, f.file, text.Bytes(), f.overwrite); err != nil || f.file == "-" {
			return err
		}
	}
	return show(cmd, h, func(w io.Writer, _ int) {
		_ = writeDocument(w, d, f.full)
		if f.file != "" {
			fmt.Fprintf(w, "\nwritten: %s\n", f.file)
		}
	})
}
