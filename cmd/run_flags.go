package cmd

import (
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/keyspace"
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
	output          string
	quiet           bool
	view            view
	failOn          []string
	from, metrics   string
	schema          string
	prove           bool
	dryRun          bool
	findMax         findMaxFlags
	segment, start  string
	sweep           string
}

// audits are the values of --verify.
var audits = []run.AuditMode{run.NoAudit, run.AuditAfter, run.AuditOnly}

func (f *runFlags) bind(flags *pflag.FlagSet) {
	bindList(flags, &f.models, "model", "m",
		"`MODELS` and variants to run, or schema files of variants, separated by commas (mailbench models lists them); a "+
			"workload with a conclusion names its own", "all")
	bindList(flags, &f.engines, "engine", "e",
		"`ENGINES` to run on, separated by commas (mailbench engine list has them)", "embedded")
	flags.StringArrayVar(&f.set, "set", nil, setOfWorkload)
	bindList(flags, &f.contact, "contact", "", contactUsage)
	flags.StringVar(&f.schema, "schema", "", "run the access patterns of this schema `FILE` instead of mail operations")
	flags.BoolVar(&f.prove, "prove", false, "show the lint findings of the schema: measure at few and at many rows")
	flags.StringVar(&f.from, "from", "", "repeat the run whose results are in `DIR`; other flags change the repetition")
	flags.StringVar(&f.mail, "mail", "", "deliver the messages of this mbox `FILE` (also .gz) instead of generated ones")
	flags.Var(size(&f.mailLimit, strict.KB, mostMail), "max-mail-size",
		"refuse a mail file with more than `SIZE` of messages, unpacked")
	f.bindSeed(flags)
	flags.Var(whole(&f.c.Trials, 1, mostTrials), "trials",
		fmt.Sprintf("run each model on each engine `N` times (1 to %d), interleaved: A B, B A, A B (default: the workload's, or 1, "+
			"of a sweep 2: up and down)", mostTrials))
	flags.StringVarP(&f.output, "output", "o", "", "write the results to `DIR` (default results/WORKLOAD-TIME)")
	flags.StringVar(&f.c.DataDir, "data", "",
		"keep stores and ledgers in `DIR`, and use the data set that is there (default: a temporary folder)")
	flags.Var(oneOf(&f.c.Audit, audits, "value"), "verify",
		"`WHEN` to check that every acknowledged delivery is there: no, after (the run) or only (no run: check the data in --data)")
	flags.Lookup("verify").NoOptDefVal = run.AuditAfter.String()
	classes := []drivers.Durability{drivers.DurabilityDefault, drivers.Memory, drivers.Process, drivers.Power}
	flags.Var(oneOf(&f.c.EngineOptions.Durability, classes, "value"), "durability",
		"`CLASS` of failure that an acknowledged write survives: memory (none), process, power or default (the engine's own)")
	flags.Var(size((*strict.Size)(&f.c.EngineOptions.CacheBytes), leastCache, mostCache), "cache",
		"block cache of the embedded engine: `SIZE` such as 256MB (default: the engine's)")
	flags.Var(whole(&f.c.Workers, 1, mostWorkers), "concurrency",
		fmt.Sprintf("run up to `N` concurrent operations (1 to %d) in open-loop phases (default: the workload's, or %d with "+
			"an engine in this process and %d over a network)",
			mostWorkers, run.DefaultWorkers, run.RemoteWorkers))
	flags.Var(duration(&f.c.MaxWait, 1, mostMaxWait), "max-wait",
		"drop, and count, an operation that does not start within `TIME` (up to "+text(mostMaxWait)+") after its scheduled start")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only print the plan: operations, bytes, time and disk")
	flags.Var(parsed(&f.sweep, func(s string) (string, error) {
		if f.sweep != "" {
			return "", fmt.Errorf("%q is a second one; keys that change together need --set 'sweep={KEY: [VALUE, …], KEY: …}'", s)
		}
		return s, nil
	}), "sweep", "run the workload at each value: `KEY=VALUE,VALUE,…`, such as population.messages=100,1000,10000, and "+
		"report the growth of cost")
	f.findMax.bind(flags)
	flags.StringVar(&f.segment, "segment", "",
		"run part `I/N` of the run (1/4 to 4/4), with every N-th user; job/N takes the number of a pod in a "+
			"Kubernetes Indexed Job")
	flags.StringVar(&f.start, "start", "", "`TIME` at which all segments begin, the same for all, such as "+
		"2026-05-01T12:00:00Z")
	f.c.SegmentTimeout = meet.UsualTimeout
	// A garbage collection or a busy processor delays a segment for less than 5 s.
	flags.Var(duration(&f.c.SegmentTimeout, 5*time.Second, 24*time.Hour), "segment-timeout",
		"how long to wait for another segment before it counts as lost: a `DURATION`")
	flags.Bool("no-overhead", false, "for earlier builds, which measure their own cost in each run")
	_ = flags.MarkHidden("no-overhead") // compare --run gives it to builds of any age
	bindFailOn(flags, &f.failOn)
	at := parsed(&f.metrics, func(text string) (string, error) {
		_, port, err := net.SplitHostPort(text)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		return text, err
	})
	at.what, at.expected = "", "HOST:PORT or :PORT, such as :9464"
	flags.Var(at, "metrics", "show the run to Prometheus at http://`[HOST]:PORT`/metrics while it lasts; without HOST "+
		"on loopback only")
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
	by := oneOf(&v.by, ranking.Ranking, "metric")
	flags.Var(by, "rank", "rank models by this `METRIC`: "+by.expected)
}

// findMaxFlags are the flags of a search for the highest rate.
type findMaxFlags struct {
	on        bool
	from, max workloads.Rate
	precision float64 // percent
	step      time.Duration
}

func (f *findMaxFlags) bind(flags *pflag.FlagSet) {
	f.precision, f.max = 100*run.DefaultPrecision, workloads.Rate{Count: run.DefaultMaxRate, Per: time.Second}
	flags.BoolVar(&f.on, "find-max", false, "search for the highest rate at which each measured phase meets the thresholds")
	flags.Var(parsed(&f.from, workloads.ParseRate), "from-rate", "first `RATE` of --find-max, such as 500/s (default: the phase's, "+
		"and on an embedded engine 1580/s at least)")
	flags.Var(parsed(&f.max, workloads.ParseRate), "max-rate", "`RATE` at which --find-max ends")
	flags.Var(duration(&f.step, 500*time.Millisecond, time.Hour), "step-time",
		"minimum `TIME` of a measurement of --find-max (500ms to 1h; default "+text(run.DefaultStep)+", embedded "+
			text(run.InProcessStep)+"); a measurement of few operations lasts longer")
	flags.Var(number(&f.precision, 1, 50), "precision",
		"`PERCENT` of the rate (1 to 50) to which --find-max narrows it down")
}

// config turns the flags into the configuration of the search; nil if there is no search.
func (f *findMaxFlags) config() (*results.FindMax, error) {
	c := &results.FindMax{
		From: f.from.PerSecond(), Max: f.max.PerSecond(), Precision: f.precision / 100, Step: f.step.Seconds(),
	}
	if !f.on {
		c = nil
	} else if c.From > c.Max {
		return nil, usagef("--from-rate %s is above --max-rate %s", f.from, f.max)
	}
	return c, nil
}

// parseSegment enters the part of the run, and when it begins, into the configuration.
func (f *runFlags) parseSegment() (err error) {
	if f.segment == "" {
		return nil
	}
	now := time.Now().UTC()
	if f.c.Segment, err = plan.ParseSegment(f.segment); err != nil {
		return usagef("--segment %w", err)
	} else if f.start == "" {
		return usagef("--segment needs --start TIME, the same for all %d segments: for example %s (date -u +%%FT%%TZ)",
			f.c.Segment.Of, now.Add(time.Minute).Format(time.RFC3339))
	}
	if f.c.Start, err = time.Parse(time.RFC3339Nano, f.start); err != nil {
		return usagef("--start %s: expected a time such as %s (date -u +%%FT%%TZ)", f.start, now.Format(time.RFC3339))
	}
	return nil
}

// sweepPath and sweepValue match what --sweep may have before and after its equals sign.
var sweepPath, sweepValue = regexp.MustCompile(`^[A-Za-z0-9_.@-]+$`), regexp.MustCompile(`^[A-Za-zµ0-9_./+-]+$`)

// repeat takes the workload, models, engines and settings from the saved run that --from names. Flags that were
// given stay as they are. It returns the registry with the models of that run, and the run; nil without --from.
func (f *runFlags) repeat(known registry, flags *pflag.FlagSet, args []string) (registry, *results.Run, error) {
	if f.from == "" {
		return known, nil, nil
	}
	if len(args) > 0 {
		return known, nil, usagef("--from %s repeats the workload of that run: leave %q out, or leave --from out",
			f.from, args[0])
	}
	r, err := results.Open(f.from)
	if err != nil {
		return known, nil, usage(err)
	}
	if r.Workload.Text == "" {
		return known, nil, usagef("%s is the result of a verification, which has no workload to repeat", f.from)
	}
	c := r.Config
	if !flags.Changed("model") {
		if at := slices.IndexFunc(c.Models, isFile); at >= 0 {
			return known, nil, usagef("%s names the file %s as a model, and files that results name are not opened: name the model with -m",
				f.from, c.Models[at])
		}
	}
	seconds := func(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) + "s" }
	saved := map[string]string{
		"model": strings.Join(c.Models, ","), "engine": strings.Join(c.Engines, ","), "durability": c.Durability,
		"verify": c.Audit, "mail": c.MailFile,
		"trials": strconv.Itoa(c.Trials), "concurrency": strconv.Itoa(c.Workers), "max-wait": seconds(c.MaxWait),
		"cache": strconv.FormatInt(c.CacheBytes, 10), "max-mail-size": strconv.FormatInt(c.MailLimit, 10),
	}
	if m := c.FindMax; m != nil {
		saved["find-max"] = "true"
		saved["step-time"], saved["precision"] = seconds(m.Step), strconv.FormatFloat(100*m.Precision, 'g', 12, 64)
		for name, rate := range map[string]float64{"from-rate": m.From, "max-rate": m.Max} {
			if rate > 0 {
				saved[name] = fmt.Sprintf("%f/s", rate)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(saved)) {
		text := saved[name]
		if flags.Changed(name) || text == "" || text == "0" || text == "0s" { // older runs lack some
			continue
		}
		if err := flags.Lookup(name).Value.Set(text); err != nil { // the file may have anything
			return known, nil, usagef("%s has %s as --%s: %w", filepath.Join(f.from, results.RunFile), text, name, err)
		}
	}
	f.text, f.textName = []byte(r.Workload.Text), filepath.Join(f.from, results.RunFile)
	known, err = known.withSaved(r)
	return known, r, err
}

// withSaved returns the registry with those variants of a saved run that were schema files. The
// run has their text.
func (r registry) withSaved(was *results.Run) (registry, error) {
	for _, s := range was.Schemas {
		if index(r.variants, s.Model) >= 0 || index(r.models, schemas.BaseOf(s.Model)) < 0 {
			continue
		}
		v, err := r.variantOf(func() (*schemas.Schema, error) {
			return schemas.ParseStored("schema of "+s.Model, []byte(s.Text))
		})
		if err != nil {
			return r, fmt.Errorf("saved schema of %s: %w", s.Model, err)
		}
		r.variants = with(r.variants, v)
	}
	return r, nil
}

// schemaOf is the schema whose access patterns the command runs, or nil: that of a file, or of the saved run. It reads
// the file of the workload, too, since only the text of a file says which it is.
func (f *runFlags) schemaOf(known registry, args []string, was *results.Run) (*schemas.Schema, error) {
	file := f.schema
	if len(args) > 0 && isFile(args[0]) {
		text, err := readText("workload", args[0], noWorkload)
		if err != nil {
			return nil, err
		}
		keys := strict.Keys(text)
		cql := strings.EqualFold(filepath.Ext(args[0]), ".cql") // schemaFile says what to do with it
		schema := slices.Contains(keys, "schema") || slices.Contains(keys, "tables")
		if file == "" && (cql || schema && !slices.Contains(keys, "extends")) {
			file = args[0]
		} else {
			f.text, f.textName = text, args[0]
		}
	}
	switch {
	case file != "":
		return known.schemaFile(file)
	case was == nil || len(was.Schemas) != 1 || !slices.Contains(strict.Keys([]byte(was.Workload.Text)), "patterns"):
		return nil, nil
	}
	s, err := schemas.ParseStored("schema of "+was.Schemas[0].Model, []byte(was.Schemas[0].Text))
	return s, usage(err)
}

// ofSchema lets the run be one of a schema's access patterns, if it names one: the only model is that of the schema.
// Without a workload file, the workload follows from the schema.
func (f *runFlags) ofSchema(cmd *cobra.Command, known registry, args []string, was *results.Run) (registry, error) {
	s, err := f.schemaOf(known, args, was)
	own := len(args) == 0 || s != nil && args[0] == s.File
	switch {
	case err != nil:
		return known, err
	case f.prove && (s == nil || !own):
		return known, usagef("--prove measures what lint finds in a schema: name the schema, and no workload")
	case f.prove && was != nil && len(was.Findings) == 0:
		return known, usagef("--prove: that run was made without --prove; name the schema in place of --from %s", f.from)
	case s == nil:
		return known, nil
	}
	for _, flag := range []string{"model", "mail", "verify", "data", "segment"} {
		if cmd.Flags().Changed(flag) {
			return known, usagef("--%s is for mail, and %s is a schema: leave the flag out", flag, s.File)
		}
	}
	k, err := keyspace.Of(s, known.engines)
	if err != nil {
		return known, usage(err)
	}
	f.c.Keyspace, known.models, f.models = k, []models.Model{k.For(&workloads.Workload{}, k.Rows)}, []string{s.Name}
	if was != nil {
		f.prove = len(was.Findings) > 0
		return known, nil
	}
	for _, note := range k.Notes {
		if !f.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "mailbench: %s: %s\n", s.File, note)
		}
	}
	sets := []string{k.Operations(f.prove)}
	switch {
	case f.prove:
		text, err := k.ProofWorkload(f.sweep)
		if err != nil {
			return known, usagef("--sweep %w", err)
		}
		f.text, f.textName, f.sweep = []byte(text), s.File, ""
	case own:
		f.text, f.textName = []byte(k.Workload()), s.File
	case f.text != nil && !slices.Contains(strict.Keys(f.text), "population"):
		sets = append(sets, fmt.Sprintf("population={rows: %d}", k.Rows))
	}
	f.set = append(sets, f.set...)
	return known, nil
}
