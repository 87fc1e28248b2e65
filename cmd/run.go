package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/metrics"
	"github.com/mailbench/mailbench/reports/page"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/reports/screen"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/replay"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/run"
)

func newRun(known registry) *cobra.Command {
	f := runFlags{c: run.Config{MaxWait: run.DefaultMaxWait}, mailLimit: defaultMail}
	cmd := command("run [WORKLOAD|FILE.yaml]", func(cmd *cobra.Command, args []string) error {
		if err := misplaced(known, args); err != nil {
			return err
		}
		if len(args) == 2 && isFile(args[0]) && isFile(args[1]) {
			return usagef("%s %s: one file is the workload; name the schema with --schema FILE", args[0], args[1])
		}
		return cobra.MaximumNArgs(1)(cmd, args)
	}, func(cmd *cobra.Command, args []string) error {
		return f.run(cmd, known, args)
	})
	f.bind(cmd.Flags())
	completeRun(cmd, known)
	return cmd
}

// createDir begins a run directory, with the reports that it contains next to the results, which rank by a metric.
func createDir(path string, by ranking.Metric) (*results.Dir, error) {
	if path == "-" {
		return nil, usagef("--output -: results are a folder; name it, or print run.json with --json")
	}
	dir, err := results.Create(path,
		results.Report{Name: reports.BenchFile, Write: func(w io.Writer, _ string, r *results.Run) error {
			return reports.WriteBench(w, r)
		}},
		results.Report{Name: page.HTMLFile, Write: func(w io.Writer, name string, r *results.Run) error {
			return page.Write(w, page.Source{Name: name, Run: r, By: by})
		}})
	if errors.Is(err, results.ErrTaken) {
		return nil, usage(err)
	} else if err != nil {
		return nil, missing(fmt.Errorf("%w; name a folder that you may write with --output DIR (-o)", err))
	}
	return dir, nil
}

// misplaced returns an error for arguments that are models, engines or results, and no workload: "-m james datastax".
func misplaced(known registry, args []string) error {
	for _, arg := range args {
		if slices.Contains(workloads.BundledNames(), arg) {
			continue
		}
		dir := cmp.Or(strings.TrimSuffix(arg, results.RunFile), ".")
		if _, err := os.Stat(filepath.Join(dir, results.RunFile)); err == nil {
			return usagef("%s has the results of a run, and is no workload: repeat that run with --from %s", arg, dir)
		}
		switch name := strings.Trim(arg, ", "); {
		case slices.Contains(known.engineNames(), name):
			return usagef("%s is no workload: name engines with --engine, separated by commas: --engine %s", name, name)
		case slices.Contains(known.modelNames(), name):
			return usagef("%s is no workload: name models with --model, separated by commas: --model %s", name, name)
		case slices.ContainsFunc(audits, func(a run.AuditMode) bool { return a.String() == name }):
			return usagef("%s is no workload: write --verify=%s", name, name)
		}
	}
	return nil
}

// run executes the command. It checks all input before the first operation.
func (f *runFlags) run(cmd *cobra.Command, known registry, args []string) error {
	name := results.DefaultWorkload
	if len(args) == 1 {
		name = args[0]
	}
	known, was, err := f.repeat(known, cmd.Flags(), args)
	if err != nil {
		return err
	}
	if was != nil { // the run that is repeated may have what these flags belong to
		of := map[string]bool{"max-mail-size": f.mail != ""}
		for _, name := range []string{"from-rate", "max-rate", "step-time", "precision"} {
			of[name] = f.findMax.on
		}
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if cmd.Flags().Changed(name) && !of[name] {
				return usagef("--%s does nothing: the run in %s has no such search or mail file; leave it out", name, f.from)
			}
		}
	}
	if known, err = f.ofSchema(cmd, known, args, was); err != nil {
		return err
	}
	if f.prove && len(f.text) == 0 {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "lint warns of nothing that growth of rows could show")
		return err
	}
	f.chosen = cmd.Flags().Changed("model") || was != nil
	c, err := f.config(known, name)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("cache") && !slices.Contains(namesOf(c.Engines), "embedded") {
		return usagef("--cache is for the embedded engine, and the run is on %s: leave it out",
			strings.Join(namesOf(c.Engines), ", "))
	}
	err = f.check(cmd, c, name)
	if c.Mail != nil {
		defer c.Mail.Close()
	}
	if err != nil {
		return err
	}
	if f.dryRun {
		plan, refused := run.DryRun(cmd.Context(), *c)
		if plan != nil {
			refused = cmp.Or(show(cmd, plan, func(w io.Writer, _ int) { plan.WriteText(w) }), refused)
		}
		return f.notBegun(refused)
	}
	return f.measure(cmd, c)
}

// measure runs the configuration, and saves and prints the results.
func (f *runFlags) measure(cmd *cobra.Command, c *run.Config) error {
	errs := cmd.ErrOrStderr()
	dir, err := createDir(f.outputDir(c.Workload.Name), f.view.by)
	if err != nil {
		return err
	}
	if !f.quiet {
		there, _ := leftovers(resultsDir) // an error is no reason to end a run
		var bytes int64
		for _, l := range there {
			bytes += l.Bytes
		}
		if len(there) > 0 {
			fmt.Fprintf(errs, "%s of killed runs (%s): mailbench engine clean embedded --all\n",
				words.Plural(len(there), "leftover folder"), words.Size(float64(bytes)))
		}
	}
	c.LatencyLog, c.Command = dir.LatencyLog(), append([]string{"mailbench"}, os.Args[1:]...)
	bar := progress{Bar: screen.NewBar(errs, f.quiet)}
	c.Progress = bar.update
	if f.metrics != "" {
		m := metrics.New()
		at, stop, err := m.Serve(f.metrics)
		if err != nil {
			return errors.Join(err, dir.Abort())
		}
		defer stop()
		if !f.quiet {
			fmt.Fprintf(errs, "metrics: http://%s/metrics\n", at)
		}
		c.Observe = m.Add
		c.Progress = func(p run.Progress) {
			m.Progress(p.Done)
			bar.update(p)
		}
	}
	warned := false
	c.Save = func(soFar *results.Run) {
		if err := dir.Save(soFar); err != nil && !warned {
			bar.Close()
			fmt.Fprintf(errs, "mailbench: %v; the run goes on, and tries again at the end of each phase\n", err)
			warned = true
		}
	}
	result, err := run.Run(cmd.Context(), *c)
	bar.Close()
	if result == nil {
		return errors.Join(f.notBegun(err), dir.Abort())
	}
	return f.finish(cmd, dir, result, err)
}

// check opens the mail, and checks what the workload needs of it, of the schema and of the saved run.
func (f *runFlags) check(cmd *cobra.Command, c *run.Config, name string) (err error) {
	if err := c.Keyspace.Check(c.Workload, cmp.Or(f.textName, name)); err != nil {
		return usage(err)
	}
	if f.mail != "" {
		if c.Mail, err = openMail(cmd.Context(), cmd.ErrOrStderr(), f.mail, f.mailLimit, mailHint); err != nil {
			return err
		}
		sizes := func(h *workloads.How) bool { return h.Size != nil }
		if c.MailLimit = int64(f.mailLimit); workloads.SomeHow(c.Workload.Phases, workloads.Deliver, sizes) {
			return usagef("deliver: {size: …} cannot be combined with --mail; remove one of them")
		}
	}
	if err := c.Workload.NoFiles; err != nil && c.Mail == nil {
		return usage(err)
	} else if err != nil && c.Mail.Info().Files == 0 {
		return usagef("%w; no message of %s has one", err, f.mail)
	}
	return nil
}

// finish saves and prints the results, whatever went wrong. RunErr is what failed in the run
// besides measuring.
func (f *runFlags) finish(cmd *cobra.Command, dir *results.Dir, result *results.Run, runErr error) error {
	if f.prove && result.Sweep != nil {
		result.Findings = f.c.Keyspace.Findings(result.Config.Engines, result)
	}
	saveErr := cmp.Or(dir.Commit(result), runErr)
	out, notes := cmd.OutOrStdout(), cmd.OutOrStdout()
	var printErr error
	if asJSON(cmd) {
		notes = cmd.ErrOrStderr()
		printErr = results.WriteJSON(out, result)
	} else {
		printErr = printRun(out, result, f.view)
	}
	err := verdict(result, f.failOn)
	switch {
	case saveErr != nil && exitStatus(err) == exitData:
		err = fmt.Errorf("%w; and then: %w", err, saveErr)
	case saveErr != nil:
		err = saveErr
	}
	if printErr == nil {
		full := "mailbench report " + shellquote.Join(dir.Name) + " --full"
		files := fmt.Sprintf("(charts: %s); all tables: %s", page.HTMLFile, full)
		if saveErr != nil {
			files = "(not complete)"
		}
		_, printErr = fmt.Fprintf(notes, "Results: %s %s\n", dir.Name, files)
	}
	if printErr != nil && err == nil {
		// Not %w: execute is silent about a pipe without a reader.
		return fmt.Errorf("print the results, which are saved in %s: %v", dir.Name, printErr)
	}
	return err
}

// notBegun gives the error of a run that cannot begin the status of wrong input. Results that are repeated may name any
// file as a trace: its text is not shown.
func (f *runFlags) notBegun(err error) error {
	if line := (*replay.LineError)(nil); f.from != "" && errors.As(err, &line) {
		return usagef("%s:%d: not a line of a trace that can be replayed (a run of a workload with it, without --from, says why)",
			line.File, line.Line)
	}
	if errors.Is(err, run.ErrDisk) {
		return usage(err)
	}
	return missing(err)
}

// config turns the flags into the runner's configuration.
func (f *runFlags) config(known registry, name string) (*run.Config, error) {
	var err error
	c := &f.c
	if c.Models, err = known.pickModels(f.models); err != nil {
		return nil, err
	}
	if c.Engines, err = pickEngines(f.engines, known.engines); err != nil {
		return nil, err
	}
	if c.FindMax, err = f.findMax.config(); err != nil {
		return nil, err
	}
	if err := f.parseSegment(); err != nil {
		return nil, err
	}
	// These are the processes of nodes at these addresses, if "engine up" started them in its usual folder here.
	c.Processes = func(engine string, contact []string) (processes []int) {
		if in, err := launch.Open(engine, ""); err == nil && in.Serves(contact) {
			for _, n := range in.Nodes() {
				if n.Running() {
					processes = append(processes, n.Process.PID)
				}
			}
		}
		return processes
	}
	more, err := contactOverride(c.Engines, f.contact)
	if err != nil {
		return nil, err
	}
	if f.sweep != "" {
		path, list, _ := strings.Cut(f.sweep, "=")
		for v := range strings.SplitSeq(list, ",") {
			if !sweepPath.MatchString(path) || !sweepValue.MatchString(strings.TrimSpace(v)) {
				return nil, usagef("--sweep %q: expected KEY=VALUE,VALUE,…, such as population.messages=100,1000,10000", f.sweep)
			}
		}
		more = append(more, "sweep={"+path+": ["+list+"]}")
	}
	c.Overrides = slices.Concat(f.set, f.seed, more)
	language := known.words()
	language.ExpectModels = known.modelNames()
	for _, m := range c.Models { // models may be variants from files
		language.ExpectModels = append(language.ExpectModels, m.Name)
	}
	if c.Workload, err = f.workload(language, name, more...); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(c.Engines, func(e drivers.Engine) bool { return e.Remote }) {
		c.Workload.UseRemoteRates()
	}
	if own := c.Workload.Answer.Models; len(own) > 0 && !f.chosen {
		if c.Models, err = known.pickModels(own); err != nil {
			return nil, err
		}
	}
	c.Trials = cmp.Or(c.Trials, c.UsualTrials())
	return c, usage(c.Check())
}

// outputDir is where the results go. The workload's name may come from others' results, so
// it must not act as a path.
func (f *runFlags) outputDir(workload string) string {
	if f.output != "" {
		return f.output
	}
	if f.c.Audit == run.AuditOnly {
		workload = "audit" // any workload may have made the data set
	}
	return filepath.Join(resultsDir, filepath.Base(workload)+"-"+time.Now().Format("20060102-150405.000"))
}

// failsDefault are the faults that make a run or a merge end with a status that is not 0, unless --fail-on says which:
// all but invalid, because an invalid phase is marked and not ranked, so the others can still be used.
var failsDefault = judge.FailOn[:6]

func bindFailOn(flags *pflag.FlagSet, on *[]string) {
	*on = failsDefault
	set := func(text string) (err error) {
		names := strings.Split(strings.ReplaceAll(text, " ", ""), ",")
		if *on = nil; text != "none" {
			*on, err = pick("fault", names, judge.FailOn, func(name string) string { return name })
		}
		return err
	}
	list := "of " + strings.Join(judge.FailOn, ", ") + "; or all, or none"
	get := func() string { return cmp.Or(strings.Join(*on, ","), "none") }
	flags.Var(&accepted{get: get, set: set}, "fail-on",
		"exit with 3, or 1 if a result failed, for these: `LIST` "+list)
}

// verdict is the error for a run's results: the worst of its faults, of those in on and those that always count.
func verdict(r *results.Run, on []string) error {
	fault, err := judge.Worst(r, on)
	switch fault {
	case "":
		return nil
	case judge.Lost:
		return statusError{exitData, err}
	case judge.Interrupted:
		return statusError{exitInterrupted, err}
	case judge.Incomplete, "failed":
		return statusError{exitFailed, err}
	}
	return statusError{exitBroken, err}
}
