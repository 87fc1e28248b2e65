package cmd

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/reports/metrics"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/meet"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/run"
)

// runFlags are the flags of run as they were given.
type runFlags struct {
	workloadFlags
	c               run.Config // flags that need no more than their value are in it
	models, engines []string
	chosen          bool // models were named
	mail            string
	mailLimit       strict.Size
	seed            uint64
	output          string
	cache           strict.Size
	quiet           bool
	view            view
	failOn          failOn
	from, metrics   string
	schema          string
	prove           bool
	dryRun          bool
	findMax         findMaxFlags
	shard, start    string
	sweep           string
}

func (f *runFlags) bind(flags *pflag.FlagSet) {
	bindList(flags, &f.models, "model", "m",
		"`MODELS` and variants to run, or schema files of variants, separated by commas (mailbench models lists them); a "+
			"workload with a conclusion names its own", "all")
	bindList(flags, &f.engines, "engine", "e",
		"`ENGINES` to run on, separated by commas (mailbench engine list has them)", "embedded")
	f.workloadFlags.bind(flags)
	flags.StringVar(&f.schema, "schema", "", "run the access patterns of this schema `FILE` instead of mail operations")
	flags.BoolVar(&f.prove, "prove", false, "show the lint findings of the schema: measure at few and at many rows")
	flags.StringVar(&f.from, "from", "", "repeat the run whose results are in `DIR`; other flags change the repetition")
	flags.StringVar(&f.mail, "mail", "", "deliver the messages of this mbox `FILE` (also .gz) instead of generated ones")
	flags.Var(size(&f.mailLimit, strict.KB, mostMail), "max-mail-size",
		"refuse a mail file with more than `SIZE` of messages, unpacked")
	flags.Var(wholeUint64(&f.seed), "seed", "seed `N` of all random numbers (default: the workload's)")
	flags.Var(whole(&f.c.Trials, 1, mostTrials), "trials",
		fmt.Sprintf("run each model on each engine `N` times (1 to %d), interleaved: A B, B A, A B (default: the workload's, or 1, "+
			"of a sweep 2: up and down)", mostTrials))
	flags.StringVarP(&f.output, "output", "o", "", "write the results to `DIR` (default results/WORKLOAD-TIME)")
	flags.StringVar(&f.c.DataDir, "data", "",
		"keep stores and ledgers in `DIR`, and use the data set that is there (default: a temporary folder)")
	audits := []run.AuditMode{run.NoAudit, run.AuditAfter, run.AuditOnly}
	flags.Var(oneOf(&f.c.Audit, audits, "value of --verify"), "verify",
		"`WHEN` to check that every acknowledged delivery is there: no, after (the run) or only (no run: check the data in --data)")
	flags.Lookup("verify").NoOptDefVal = run.AuditAfter.String()
	classes := []drivers.Durability{drivers.DurabilityDefault, drivers.Memory, drivers.Process, drivers.Power}
	flags.Var(oneOf(&f.c.EngineOptions.Durability, classes, "value of --durability"), "durability",
		"`CLASS` of failure that an acknowledged write survives: memory (none), process, power or default (the engine's own)")
	flags.Var(size(&f.cache, leastCache, mostCache), "cache",
		"block cache of the embedded engine: `SIZE` such as 256MB (default: the engine's)")
	flags.Var(whole(&f.c.Workers, 1, mostWorkers), "concurrency",
		fmt.Sprintf("run up to `N` concurrent operations (1 to %d) in open-loop phases (default: the workload's, or %d with "+
			"an engine in this process and %d over a network)",
			mostWorkers, run.DefaultWorkers, run.RemoteWorkers))
	flags.Var(duration(&f.c.MaxWait, 1, mostMaxWait), "max-wait",
		"drop, and count, an operation that does not start within `TIME` (up to "+text(mostMaxWait)+") after its scheduled start")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only print the plan: operations, bytes, time and disk")
	flags.StringVar(&f.sweep, "sweep", "", "run the workload at each value: `KEY=VALUE,VALUE,…`, such "+
		"as population.messages=100,1000,10000, and report the growth of cost")
	f.findMax.bind(flags)
	f.bindShard(flags)
	flags.BoolVar(&f.c.NoFloor, "no-overhead", false, "do not measure the harness's own cost")
	bindFailOn(flags, &f.failOn)
	flags.StringVar(&f.metrics, "metrics", "", "show the run to Prometheus at http://`[HOST]:PORT`/metrics while it "+
		"lasts; without HOST on loopback only")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress, only the final table")
	bindView(flags, &f.view)
	bindJSON(flags, runJSON)
}

// runJSON says what --json is for in commands whose result is a run.
const runJSON = "print run.json instead of the table"

// view is how the text of a run is written.
type view struct {
	full bool
	by   ranking.Metric
}

// bindView binds the flags of the text of a run.
func bindView(flags *pflag.FlagSet, v *view) {
	flags.BoolVar(&v.full, "full", false, "print all tables, and not only the first screen")
	v.by = ranking.Typical
	by := oneOf(&v.by, ranking.Ranking, "")
	flags.Var(by, "rank", "rank models by this `METRIC`: "+by.expected)
}

// findMaxFlags are the flags of a search for the highest rate.
type findMaxFlags struct {
	on        bool
	from, max workloads.Rate
	precision float64 // percent
	step      time.Duration
}

// Bounds of a search.
const (
	leastPrecision, mostPrecision = 1.0, 50.0 // percent
	leastStep, mostStep           = 500 * time.Millisecond, time.Hour
)

func (f *findMaxFlags) bind(flags *pflag.FlagSet) {
	f.precision, f.max = 100*run.DefaultPrecision, workloads.Rate{Count: run.DefaultMaxRate, Per: time.Second}
	flags.BoolVar(&f.on, "find-max", false, "search for the highest rate at which each measured phase meets "+
		"the thresholds")
	flags.Var(parsed(&f.from, workloads.ParseRate), "from-rate", "first `RATE` of --find-max, such as 500/s (default: the phase's, "+
		"and on an embedded engine 1580/s at least)")
	flags.Var(parsed(&f.max, workloads.ParseRate), "max-rate", "`RATE` at which --find-max ends")
	flags.Var(duration(&f.step, leastStep, mostStep), "step-time",
		"minimum `TIME` of a measurement of --find-max ("+text(leastStep)+" to "+text(mostStep)+
			"; default "+text(run.DefaultStep)+", embedded "+text(run.InProcessStep)+
			"); a measurement of few operations lasts longer")
	flags.Var(number(&f.precision, leastPrecision, mostPrecision), "precision",
		fmt.Sprintf("`PERCENT` of the rate (%g to %g) to which --find-max narrows it down", leastPrecision, mostPrecision))
}

// config turns the flags into the configuration of the search; nil if there is no search.
func (f *findMaxFlags) config() (*results.FindMax, error) {
	if !f.on {
		return nil, nil
	}
	c := results.FindMax{Max: f.max.PerSecond(), Precision: f.precision / 100, Step: f.step.Seconds()}
	if f.from.Count > 0 {
		c.From = f.from.PerSecond()
	}
	if c.From > c.Max {
		return nil, usagef("--from-rate %s is above --max-rate %s", f.from, f.max)
	}
	return &c, nil
}

const (
	mostShards = 1000
	// shortestTimeout is longer than a garbage collection or a busy processor delays a shard.
	shortestTimeout = 5 * time.Second
	longestTimeout  = 24 * time.Hour
	// jobShard means the number of a pod in a Kubernetes Indexed Job. Kubernetes puts that number,
	// from 0, into the environment variable jobVariable.
	jobShard    = "job"
	jobVariable = "JOB_COMPLETION_INDEX"
)

func (f *runFlags) bindShard(flags *pflag.FlagSet) {
	flags.StringVar(&f.shard, "shard", "",
		"run part `I/N` of the run (1/4 to 4/4), with every N-th user; job/N takes the number of a pod in a "+
			"Kubernetes Indexed Job")
	flags.StringVar(&f.start, "start", "", "`TIME` at which all shards begin, the same for all, such as "+
		"2026-05-01T12:00:00Z")
	f.c.ShardSilence = meet.UsualSilence
	flags.Var(duration(&f.c.ShardSilence, shortestTimeout, longestTimeout), "shard-timeout",
		"time out when another shard sends no heartbeat for that `DURATION`")
}

// parseShard enters the part of the run into the configuration.
func (f *runFlags) parseShard() (err error) {
	if f.shard == "" {
		return nil
	}
	index, of, _ := strings.Cut(f.shard, "/")
	if index == jobShard {
		n, err := strconv.Atoi(os.Getenv(jobVariable))
		if err != nil || n < 0 {
			return usagef("--shard %s takes its number from %s, which is %q; a Kubernetes Job with "+
				"completionMode: Indexed sets it",
				f.shard, jobVariable, os.Getenv(jobVariable))
		}
		index = strconv.Itoa(n + 1)
	}
	i, errI := strconv.Atoi(index)
	n, errN := strconv.Atoi(of)
	if errI != nil || errN != nil || i < 1 || n < 1 || i > n || n > mostShards {
		return usagef("--shard %s: expected I/N, from 1/N to N/N, with N up to %d", f.shard, mostShards)
	}
	if f.start == "" {
		return usagef("--shard needs --start TIME, the same for all %d shards: for example %s (date -u +%%FT%%TZ)",
			n, time.Now().UTC().Add(time.Minute).Format(time.RFC3339))
	}
	if f.c.Start, err = time.Parse(time.RFC3339Nano, f.start); err != nil {
		return usagef("--start %s: expected a time such as %s (date -u +%%FT%%TZ)", f.start,
			time.Now().UTC().Format(time.RFC3339))
	}
	f.c.Shard = plan.Shard{Index: i, Of: n}
	return nil
}

// sweepPath and sweepValue match what --sweep may have before and after its equals sign.
var sweepPath, sweepValue = regexp.MustCompile(`^[A-Za-z0-9_.@-]+$`), regexp.MustCompile(`^[A-Za-zµ0-9_./+-]+$`)

// sweepOverride is the override for --sweep. Without a text there is none.
func sweepOverride(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	path, list, _ := strings.Cut(text, "=")
	for v := range strings.SplitSeq(list, ",") {
		if !sweepPath.MatchString(path) || !sweepValue.MatchString(strings.TrimSpace(v)) {
			return nil, usagef("--sweep %q: expected KEY=VALUE,VALUE,…, such as population.messages=100,1000,10000", text)
		}
	}
	return []string{"sweep={" + path + ": [" + list + "]}"}, nil
}

// blameSweep changes the place of faults in the override for --sweep to the place in what the
// user typed.
func blameSweep(err error, text string) error {
	var faults strict.Errors
	override, _ := sweepOverride(text)
	if len(override) == 0 || !errors.As(err, &faults) {
		return err
	}
	path, _, _ := strings.Cut(text, "=")
	for _, f := range faults {
		if f.Pos.File != "--set "+strconv.Quote(override[0]) {
			continue
		}
		at := f.Pos.Column - len("sweep={")
		if value := at - len(path) - len(": ["); value > 0 {
			at = len(path) + len("=") + value
		} else {
			at = min(max(1, at), len(path))
		}
		f.Pos.File, f.Pos.Column = "--sweep "+strconv.Quote(text), at
		f.Msg = strings.TrimPrefix(strings.ReplaceAll(f.Msg, "sweep."+path, path), "sweep: ")
	}
	return err
}

// serveMetrics shows the run to Prometheus until stop is called.
func (f *runFlags) serveMetrics(w io.Writer, c *run.Config) (stop func(), err error) {
	if _, _, err := net.SplitHostPort(f.metrics); err != nil {
		return nil, usagef("--metrics %q: expected :PORT or HOST:PORT, such as :9464", f.metrics)
	}
	m := metrics.New()
	at, stop, err := m.Serve(f.metrics)
	if err != nil {
		return nil, err
	}
	c.Observe = m.Add
	progress := c.Progress
	c.Progress = func(p run.Progress) {
		m.Progress(p.Done)
		progress(p)
	}
	if !f.quiet {
		fmt.Fprintf(w, "metrics: http://%s/metrics\n", at)
	}
	return stop, nil
}
