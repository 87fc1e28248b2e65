package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/compare"
)

// compareFlags are the flags of compare as they were given.
type compareFlags struct {
	failOver           []string
	format             string
	force, all, noFail bool
}

func newCompare() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare BASE NEW",
		Short: "Tell whether a run is slower than another, or asks for more",
		Long: `Compare two runs. BASE and NEW are folders of results, or folders that hold such
folders, whose trials are then put together. For each operation the percentiles
of everything that was due, the throughput of closed loops, errors, and the
store's calls, rows and bytes are worse, better, the same, or cannot be told.

Trials are what times are judged by: run both with --trials 10. With fewer than
4 no time can be told. What is counted needs one trial. docs/compare.md says how
sure the verdicts are.

--fail-over names the figures that fail the comparison and from which
difference on, as [MODEL/[ENGINE/]][OP.]FIGURE[:LIMIT] with * for any name.
Figures are p50, p99, p99.9, rate, errors, calls, rows and bytes. Without it
each of them fails, p50, rate, rows and bytes over 5%, p99 over 10%, p99.9 over
20%, errors over 0.1% of the operations, and calls with any difference.

Runs that differ in workload, seed, schema, engine, machine or settings are
refused. The exit status is 3 if a figure is worse, or if a phase is ok in BASE
and failed, overloaded or empty in NEW.`,
		Example: `  mailbench compare results/base results/new
  mailbench compare results/base results/new --fail-over 'list.p99:10%,calls'
  mailbench compare results/base results/new --fail-over 'james/*.p50:3%'
  mailbench compare results/base results/new --format markdown`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("compare takes two folders of results, BASE and NEW; see \"mailbench compare --help\"")
			}
			return f.run(cmd.OutOrStdout(), args[0], args[1])
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&f.failOver, "fail-over", nil, "fail if one of the `FIGURES` is worse, such as 'list.p99:10%,calls'\n(default: if any is)")
	flags.BoolVar(&f.force, "force", false, "compare runs that differ in more than the build, and trials that are not ok")
	flags.BoolVar(&f.all, "all", false, "also show figures that are the same or cannot be told")
	flags.StringVar(&f.format, "format", "text", "`FORMAT` of the report: text, json or markdown")
	completeFlags(cmd, map[string][]string{"format": compareFormats})
	flags.BoolVar(&f.noFail, "no-fail", false, "exit with 0 even if a figure is worse")
	return cmd
}

var compareFormats = []string{"text", "json", "markdown"}

// run compares two folders and prints what came of it.
func (f *compareFlags) run(out io.Writer, base, new string) error {
	if !slices.Contains(compareFormats, f.format) {
		return usage(unknown("format", f.format, compareFormats))
	}
	gates, err := f.gates()
	if err != nil {
		return err
	}
	b, err := openSide(base)
	if err != nil {
		return err
	}
	n, err := openSide(new)
	if err != nil {
		return err
	}
	c, err := compare.Runs(b, n, compare.Options{Gates: gates, Force: f.force})
	if err != nil {
		return usage(err)
	}
	if err := f.write(out, c); err != nil {
		return fmt.Errorf("print the comparison: %w", err)
	}
	if len(c.Regressions) > 0 && !f.noFail {
		err := fmt.Errorf("%s is worse than %s: %s", new, base, c.Regressions[0])
		if more := len(c.Regressions) - 1; more > 0 {
			err = fmt.Errorf("%w (and %d more, in the report)", err, more)
		}
		return statusError{exitBroken, err}
	}
	return nil
}

func (f *compareFlags) gates() ([]compare.Gate, error) {
	text := compare.DefaultGates
	if len(f.failOver) > 0 {
		text = strings.Join(f.failOver, ",")
	}
	gates, err := compare.ParseGates(text)
	if err != nil {
		return nil, usagef("--fail-over %w", err)
	}
	return gates, nil
}

func (f *compareFlags) write(out io.Writer, c *compare.Comparison) error {
	switch f.format {
	case "json":
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(c)
	case "markdown":
		return c.WriteMarkdown(out)
	}
	return c.WriteText(out, width(out), f.all)
}

// openSide reads a folder of results, or all folders of results in a folder.
func openSide(dir string) (compare.Side, error) {
	side := compare.Side{Name: dir}
	folders := []string{dir}
	if _, err := os.Stat(filepath.Join(dir, reports.RunFile)); errors.Is(err, os.ErrNotExist) {
		if inside, _ := filepath.Glob(filepath.Join(dir, "*", reports.RunFile)); len(inside) > 0 {
			folders = nil
			for _, name := range inside {
				folders = append(folders, filepath.Dir(name))
			}
		}
	}
	for _, folder := range folders {
		r, err := reports.Open(folder)
		if err != nil {
			return side, usage(err)
		}
		side.Runs = append(side.Runs, r)
	}
	return side, nil
}
