package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/scratch"
	"github.com/mailbench/mailbench/schemas"
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
leaves them, and they do no harm. Broken data leads to exit status 4.

Records of rows are kept in a temporary folder (TMPDIR says where), 20 to 150
bytes for each row that refers to another or is counted.`,
		Example: `  mailbench schema validate james -e embedded --data mydata
  mailbench schema validate elasticinbox -e cassandra --keyspace production
  mailbench schema validate mine.yaml -e hbase --namespace mail --sample 1%
  mailbench schema validate james -e hbase --data mydata --json > report.json`,
		Args: oneSchema,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, known, args[0]) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.storeFlags.bind(flags)
	flags.Var(bounded[share]{&f.sample, 0.00001, 1, "a share such as 1%,", parseShare}, "sample",
		"read this `SHARE` of each table, such as 1%, and look up what its\nrows refer to; counts and leftovers need all of it")
	flags.Var(wholeUint64(&f.seed), "seed", "draw the sample from seed `N`")
	flags.Var(whole(&f.workers, 1, mostWorkers), "workers", "read with `N` sessions at once")
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

// validated is what schema validate prints.
type validated struct {
	Engine  string `json:"engine"`
	Version string `json:"version"`
	*validate.Report
	Broken   int64       `json:"broken"`
	Leftover int64       `json:"leftover"`
	Audit    *modelAudit `json:"audit,omitempty"`
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
	if err := st.Apply(ctx, s); err != nil {
		return err
	}
	dir, remove, err := scratchFolder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	bar := newLineBar(cmd.ErrOrStderr(), f.silent)
	report, err := validate.Run(ctx, st, s, validate.Config{
		Dir: dir, Workers: f.workers, Sample: float64(f.sample), Seed: f.seed,
		Progress: func(p validate.Progress) { bar.show(validateLine(p)) },
	})
	if err != nil {
		bar.close()
		return err
	}
	caps := st.Capabilities()
	v := &validated{
		Engine: caps.Engine, Version: caps.Version, Report: report,
		Broken: report.Broken(), Leftover: report.Leftover(),
	}
	if !isFile(name) && !f.noAudit && f.sample == 1 {
		bar.show("audit of the model")
		v.Audit, err = auditOf(ctx, known, name, st, s)
	}
	bar.close()
	if err != nil {
		return err
	}
	return f.print(cmd, v)
}

// print prints the report. Its error says that data is broken.
func (f *validateFlags) print(cmd *cobra.Command, v *validated) error {
	out := cmd.OutOrStdout()
	var err error
	if f.json {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		err = e.Encode(v)
	} else {
		err = v.writeText(out)
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	switch {
	case v.Broken > 0:
		return statusError{exitData, fmt.Errorf("data of %s on %s is broken: %s", v.Schema,
			v.Engine, amountOf(v.Broken, "row"))}
	case v.Audit != nil && v.Audit.broken():
		return statusError{exitData, fmt.Errorf("data of %s on %s is broken: the model's audit says so", v.Schema, v.Engine)}
	}
	return nil
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

// modelAudit is models.Audit in JSON.
type modelAudit struct {
	Accounts     int64    `json:"accounts"`
	Folders      int64    `json:"folders"`
	Messages     int64    `json:"messages"`
	Deleted      int64    `json:"deleted"`
	Unreferenced int64    `json:"unreferenced"`
	Dangling     int64    `json:"dangling"`
	Duplicated   int64    `json:"duplicated"`
	BrokenBodies int64    `json:"broken_bodies"`
	CounterDrift int64    `json:"counter_drift"`
	Notes        []string `json:"notes,omitempty"`
}

func (a *modelAudit) broken() bool { return a.Dangling+a.Duplicated+a.BrokenBodies+a.CounterDrift > 0 }

// auditOf runs a model's own audit over a store that is open for reading only.
func auditOf(
	ctx context.Context, known registry, name string, st drivers.Store, s *schemas.Schema,
) (*modelAudit, error) {
	picked, err := known.pickModels([]string{name})
	if err != nil {
		return nil, err
	}
	p, err := drivers.PrepareAll(ctx, st, s)
	if err != nil {
		return nil, err
	}
	bound, err := picked[0].Bind(ctx, p, models.Options{})
	if err != nil {
		return nil, fmt.Errorf("bind %s to %s: %w", name, st.Capabilities().Engine, err)
	}
	session, err := st.Session()
	if err != nil {
		return nil, err
	}
	a, err := bound.Mailbox(session).Audit(ctx)
	if err = errors.Join(err, session.Close()); err != nil {
		return nil, err
	}
	return (*modelAudit)(&a), nil
}
