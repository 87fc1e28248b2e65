package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
		Long: `Compare two runs, or two builds. BASE and NEW are folders of results, or folders
that contain such folders, whose trials are then put together. Each metric is
worse, better, the same or inconclusive: latency of the whole load and of each
operation, throughput of closed loops, errors, requests, rows and bytes.

Latency needs trials: run both with --trials 10. With fewer than 4 trials all
latencies are inconclusive. Requests, rows and bytes need one trial.
docs/internals/comparing.md lists the error rates.

--fail-over names the metrics that fail the comparison, and their limits, as
[MODEL/[ENGINE/]][STREAM:][OP.]METRIC[:LIMIT] with * for any name. Metrics are
p50, p99, p99.9, rate, max-rate, errors, calls, attempts, examined (rows
scanned), rows and bytes. If a phase runs several streams, each stream has its
own metrics. An entry without STREAM: is for the phase and all of its streams.
Without --fail-over any metric fails the comparison: p50, rate, attempts,
examined, rows and bytes over 5%, p99 and max-rate (of --find-max) over 10%,
p99.9 over 20%, errors over 0.1% of the operations, and calls with any
difference. Counters of an invalid trial fail nothing, unless one client did
all.

Runs that differ in workload, seed, schema, engine, machine or settings are
refused. The exit status is 3 if a metric is worse, or if a phase is ok in BASE
and failed, overloaded or empty in NEW.

--run makes the runs, interleaved: the commands --base and --new run that
workload with one trial each per turn, base new, new base and so on, so both see
the same changes of the machine. If a metric is worse, another round must
confirm it before it is a regression. Turn N is in base/N and new/N below -o,
and the other round in confirm. Commands are split into words as by a shell,
with quotes and \, but no shell runs them: a program, such as bin/mailbench, or
one with words before and after it, such as "taskset -c 0-3 bin/mailbench run -m
james". The word run is added where it is missing. Flags of run may also follow
the workload, for both. Schemas and versions of engines belong to a build: if
they differ, a note says so. Two configurations differ in more than the build,
so they need --force.`,
		Example: `  mailbench compare results/base results/new
  mailbench compare results/base results/new --fail-over 'list.p99:10%,calls'
  mailbench compare results/base results/new --fail-over 'james/*.p50:3%'
  mailbench compare results/base results/new --fail-over readers:list.p99
  mailbench compare results/base results/new --format markdown
  mailbench compare results/base results/new --format html >compare.html
  mailbench compare --run mine.yaml --base bin/mailbench-old --new bin/mailbench
  mailbench compare --run 'quick -m james' --base bin/old --new bin/new \
    --trials 20 -o results/ab
  mailbench compare --run quick --force --base 'bin/mailbench run -m james' \
    --new 'bin/mailbench run -m james --set engines.embedded.compression=zstd'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd.Flags(), args); err != nil {
				return err
			}
			if f.workload != "" {
				return f.inTurns(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			if len(args) != 2 {
				return usagef("expected two folders of results, BASE and NEW; see \"mailbench compare --help\"")
			}
			c, err := f.compare(args[0], args[1])
			if err != nil {
				return err
			}
			return f.tell(cmd.OutOrStdout(), c)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	bindList(flags, &f.failOver, "fail-over", "",
		"fail if one of the `METRICS` is worse, such as 'list.p99:10%,calls' (default: if any is)")
	flags.BoolVar(&f.force, "force", false, "compare runs that differ in more than the build, and trials that are not ok")
	flags.BoolVar(&f.all, "all", false, "also show metrics that are the same or inconclusive")
	flags.Var(oneOf[string]{&f.format, compareFormats, "format"}, "format",
		"`FORMAT` of the report: text, json, markdown or html")
	bindJSON(cmd, &f.asJSON)
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

// check refuses flags that do not fit each other, before anything runs.
func (f *compareFlags) check(flags *pflag.FlagSet, args []string) (err error) {
	if f.format, err = formatOf(flags, f.format, f.asJSON); err != nil {
		return err
	}
	if f.gates, err = compare.ParseGates(cmp.Or(strings.Join(f.failOver, ","), compare.DefaultGates)); err != nil {
		return usagef("--fail-over %w", err)
	}
	if f.workload == "" {
		for _, name := range []string{"run", baseSide, newSide, "trials", "output", "quiet"} {
			if flags.Changed(name) {
				return usagef("--%s needs --run: name the workload to run with both builds", name)
			}
		}
		return nil
	}
	switch {
	case len(args) > 0:
		return usagef("--run creates the results to compare: leave %q out, or leave --run out", strings.Join(args, " "))
	case f.base == "" || f.new == "":
		return usagef("--run needs the commands of both sides, --base and --new")
	}
	return nil
}

// defaultTurns is how many turns find a slow-down of 10% on a machine that does nothing else.
const defaultTurns = 10

// compareFlags are the flags of compare as they were given.
type compareFlags struct {
	failOver           []string
	gates              []compare.Gate // of failOver
	format             string
	asJSON             bool
	force, all, noFail bool

	// Flags for runs that compare makes.
	workload, base, new string
	turns               int
	output              string
	quiet               bool
}

var compareFormats = []string{"text", "json", "markdown", "html"}

// compare reads two folders and compares them.
func (f *compareFlags) compare(base, new string) (*compare.Comparison, error) {
	b, err := openSide(base)
	if err != nil {
		return nil, err
	}
	n, err := openSide(new)
	if err != nil {
		return nil, err
	}
	c, err := compare.Runs(b, n, compare.Options{Gates: f.gates, Force: f.force, Builds: f.workload != ""})
	if err != nil {
		return nil, usage(err)
	}
	return c, nil
}

// tell prints a comparison. A regression is an error.
func (f *compareFlags) tell(out io.Writer, c *compare.Comparison) error {
	if err := f.write(out, c); err != nil {
		return fmt.Errorf("print the comparison: %w", err)
	}
	if len(c.Regressions) > 0 && !f.noFail {
		err := fmt.Errorf("%s is worse than %s: %s", c.New.Name, c.Base.Name, c.Regressions[0])
		if more := len(c.Regressions) - 1; more > 0 {
			err = fmt.Errorf("%w (and %d more, in the report)", err, more)
		}
		return statusError{exitBroken, err}
	}
	return nil
}

func (f *compareFlags) write(out io.Writer, c *compare.Comparison) error {
	switch f.format {
	case "json":
		return printJSON(out, c)
	case "markdown":
		return document.WriteMarkdown(out, c.Document())
	case "html":
		return page.Document(out, c.Document())
	}
	return document.Terminal{Width: width(out), Full: f.all}.Write(out, c.Document())
}

// openSide reads a folder of results, or all folders of results in a folder.
func openSide(dir string) (compare.Side, error) {
	side := compare.Side{Name: dir}
	folders := []string{dir}
	if _, err := os.Stat(filepath.Join(dir, results.RunFile)); errors.Is(err, os.ErrNotExist) {
		if inside, _ := filepath.Glob(filepath.Join(dir, "*", results.RunFile)); len(inside) > 0 {
			folders = nil
			for _, name := range inside {
				folders = append(folders, filepath.Dir(name))
			}
		}
	}
	for _, folder := range folders {
		r, err := results.Open(folder)
		if err != nil {
			return side, usage(err)
		}
		side.Runs = append(side.Runs, r)
	}
	return side, nil
}
