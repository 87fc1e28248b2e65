package cmd

import (
	"cmp"
	"errors"
	"fmt"
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
		RunE:  f.run,
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

// run compares what the arguments name, or makes the runs of --run and compares those. It prints the comparison. A
// regression is an error.
func (f *compareFlags) run(cmd *cobra.Command, args []string) (err error) {
	if f.format, err = formatOf(cmd, f.format); err != nil {
		return err
	}
	if f.gates, err = compare.ParseGates(cmp.Or(strings.Join(f.thresholds, ","), compare.DefaultGates)); err != nil {
		return usagef("--threshold %w", err)
	}
	if err := belong(cmd.Flags(), "run", f.workload != "", baseSide, newSide, "trials", "output", "quiet"); err != nil {
		return err
	}
	var c *compare.Comparison
	switch {
	case f.workload == "" && len(args) != 2:
		return usagef("expected two folders of results, BASE and NEW; see \"mailbench compare --help\"")
	case f.workload == "":
		c, err = f.compare(args[0], args[1])
	case len(args) > 0:
		return usagef("--run creates the results to compare: leave %q out, or leave --run out", strings.Join(args, " "))
	case f.base == "" || f.new == "":
		return usagef("--run needs the commands of both sides, --base and --new")
	default:
		c, err = f.inTurns(cmd.Context(), cmd.ErrOrStderr())
	}
	if err != nil {
		return err
	}
	switch out := cmd.OutOrStdout(); f.format {
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

// compare reads two folders, each of one run or of several in folders of their own, and compares them.
func (f *compareFlags) compare(base, new string) (*compare.Comparison, error) {
	o := compare.Options{
		Gates: f.gates, Force: f.force, NoFail: f.noFail,
		Turns: compare.Turns{Workload: f.workload, Base: f.base, New: f.new},
	}
	var sides [2]compare.Side
	for i, dir := range []string{base, new} {
		folders := []string{dir}
		if _, err := os.Stat(filepath.Join(dir, results.RunFile)); errors.Is(err, os.ErrNotExist) {
			if inside, _ := fs.Glob(os.DirFS(dir), "*/"+results.RunFile); len(inside) > 0 {
				folders = mapped(inside, func(name string) string { return filepath.Join(dir, filepath.Dir(name)) })
			}
		}
		sides[i].Name, o.Saved = dir, folders[0]
		for _, folder := range folders {
			r, err := results.Open(folder)
			if err != nil {
				return nil, usage(err)
			}
			sides[i].Runs = append(sides[i].Runs, r)
		}
	}
	c, err := compare.Runs(sides[0], sides[1], o)
	return c, usage(err)
}
