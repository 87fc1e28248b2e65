package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/page"
	"github.com/mailbench/mailbench/workloads/results"
)

func newCompare() *cobra.Command {
	f := compareFlags{turns: defaultTurns, format: compareFormats[0]}
	cmd := &cobra.Command{
		Use:   "compare [BASE NEW]",
		Short: "Compare two runs or two builds, and find regressions",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.run(cmd, args)
			if err != nil {
				return err
			}
			return f.print(cmd.OutOrStdout(), c)
		},
	}
	flags := cmd.Flags()
	bindList(flags, &f.thresholds, "threshold", "",
		"fail if one of the `METRICS` is worse, such as 'list.p99:10%,requests' (default: if any is)")
	flags.BoolVar(&f.force, "force", false, "compare runs that differ in more than the build, and trials that are not ok")
	flags.BoolVar(&f.all, "all", false, "also show metrics that are unchanged or inconclusive")
	flags.Var(oneOf(&f.format, compareFormats, "format"), "format",
		"`FORMAT` of the report: text, json, markdown or html")
	bindJSON(flags, "print JSON")
	flags.BoolVar(&f.noFail, "no-fail", false, "exit with 0 even if a metric is worse")
	flags.StringVar(&f.workload, "run", "", "run `WORKLOAD` with both commands, interleaved, and compare; flags of "+
		"run may follow it, such as 'quick -m james'")
	flags.StringVar(&f.base, baseSide, "", "`COMMAND` of the base build or configuration, with --run")
	flags.StringVar(&f.new, newSide, "", "`COMMAND` of the new one")
	flags.Var(whole(&f.turns, 1, mostTrials), "trials",
		fmt.Sprintf("take `N` turns (1 to %d), one trial of each side", mostTrials))
	flags.StringVarP(&f.output, "output", "o", "",
		"write the results of all turns below `DIR` (default results/compare-TIME)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress")
	return cmd
}

// defaultTurns is how many turns find a slow-down of 10% on a machine that does nothing else.
const defaultTurns = 10

// compareFlags are the flags of compare as they were given.
type compareFlags struct {
	thresholds         []string
	gates              []compare.Gate // of thresholds
	format             string
	force, all, noFail bool

	// Flags for runs that compare makes.
	workload, base, new string
	turns               int
	output              string
	quiet               bool
}

var compareFormats = []string{"text", "json", "markdown", "html"}

// run compares what the arguments name, or makes the runs of --run and compares those.
func (f *compareFlags) run(cmd *cobra.Command, args []string) (c *compare.Comparison, err error) {
	if f.format, err = formatOf(cmd, f.format); err != nil {
		return nil, err
	}
	if f.gates, err = compare.ParseGates(cmp.Or(strings.Join(f.thresholds, ","), compare.DefaultGates)); err != nil {
		return nil, usagef("--threshold %w", err)
	}
	if err := belong(cmd.Flags(), "run", f.workload != "", baseSide, newSide, "trials", "output", "quiet"); err != nil {
		return nil, err
	}
	switch {
	case f.workload == "" && len(args) != 2:
		return nil, usagef("expected two folders of results, BASE and NEW; see \"mailbench compare --help\"")
	case f.workload == "":
		return f.compare(args[0], args[1])
	case len(args) > 0:
		return nil, usagef("--run creates the results to compare: leave %q out, or leave --run out", strings.Join(args, " "))
	case f.base == "" || f.new == "":
		return nil, usagef("--run needs the commands of both sides, --base and --new")
	}
	return f.inTurns(cmd.Context(), cmd.ErrOrStderr())
}

// compare reads two folders and compares them.
func (f *compareFlags) compare(base, new string) (*compare.Comparison, error) {
	var sides [2]compare.Side
	var saved string
	for i, dir := range []string{base, new} {
		side, first, err := openSide(dir)
		if err != nil {
			return nil, usage(err)
		}
		sides[i], saved = side, first
	}
	c, err := compare.Runs(sides[0], sides[1], compare.Options{
		Gates: f.gates, Force: f.force, NoFail: f.noFail, Saved: saved,
		Turns: compare.Turns{Workload: f.workload, Base: f.base, New: f.new},
	})
	return c, usage(err)
}

// print prints a comparison. A regression is an error.
func (f *compareFlags) print(out io.Writer, c *compare.Comparison) (err error) {
	switch f.format {
	case "json":
		err = printJSON(out, c)
	case "markdown":
		err = document.WriteMarkdown(out, c.Document())
	case "html":
		err = page.Document(out, c.Document())
	default:
		err = writeDocument(out, c.Document(), f.all)
	}
	if err != nil {
		return fmt.Errorf("print the comparison: %w", err)
	}
	if len(c.Regressions) == 0 || f.noFail {
		return nil
	}
	err = fmt.Errorf("%s is worse than %s: %s", c.New.Name, c.Base.Name, c.Regressions[0])
	if more := len(c.Regressions) - 1; more > 0 {
		err = fmt.Errorf("%w (and %d more, in the report)", err, more)
	}
	return statusError{exitBroken, err}
}

// openSide reads a folder of results, or all folders of results in a folder. It returns the first of them, too.
func openSide(dir string) (side compare.Side, first string, err error) {
	side.Name = dir
	folders := []string{dir}
	if _, err := os.Stat(filepath.Join(dir, results.RunFile)); errors.Is(err, os.ErrNotExist) {
		if inside, _ := fs.Glob(os.DirFS(dir), "*/"+results.RunFile); len(inside) > 0 {
			folders = inside
			for i, name := range inside {
				folders[i] = filepath.Join(dir, filepath.Dir(name))
			}
		}
	}
	for _, folder := range folders {
		r, err := results.Open(folder)
		if err != nil {
			return side, "", err
		}
		side.Runs = append(side.Runs, r)
	}
	return side, folders[0], nil
}
