package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/reports/scratch"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/run"
)

// validateFlags are the flags of schema validate as they were given.
type validateFlags struct {
	storeFlags
	sample       share
	seed         uint64
	workers      int
	noAudit      bool
	json, silent bool
	rateLimit    rowRate
	latency      time.Duration
	resume       string
}

// rowRate is rows a second; 0 is no limit.
type rowRate float64

// String returns the rate as it is typed.
func (r rowRate) String() string { return strconv.FormatFloat(float64(r), 'f', -1, 64) + "/s" }

func parseRowRate(text string) (rowRate, error) {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "/s"
	}
	r, err := workloads.ParseRate(text)
	return rowRate(r.PerSecond()), err
}

func newSchemaValidate(known registry) *cobra.Command {
	f := validateFlags{sample: 1, workers: 4}
	cmd := &cobra.Command{
		Use:   "validate MODEL|FILE.yaml",
		Short: "Check the data in a store against its schema",
		Long: `Read every row of a schema's tables and check it: whether each value is one of
its column's type, whether the rows that it refers to are there, and whether
each count is what a recount gives. The schema says so with refers and counts.
For a model, its own audit checks what a schema cannot say, such as checksums.

Nothing is written to the store. It may be one that mailbench did not write:
name its keyspace or namespace in full. It should be quiet: rows that are
written meanwhile may be found without those that were written with them.

Rows that nothing needs any more are counted apart: an interrupted operation
or a delete leaves them. So are counts of a data set (--data) on which an
operation was broken off or is of unknown outcome. Broken data leads to exit
status 4; so does an audit that the data stops. What was found until then is
printed in any case.

A cluster that serves others is read with --rate-limit and --pause-on-latency.
The first bounds the rows a second, the second makes all reads pause when one
took longer than that, for a second at first, and twice as long each time that
this does not help (at most 30 s). The role needs no right but to read: on
Cassandra, SELECT on the keyspace. With --resume FILE a check that was broken
off goes on where it was: FILE keeps which ranges of each table (of tokens, on
Cassandra) were read and what was found in them. It is of one keyspace of one
cluster, and of one check at a time. It is removed, with FILE.records beside it,
when the check has come to its end.

With --sample only some parts of each table are read, at random. The output then
says which share of broken rows that cannot exclude.

Records of rows are kept in a temporary folder (TMPDIR says where), 20 to 150
bytes for each row that refers to another or is counted.`,
		Example: `  mailbench schema validate james -e embedded --data mydata
  mailbench schema validate elasticinbox -e cassandra --keyspace production
  mailbench schema validate mine.yaml -e hbase --namespace mail --sample 1%
  mailbench schema validate james -e hbase --data mydata --json > report.json
  mailbench schema validate shop.yaml -e cassandra --keyspace shop \
    --rate-limit 5000/s --pause-on-latency 200ms --resume shop.check`,
		Args: oneSchema,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, known, args[0]) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.storeFlags.bind(flags)
	flags.Var(bounded[share]{&f.sample, 0.00001, 1, "a share such as 1%,", parseShare}, "sample",
		"read this `SHARE` of each table, such as 1%, and look up what its rows refer to; counts and leftovers need all of it")
	flags.Var(wholeUint64(&f.seed), "seed", "draw the sample from seed `N`")
	flags.Var(whole(&f.workers, 1, mostWorkers), "workers", "read with `N` sessions at once")
	flags.Var(unset[rowRate]{bounded[rowRate]{&f.rateLimit, 1, 1e9, "a rate such as 5000/s,", parseRowRate}}, "rate-limit",
		"read at most `RATE` rows, such as 5000/s, with all workers together")
	flags.Var(unset[time.Duration]{bounded[time.Duration]{
		&f.latency, time.Millisecond, time.Hour, "a duration such as 200ms,", time.ParseDuration,
	}}, "pause-on-latency", "pause when a read, such as one of a page of rows, takes longer than `TIME`, such as 200ms")
	flags.StringVar(&f.resume, "resume", "", "keep in `FILE` what was read, and go on with what a check that was broken off left there")
	flags.BoolVar(&f.noAudit, "no-audit", false, "leave the model's own audit out")
	flags.BoolVar(&f.json, "json", false, "print the report as JSON")
	flags.BoolVarP(&f.silent, "quiet", "q", false, "no progress")
	return cmd
}

// share is a part of a whole, from 0 to 1.
type share float64

// String returns the share in percent.
func (s share) String() string { return strconv.FormatFloat(100*float64(s), 'g', 4, 64) + "%" }

func parseShare(text string) (share, error) {
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	return share(v), err
}

func (f *validateFlags) run(cmd *cobra.Command, known registry, name string) (err error) {
	ctx := cmd.Context()
	s, err := known.schema(name)
	if err != nil {
		return err
	}
	st, err := f.open(ctx, known, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	s, skipped, err := applyWhole(ctx, st, s)
	if err != nil {
		return f.absent(err)
	}
	journal, err := f.journal(ctx, st, s)
	if err != nil {
		return err
	}
	whole := false
	defer func() { err = errors.Join(err, endJournal(journal, whole)) }()
	dir, remove, err := scratchFolder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	pace := &validate.Pace{Rate: float64(f.rateLimit), Latency: f.latency}
	bar := newLineBar(cmd.ErrOrStderr(), f.silent)
	report, err := validate.Run(ctx, st, s, validate.Config{
		Dir: dir, Workers: f.workers, Sample: float64(f.sample), Seed: f.seed,
		Pace: pace, Journal: journal,
		Progress: func(p validate.Progress) { bar.show(p.String()) },
	})
	if report == nil {
		bar.close()
		return err
	}
	caps := st.Capabilities()
	v := &validated{
		Engine: caps.Engine, Version: caps.Version, Report: report,
		Broken: report.Broken(), Leftover: report.Leftover(), Skipped: skipped,
	}
	if !f.exact {
		v.Adrift = report.Adrift()
		v.Broken -= v.Adrift
	}
	if err != nil {
		v.Stopped = err.Error()
		v.resume = f.resume
	}
	if err == nil && !isFile(name) && !f.noAudit && f.sample == 1 {
		bar.show("audit of the model")
		if v.Audit, err = auditOf(ctx, known, name, st, s, pace, f.blobs); v.Audit == nil && len(skipped) > 0 {
			v.Skipped, err = append(v.Skipped, "the model's audit, which needs them"), nil
		}
	}
	bar.close()
	whole, v.Paced = err == nil, pace.Told()
	return errors.Join(err, f.print(cmd, v))
}

// applyWhole applies a schema to a store that is open for reading only. If the store lacks what
// mailbench adds to the schema's document, it applies the schema without it, and names what
// is skipped.
func applyWhole(ctx context.Context, st drivers.Store, s *schemas.Schema) (*schemas.Schema, []string, error) {
	err := st.Apply(ctx, s)
	if err == nil || errors.As(err, new(*drivers.AbsentError)) {
		return s, nil, err
	}
	c, cerr := drivers.Compare(ctx, st, s)
	if cerr != nil {
		return nil, nil, err
	}
	var added []schemas.Difference
	for _, d := range c.Drifts {
		if d.Harm == drivers.NotInDocument {
			added = append(added, d.Difference)
		}
	}
	if len(added) == 0 {
		return nil, nil, err
	}
	own, skipped, err := s.Without(added)
	if err != nil {
		return nil, nil, err
	}
	return own, skipped, st.Apply(ctx, own)
}

// scratchFolder makes a temporary folder. The next mailbench finds it if this process is killed.
func scratchFolder() (path string, remove func() error, err error) {
	if path, err = os.MkdirTemp("", run.TemporaryPattern); err != nil {
		return "", nil, fmt.Errorf("make a temporary folder (TMPDIR says where): %w", err)
	}
	folder, err := scratch.Claim(path)
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("make a temporary folder: %w", err), os.Remove(path))
	}
	return path, folder.Remove, nil
}
