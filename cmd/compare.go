package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/reports/document"
	"github.com/mailbench/mailbench/reports/page"
	"github.com/mailbench/mailbench/reports/screen"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
)

func newCompare() *cobra.Command {
	// 10 turns find a slow-down of 10% on a machine that does nothing else.
	f := compareFlags{trials: 10, format: compareFormats[0]}
	cmd := command("compare [BASE NEW]", cobra.ArbitraryArgs, f.run)
	cmd.ValidArgsFunction = completeDirs
	flags := cmd.Flags()
	bindList(flags, &f.thresholds, "threshold", "",
		"fail if one of the `METRICS` is worse, such as 'list.p99:10%,requests' (default: if any is)")
	flags.BoolVar(&f.Force, "force", false, "compare runs that differ in more than the build, and trials that are not ok")
	flags.BoolVar(&f.all, "all", false, "also show metrics that are unchanged or inconclusive")
	flags.Var(oneOf(&f.format, compareFormats, "format"), "format",
		"`FORMAT` of the report: text, json, markdown or html")
	bindJSON(flags, "print JSON")
	flags.BoolVar(&f.noFail, "no-fail", false, "exit with 0 even if a metric is worse")
	flags.StringVar(&f.workload, "run", "", "run `WORKLOAD` with both commands, interleaved, and compare; flags of "+
		"run may follow it, such as 'quick -m james'")
	flags.StringVar(&f.base, baseSide, "", "`COMMAND` of the base build or configuration, with --run")
	flags.StringVar(&f.new, newSide, "", "`COMMAND` of the new one")
	flags.Var(whole(&f.trials, 1, mostTrials), "trials",
		fmt.Sprintf("take `N` turns (1 to %d), one trial of each side", mostTrials))
	flags.StringVarP(&f.output, "output", "o", "",
		"write the results of all turns below `DIR` (default results/compare-TIME)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress")
	return cmd
}

// compareFlags are the flags of compare as they were given.
type compareFlags struct {
	compare.Options // with the gates of thresholds
	thresholds      []string
	format          string
	all, noFail     bool

	// Flags for runs that compare makes.
	workload, base, new string

	trials int
	output string
	quiet  bool
}

var compareFormats = []string{"text", "json", "markdown", "html"}

// run compares what the arguments name, or makes the runs of --run and compares those. It prints the comparison. A
// regression is an error.
func (f *compareFlags) run(cmd *cobra.Command, args []string) (err error) {
	if f.format, err = formatOf(cmd, f.format); err != nil {
		return err
	}
	if f.Gates, err = compare.ParseGates(cmp.Or(strings.Join(f.thresholds, ","), compare.DefaultGates)); err != nil {
		return usagef("--threshold %w", err)
	}
	f.Builds = f.workload != ""
	var c *compare.Comparison
	switch {
	case !f.Builds && len(args) != 2:
		return usagef("expected two folders of results, BASE and NEW; see \"mailbench compare --help\"")
	case !f.Builds:
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
		err = screen.Document(out, c.Document(), f.all)
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
	var sides [2]compare.Side
	for i, dir := range []string{base, new} {
		folders := []string{dir}
		if _, err := os.Stat(filepath.Join(dir, results.RunFile)); errors.Is(err, os.ErrNotExist) {
			if inside, _ := fs.Glob(os.DirFS(dir), "*/"+results.RunFile); len(inside) > 0 {
				folders = mapped(inside, func(name string) string { return filepath.Join(dir, filepath.Dir(name)) })
			}
		}
		sides[i].Name, sides[i].Folder = dir, folders[0]
		for _, folder := range folders {
			r, err := results.Open(folder)
			if err != nil {
				return nil, usage(err)
			}
			sides[i].Runs = append(sides[i].Runs, r)
		}
	}
	c, err := compare.Runs(sides[0], sides[1], f.Options)
	return c, usage(err)
}

// The names of the sides of compare --run, of their flags and of their folders.
const (
	baseSide = "base"
	newSide  = "new"
)

// inTurns runs two builds of mailbench interleaved, and compares them: base new, new base, base new and so on, one
// trial of each a turn, so that changes of the machine are the same for both. A regression counts only if a second
// round finds it too. The command of a side is the user's words, "run" if it is missing, and the arguments that all
// runs share.
func (f *compareFlags) inTurns(ctx context.Context, errs io.Writer) (*compare.Comparison, error) {
	dir := cmp.Or(f.output, filepath.Join(resultsDir, "compare-"+time.Now().Format("20060102-150405.000")))
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, usagef("%s is not empty: remove it, or choose another folder with -o", dir)
	}
	var shared []string
	commands := map[string][]string{}
	for _, flag := range [][2]string{{"run", f.workload}, {baseSide, f.base}, {newSide, f.new}} {
		line, err := shellquote.Split(flag[1])
		switch {
		case err != nil:
			return nil, usagef("--%s %q: a quote is not closed, or nothing follows a \\", flag[0], flag[1])
		case flag[0] == "run":
			shared = line
			continue
		case len(line) == 0:
			return nil, usagef("--%s is empty: expected a command such as bin/mailbench", flag[0])
		}
		if _, err := exec.LookPath(line[0]); err != nil {
			return nil, usagef("--%s %q: %w", flag[0], strings.Join(line, " "), err)
		}
		if !slices.Contains(line, "run") {
			line = append(line, "run")
		}
		commands[flag[0]] = slices.Concat(line, shared, []string{"--trials", "1", "--no-overhead", "--quiet"})
	}
	bar := screen.NewBar(errs, f.quiet)
	first, err := f.round(ctx, &bar, commands, dir, "")
	if err != nil || len(first.Regressions) == 0 {
		return first, err
	}
	if !f.quiet {
		fmt.Fprintf(errs, "%s, such as %s; another round must confirm that\n",
			words.Plural(len(first.Regressions), "regression"), first.Regressions[0])
	}
	c, err := f.round(ctx, &bar, commands, filepath.Join(dir, "confirm"), "confirm, ")
	if err != nil {
		return nil, fmt.Errorf("%w; to see the unconfirmed regression, run: %s", err, compareCommand(dir))
	}
	c.Confirm(first)
	return c, nil
}

func compareCommand(dir string) string {
	return "mailbench compare " + filepath.Join(dir, baseSide) + " " + filepath.Join(dir, newSide)
}

// round makes all turns of a round and compares them. The results of turn N are in base/N and new/N below dir; those
// of the turn in progress are in the folder unfinished, so that the turns before it can be compared. It also compares
// after the first turn, so that runs that cannot be compared do not go on for an hour.
func (f *compareFlags) round(
	ctx context.Context, bar *screen.Bar, commands map[string][]string, dir, name string,
) (c *compare.Comparison, err error) {
	defer bar.Close()
	unfinished := filepath.Join(dir, "unfinished")
	for turn := 1; turn <= f.trials; turn++ {
		order := []string{baseSide, newSide}
		if turn%2 == 0 {
			slices.Reverse(order)
		}
		for _, side := range order {
			label := fmt.Sprintf("%sturn %d of %d: %s", name, turn, f.trials, side)
			if bar.Show(label); !f.quiet && !bar.Terminal {
				fmt.Fprintln(bar.Out, label)
			}
			if err = runOne(ctx, commands[side], filepath.Join(unfinished, side)); err == nil {
				continue
			}
			if err = fmt.Errorf("%s: %w", label, err); ctx.Err() != nil {
				err = statusError{exitInterrupted, fmt.Errorf("interrupted in %s", label)}
			}
			if turn > 1 {
				err = fmt.Errorf("%w; this compares the %s before it: %s", err, words.Plural(turn-1, "turn"), compareCommand(dir))
			}
			return nil, err
		}
		for _, side := range order {
			whole := filepath.Join(dir, side, strconv.Itoa(turn))
			err = cmp.Or(err, os.MkdirAll(filepath.Dir(whole), 0o755), os.Rename(filepath.Join(unfinished, side), whole))
		}
		if err = cmp.Or(err, os.Remove(unfinished)); err != nil {
			return nil, err
		}
		if turn == 1 || turn == f.trials {
			if c, err = f.compare(filepath.Join(dir, baseSide), filepath.Join(dir, newSide)); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// runOne makes one run. It passes an interrupt of this process on to the run,
// which then saves what it measured. A run of which a phase failed, or cannot be used, is compared all the same,
// if it has results: the comparison says so.
func runOne(ctx context.Context, command []string, dir string) error {
	var errs bytes.Buffer
	line := slices.Concat(command, []string{"--output", dir})
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Stderr = &errs
	// Ctrl-C in the terminal goes to this process alone, so that the run gets it only once.
	ownGroup(cmd)
	cmd.WaitDelay = time.Minute
	err := cmd.Run()
	status := cmd.ProcessState.ExitCode() // -1: it did not start
	_, missing := os.Stat(filepath.Join(dir, results.RunFile))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && (status != exitFailed && status != exitBroken || missing != nil):
		last := strings.TrimSpace(errs.String())
		last = strings.TrimPrefix(last[strings.LastIndexByte(last, '\n')+1:], "mailbench: ")
		err = fmt.Errorf("%w: %s", err, cmp.Or(last, "it printed no error"))
		if status == exitUsage || status == exitData || status == exitInterrupted { // it says what is wrong
			err = statusError{status, err}
		}
		return err
	case missing != nil:
		return fmt.Errorf("there are no results in %s: is %q a mailbench?", dir, line[0])
	}
	return nil
}
