package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/reports/ranking"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/run"
	"github.com/spf13/pflag"
)

// runFlags are the flags of run as they were given.
type runFlags struct {
	workloadFlags
	models, engines []string
	chosen          bool // models were named
	mail            string
	mailLimit       random.Size
	seed            uint64
	trials          int
	audit           string
	output, data    string
	durability      string
	cache           random.Size
	workers         int
	maxLag          time.Duration
	noFloor, quiet  bool
	asJSON          bool
	view            view
	failOn          failOn
	from, metrics   string
	dryRun          bool
	findMax         findMaxFlags
	shard           shardFlags
	sweep           string
}

func (f *runFlags) bind(flags *pflag.FlagSet) {
	flags.SortFlags = false
	bindList(flags, &f.models, "model", "m",
		"`MODELS` and variants to run, or schema files of variants, separated by commas (mailbench models lists them); a "+
			"workload with an answer names its own", "all")
	bindList(flags, &f.engines, "engine", "e",
		"`ENGINES` to run on, separated by commas (mailbench engines lists them)", "embedded")
	f.workloadFlags.bind(flags)
	flags.StringVar(&f.from, "from", "", "repeat the run whose results are in `DIR`; other flags change what is repeated")
	flags.StringVar(&f.mail, "mail", "", "deliver the messages of this mbox `FILE` (also .gz) instead of generated ones")
	flags.Var(size(&f.mailLimit, random.KB, mostMail), "mail-limit",
		"refuse a mail file with more than `SIZE` of messages, unpacked")
	flags.Var(wholeUint64(&f.seed), "seed", "draw everything from seed `N` (default: the workload's)")
	flags.Var(unset[int]{bounded[int]{&f.trials, 1, mostTrials, "a whole number", strconv.Atoi}}, "trials",
		fmt.Sprintf("run each model on each engine `N` times (1 to %d), interleaved: A B, B A, A B (default: the workload's, or 1, "+
			"of a sweep 2: up and down)", mostTrials))
	flags.StringVarP(&f.output, "output", "o", "", "write the results to `DIR` (default results/WORKLOAD-TIME)")
	flags.StringVar(&f.data, "data", "",
		"keep stores and ledgers in `DIR`, and use the data set that is there (default: a temporary folder)")
	flags.StringVar(&f.audit, "audit", "no",
		"`WHEN` to check that every acknowledged delivery is there: no, after (the run) or only (no run: check what is in --data)")
	flags.Lookup("audit").NoOptDefVal = run.AuditAfter.String()
	flags.StringVar(&f.durability, "durability", "default",
		"`CLASS` of failure that an acknowledged write survives: memory (none), process, power or default (the engine's own)")
	flags.Var(size(&f.cache, leastCache, mostCache), "cache",
		"block cache of the embedded engine: `SIZE` such as 256MB (default: the engine's)")
	flags.Var(unset[int]{bounded[int]{&f.workers, 1, mostWorkers, "a whole number", strconv.Atoi}}, "workers",
		fmt.Sprintf("run at most `N` operations at once (1 to %d) in open-loop phases (default: the workload's, or %d with "+
			"an engine in this process and %d over a network)",
			mostWorkers, run.DefaultWorkers, run.RemoteWorkers))
	flags.Var(duration(&f.maxLag, 1, mostLag), "max-lag",
		"drop, and count, an operation that could not start within `TIME` (up to "+text(mostLag)+") after it was due")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only say what would be done: operations, bytes, time and disk")
	flags.StringVar(&f.sweep, "sweep", "", "carry the workload out at each value: `KEY=VALUE,VALUE,…`, such "+
		"as population.messages=100,1000,10000, and say how cost grows")
	f.findMax.bind(flags)
	f.shard.bind(flags)
	flags.BoolVar(&f.noFloor, "no-floor", false, "do not measure the harness's own cost")
	bindFailOn(flags, &f.failOn)
	flags.StringVar(&f.metrics, "metrics", "", "show the run to Prometheus at http://`[HOST]:PORT`/metrics while it "+
		"goes on; without HOST on loopback only")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress, only the final table")
	bindView(flags, &f.view)
	bindRunJSON(flags, &f.asJSON)
}

// view is how the text of a run is written.
type view struct {
	full bool
	by   metric
}

// bindView binds the flags of the text of a run.
func bindView(flags *pflag.FlagSet, v *view) {
	flags.BoolVar(&v.full, "full", false, "print all tables, and not only the first screen")
	v.by = metric(ranking.Typical)
	flags.Var(&v.by, "rank", "rank models by this `METRIC`: "+v.by.expected())
}

// metric is the value of --rank.
type metric ranking.Metric

func (m *metric) String() string { return string(*m) }

// Type implements pflag.Value.
func (m *metric) Type() string { return "METRIC" }

// expected says which values the flag takes.
func (m *metric) expected() string {
	var all []string
	for _, x := range ranking.Metrics {
		all = append(all, string(x))
	}
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}

// Set implements pflag.Value.
func (m *metric) Set(text string) error {
	if !slices.Contains(ranking.Metrics, ranking.Metric(text)) {
		return errors.New("unknown metric") // flagError says what is expected
	}
	*m = metric(text)
	return nil
}
