package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/mail"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/run"
)

// runFlags are the flags of run as they were given.
type runFlags struct {
	models, engines []string
	set, contact    []string
	mail            string
	seed            uint64
	trials          int
	audit           string
	output, data    string
	durability      string
	cache           string
	workers         int
	maxLag          time.Duration
	noFloor, quiet  bool
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [WORKLOAD|FILE.yaml]",
		Short: "Run a workload: models × engines, measured and reported",
		Long: `Run a workload with each model on each engine. Without arguments: the bundled
workload quick, all models, the embedded engine, in well under a minute.

The results are a folder: run.json (everything, versioned), latency.hlog (HDR
interval log), bench.txt (for benchstat) and report.html. Ctrl-C ends a run and
saves what was measured so far.

Where an engine over the network is, and how it is used, stands in the workload's
section engines or is said here; "mailbench engines NAME" lists what there is to
say. What a run makes there has names of its own and is dropped at the end, unless
--data keeps it.

  mailbench run -e cassandra --contact 10.0.0.1,10.0.0.2 --set engines.cassandra.consistency=QUORUM`,
		Example: `  mailbench run
  mailbench run workday -m james,datastax --set phases.measure.rate=200/s
  mailbench run delivery --mail archive.mbox.gz --durability process
  mailbench run churn -m elasticinbox --data /var/tmp/mb --audit
  mailbench run -m elasticinbox --data /var/tmp/mb --audit=only   after a crash: is it all there?
  mailbench run mine.yaml --trials 5 -o results/mine`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := "quick"
			if len(args) == 1 {
				name = args[0]
			}
			return f.run(cmd, name)
		},
	}
	f.bind(cmd.Flags())
	return cmd
}

func (f *runFlags) bind(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringSliceVarP(&f.models, "model", "m", []string{"all"}, "`MODELS`, by comma (mailbench models lists them)")
	flags.StringSliceVarP(&f.engines, "engine", "e", []string{"embedded"}, "`ENGINES`, by comma (mailbench engines lists them)")
	f.bindCluster(flags)
	flags.StringVar(&f.mail, "mail", "", "deliver the messages of this mbox `FILE` (also .gz) in place of generated ones")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of everything that is drawn (default: the workload's)")
	flags.IntVar(&f.trials, "trials", 1, "run each model on each engine so often, each time on a fresh store")
	flags.StringVarP(&f.output, "output", "o", "", "the results' `DIR` (default results/WORKLOAD-TIME)")
	flags.StringVar(&f.data, "data", "", "keep stores and ledgers in `DIR` and use a data set that is there again (default: a temporary folder)")
	flags.StringVar(&f.audit, "audit", "no", "`WHEN` to prove that every acknowledged delivery is there: no, after the run, or --audit=only (of --data, without a run)")
	flags.Lookup("audit").NoOptDefVal = run.AuditAfter.String()
	flags.StringVar(&f.durability, "durability", "default", "`CLASS` of what an acknowledged write survives: memory, process, power or default (the engine's own)")
	flags.StringVar(&f.cache, "cache", "", "block cache of the embedded engine: `SIZE` such as 256MB (default: the engine's)")
	flags.IntVar(&f.workers, "workers", run.DefaultWorkers, "most operations at once in open-loop phases and in the load")
	flags.DurationVar(&f.maxLag, "max-lag", run.DefaultMaxLag, "an operation that could not be started so long after it was due is dropped, and counted")
	flags.BoolVar(&f.noFloor, "no-floor", false, "leave out the measurement of the harness's own cost")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress, only the final table")
}

// bindCluster binds the flags that say where an engine is.
func (f *runFlags) bindCluster(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.set, "set", nil, "change one value of the workload: `KEY=VALUE`, such as population.users=10 or engines.cassandra.consistency=ONE")
	flags.StringSliceVar(&f.contact, "contact", nil, "`HOST[:PORT]`,… of the engine that is reached over the network (default: this machine)")
}

// run carries the command out: everything that can be wrong with the input is
// found before the first operation.
func (f *runFlags) run(cmd *cobra.Command, name string) error {
	ctx := cmd.Context()
	c, err := f.config(name, cmd.Flags().Changed("seed"))
	if err != nil {
		return err
	}
	if f.mail != "" {
		source, err := openMail(ctx, f.mail)
		if err != nil {
			return err
		}
		defer source.Close()
		c.Mail = source
	}
	path := f.outputDir(c.Workload.Name)
	dir, err := reports.Create(path)
	if err != nil {
		return err
	}
	c.LatencyLog = dir.LatencyLog()
	bar := newProgress(cmd.ErrOrStderr(), f.quiet)
	c.Progress = bar.update
	result, err := run.Run(ctx, *c)
	bar.close()
	if err != nil {
		return errors.Join(err, dir.Abort())
	}
	if err := dir.Commit(result); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if err := reports.WriteText(out, result, width(out)); err != nil {
		return fmt.Errorf("print the results, which are saved in %s: %w", path, err)
	}
	fmt.Fprintf(out, "\nResults: %s (report.html, run.json, latency.hlog, bench.txt)\n", path)
	return verdict(result)
}

// config turns the flags into what the runner is told.
func (f *runFlags) config(name string, seeded bool) (*run.Config, error) {
	c := &run.Config{
		Trials: f.trials, DataDir: f.data, NoFloor: f.noFloor, Workers: f.workers, MaxLag: f.maxLag,
	}
	var err error
	if c.Models, err = pickModels(f.models); err != nil {
		return nil, err
	}
	if c.Engines, err = pickEngines(f.engines); err != nil {
		return nil, err
	}
	if c.Durability, err = parseWord("durability", f.durability, drivers.DurabilityDefault, drivers.Memory, drivers.Process, drivers.Power); err != nil {
		return nil, err
	}
	if c.Audit, err = parseWord("audit", f.audit, run.NoAudit, run.AuditAfter, run.AuditOnly); err != nil {
		return nil, err
	}
	if c.CacheBytes, err = f.cacheBytes(); err != nil {
		return nil, err
	}
	switch _, statErr := os.Stat(f.data); {
	case c.Audit == run.AuditOnly && f.data == "":
		return nil, usagef("--audit=only reads what an earlier run left: name its folder with --data DIR")
	case c.Audit == run.AuditOnly && statErr != nil:
		return nil, missing(fmt.Errorf("--audit=only reads what an earlier run left: %w", statErr))
	case f.trials < 1:
		return nil, usagef("--trials %d: expected 1 or more", f.trials)
	case f.workers < 1:
		return nil, usagef("--workers %d: expected 1 or more", f.workers)
	case f.maxLag <= 0:
		return nil, usagef("--max-lag %s: expected more than 0", f.maxLag)
	}
	engine := null.Engine()
	c.Null = &engine
	if c.Workload, err = f.workload(name, seeded); err != nil {
		return nil, err
	}
	return c, contact(c.Workload, c.Engines, f.contact)
}

// workload reads a file if the name looks like one, else a bundled workload, and
// checks what it says of engines. seeded says that --seed was given, which may be
// 0.
func (f *runFlags) workload(name string, seeded bool) (*workloads.Workload, error) {
	overrides := f.set
	if seeded {
		overrides = append(overrides, "seed="+strconv.FormatUint(f.seed, 10))
	}
	w, err := readWorkload(name, overrides)
	if err != nil {
		return nil, err
	}
	if err := w.CheckEngines(engineWords(allEngines())); err != nil {
		return nil, usage(err)
	}
	return w, nil
}

func readWorkload(name string, overrides []string) (*workloads.Workload, error) {
	if !strings.ContainsAny(name, `./\`) {
		w, err := workloads.Bundled(name, overrides...)
		if err != nil {
			return nil, usage(err)
		}
		return w, nil
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, missing(fmt.Errorf("read workload: %w", err))
	}
	w, err := workloads.Parse(name, src, overrides...)
	if err != nil {
		return nil, usage(err)
	}
	return w, nil
}

func (f *runFlags) cacheBytes() (int64, error) {
	if f.cache == "" {
		return 0, nil
	}
	size, err := random.ParseSize(f.cache)
	if err != nil {
		return 0, usagef("--cache: %w", err)
	}
	return int64(size), nil
}

func (f *runFlags) outputDir(workload string) string {
	if f.output != "" {
		return f.output
	}
	return filepath.Join("results", workload+"-"+time.Now().Format("20060102-150405.000"))
}

func openMail(ctx context.Context, path string) (*mail.File, error) {
	source, err := mail.Open(ctx, path, "")
	if err != nil {
		return nil, missing(err)
	}
	return source, nil
}

// missing gives an error about a file that is not there, or is a folder, the
// status of wrong input.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EISDIR) {
		return usage(err)
	}
	return err
}

// parseWord returns the one of the values that is written like word.
func parseWord[T fmt.Stringer](what, word string, values ...T) (T, error) {
	known := make([]string, len(values))
	for i, v := range values {
		if known[i] = v.String(); known[i] == word {
			return v, nil
		}
	}
	var none T
	return none, usage(unknown("value of --"+what, word, known))
}

// verdict is the error that a result amounts to, worst first.
func verdict(r *reports.Run) error {
	for _, a := range r.Audits {
		if a.Wrong() {
			return statusError{exitData, fmt.Errorf("the audit of %s on %s found data wrong or lost", a.Model, a.Engine)}
		}
	}
	if r.Interrupted {
		return statusError{exitInterrupted, errors.New("interrupted; what was measured is saved")}
	}
	for _, a := range r.Audits {
		if a.Unread > 0 {
			return fmt.Errorf("the audit of %s on %s could not read %d messages", a.Model, a.Engine, a.Unread)
		}
	}
	var failed []*reports.Cell
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Verdict == reports.Failed {
			failed = append(failed, c)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	c := failed[0]
	reason, _, _ := strings.Cut(c.Reason, "\n") // what came of it is in the table
	err := fmt.Errorf("%s on %s, phase %s: %s", c.Model, c.Engine, c.Phase, reason)
	if len(failed) > 1 {
		err = fmt.Errorf("%w (and %d more, in the table)", err, len(failed)-1)
	}
	return err
}
