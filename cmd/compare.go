package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/cmd/turns"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newCompare() *cobra.Command {
	f := compareFlags{turns: defaultTurns}
	cmd := &cobra.Command{
		Use:   "compare [BASE NEW]",
		Short: "Compare two runs: is the new one slower, or does it ask for more?",
		Long: `Compare two runs. BASE and NEW are folders of results, or folders that hold such
folders, whose trials are then put together. For each operation the percentiles
of everything that was due, the throughput of closed loops, errors, and the
store's calls, rows and bytes are worse, better, the same, or cannot be told.

Times are judged by trials: run both with --trials 10. With fewer than 4 no time
can be told, and no attempts: how often a request was sent, retries included,
which depends on the machine too. Calls, rows and bytes need one trial.
docs/compare.md says how sure the verdicts are.

--fail-over names the figures that fail the comparison, and the difference from
which on they fail it, as [MODEL/[ENGINE/]][STREAM:][OP.]FIGURE[:LIMIT] with *
for any name. Figures are p50, p99, p99.9, rate, max-rate, errors, calls,
attempts, examined (rows that the engine read, returned or not), rows and bytes.
If a phase runs several streams at once, each stream has figures of its own. An
entry without STREAM: is for the phase and all of its streams. Without
--fail-over any figure fails the comparison: p50, rate, attempts, examined, rows
and bytes over 5%, p99 and max-rate (of --find-max) over 10%, p99.9 over 20%,
errors over 0.1% of the operations, and calls with any difference. What an
invalid trial counted fails nothing, unless one client did all.

Runs that differ in workload, seed, schema, engine, machine or settings are
refused. The exit status is 3 if a figure is worse, or if a phase is ok in BASE
and failed, overloaded or empty in NEW.

--run makes the runs. The commands --base and --new run that workload in turns,
base new, new base and so on, one trial of each a turn, so that what changes in
the machine is the same for both. If a figure is worse, another round of turns
must confirm it before it is a regression. Turn N is in base/N and new/N below
-o, and the other round in confirm. Commands are split into words as by a
shell, with quotes and \, but no shell runs them: a program, such as
bin/mailbench, or one with words before and behind it, such as
"taskset -c 0-3 bin/mailbench run -m james". The word run is added where it is
missing. Flags of run may also follow the workload, for both. Schemas and
versions of engines belong to a build: if they differ, a note says so. Two
configurations differ in more than the build, so they need --force.`,
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
				return usagef("compare takes two folders of results, BASE and NEW; see \"mailbench compare --help\"")
			}
			return f.run(cmd.OutOrStdout(), args[0], args[1])
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	bindList(flags, &f.failOver, "fail-over", "",
		"fail if one of the `FIGURES` is worse, such as 'list.p99:10%,calls' (default: if any is)")
	flags.BoolVar(&f.force, "force", false, "compare runs that differ in more than the build, and trials that are not ok")
	flags.BoolVar(&f.all, "all", false, "also show figures that are the same or cannot be told")
	flags.StringVar(&f.format, "format", "text", "`FORMAT` of the report: text, json, markdown or html")
	completeFlags(cmd, map[string][]string{"format": compareFormats})
	bindJSON(cmd, &f.asJSON)
	flags.BoolVar(&f.noFail, "no-fail", false, "exit with 0 even if a figure is worse")
	flags.StringVar(&f.workload, "run", "", "run `WORKLOAD` with both commands, in turns, and compare that; flags of "+
		"run may follow it, such as 'quick -m james'")
	flags.StringVar(&f.base, turns.Base, "", "`COMMAND` of the base build or configuration, with --run")
	flags.StringVar(&f.new, turns.New, "", "`COMMAND` of the new one")
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
	if !slices.Contains(compareFormats, f.format) {
		return usage(unknown("format", f.format, compareFormats))
	}
	if f.workload == "" {
		for _, name := range []string{"run", turns.Base, turns.New, "trials", "output", "quiet"} {
			if flags.Changed(name) {
				return usagef("--%s is for runs that compare makes: name their workload with --run", name)
			}
		}
		return nil
	}
	switch {
	case len(args) > 0:
		return usagef("--run makes the runs that are compared: leave %q out, or leave --run out", strings.Join(args, " "))
	case f.base == "" || f.new == "":
		return usagef("--run takes the commands of both sides, --base and --new")
	}
	return nil
}
