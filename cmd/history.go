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

// run reads the folder, and writes the history in each form that the flags name.
func (f *historyFlags) run(cmd *cobra.Command, dir string) error {
	out := cmd.OutOrStdout()
	if asJSON(cmd) && f.file == "-" {
		return usagef("--json and -o - both write to standard output: leave one out")
	}
	h, err := f.read(dir)
	if err != nil {
		return err
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

// read makes the history of a folder. A figure that no run has is an error.
func (f *historyFlags) read(dir string) (*history.History, error) {
	var selected history.Selection
	if len(f.metrics) > 0 {
		var err error
		if selected, err = compare.ParseGates(strings.Join(f.metrics, ",")); err != nil {
			return nil, usagef("--metric %w", err)
		}
	}
	runs, skipped, err := history.Read(dir)
	if err != nil {
		return nil, missing(err)
	}
	h := history.Make(dir, runs, skipped, selected)
	if len(runs) == 0 {
		err := fmt.Errorf("%s contains no results of complete runs", dir)
		if len(skipped) > 0 {
			err = fmt.Errorf("%w; %d folders skipped, first %s: %s", err, len(skipped), skipped[0].Folder, skipped[0].Why)
		}
		return nil, usage(err)
	}
	if len(selected) > 0 && !slices.ContainsFunc(h.Series, func(s history.Series) bool { return len(s.Figures) > 0 }) {
		return nil, usagef("--metric %s: no run in %s has this metric in a phase with the verdict ok",
			strings.Join(f.metrics, ","), dir)
	}
	return h, nil
}
