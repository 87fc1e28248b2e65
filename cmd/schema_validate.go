package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/scratch"
	"github.com/mailbench/mailbench/workloads/subject"
)

// validateFlags are the flags of schema validate as they were given.
type validateFlags struct {
	storeFlags
	sample    share
	seed      uint64
	workers   int
	noAudit   bool
	silent    bool
	rateLimit rowRate
	latency   time.Duration
	resume    string
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
		Args:  oneSchema,
		RunE: known.onSchema(func(cmd *cobra.Command, s *schemas.Schema, name string) error {
			return f.use(cmd.Context(), known, s, func(_ drivers.Engine, st drivers.Store) error {
				return f.run(cmd, known, name, s, st)
			})
		}),
	}
	flags := cmd.Flags()
	f.storeFlags.bind(flags)
	flags.Var(within(&f.sample, 0.00001, 1, "a share such as 1%,", parseShare), "sample",
		"read only this `SHARE` of each table, such as 1%, and the rows that it refers to; counters and orphaned rows need all of it")
	flags.Var(wholeUint64(&f.seed), "seed", "draw the sample from seed `N`")
	flags.Var(whole(&f.workers, 1, mostWorkers), "concurrency", "read with `N` concurrent sessions")
	flags.Var(within(&f.rateLimit, 1, 1e9, "a rate such as 5000/s,", parseRowRate), "rate-limit",
		"read at most `RATE` rows, such as 5000/s, with all workers together")
	flags.Var(duration(&f.latency, time.Millisecond, time.Hour), "pause-on-latency", "pause when a read, such as one of a page of rows, takes longer than `TIME`, such as 200ms")
	flags.StringVar(&f.resume, "resume", "", "save progress in `FILE`, and continue an interrupted check from it")
	flags.BoolVar(&f.noAudit, "no-verify", false, "skip the model's own verification")
	bindJSON(flags, "print the report as JSON")
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

func (f *validateFlags) run(
	cmd *cobra.Command, known registry, name string, s *schemas.Schema, st drivers.Store,
) (err error) {
	ctx := cmd.Context()
	s, skipped, err := subject.ApplyOwn(ctx, st, s)
	if err != nil {
		return err
	}
	journal, err := f.journal(ctx, st, s)
	if err != nil {
		return err
	}
	whole := false
	defer func() {
		switch {
		case journal == nil:
		case whole:
			err = errors.Join(err, journal.Remove())
		default: // the same command continues it
			err = errors.Join(err, journal.Close())
		}
	}()
	folder, err := scratch.Temporary()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	pace := &validate.Pace{Rate: float64(f.rateLimit), Latency: f.latency}
	bar := newBar(cmd.ErrOrStderr(), f.silent)
	report, err := validate.Run(ctx, st, s, validate.Config{
		Dir: folder.Path(), Workers: f.workers, Sample: float64(f.sample), Seed: f.seed,
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
		v.Drifted = report.Drifted()
		v.Broken -= v.Drifted
	}
	if err != nil {
		v.Stopped = err.Error()
		v.resume = f.resume
	}
	if err == nil && !isFile(name) && !f.noAudit && f.sample == 1 {
		bar.show("verification of the model")
		var picked []models.Model
		if picked, err = known.pickModels([]string{name}); err != nil {
			return err
		}
		if v.Audit, err = subject.Verify(ctx, picked[0], st, s, f.blobs, pace.Session); v.Audit == nil && len(skipped) > 0 {
			v.Skipped, err = append(v.Skipped, "the model's verification, which needs them"), nil
		}
	}
	bar.close()
	whole, v.Paced = err == nil, pace.Kept()
	return errors.Join(err, f.print(cmd, v))
}

// validated is what schema validate prints.
type validated struct {
	Engine  string `json:"engine"`
	Version string `json:"version"`
	*validate.Report
	Broken   int64 `json:"broken"`
	Leftover int64 `json:"leftover"`
	// Drifted is how many rows have a wrong count that an operation left which was interrupted or is
	// of unknown outcome. They are not broken.
	Drifted int64                 `json:"adrift,omitempty"`
	Audit   *subject.Verification `json:"audit,omitempty"`
	Stopped string                `json:"stopped,omitempty"` // the error at which the check of the schema ended
	Skipped []string              `json:"skipped,omitempty"` // what mailbench adds to the source design and the store does not have
	resume  string                // the file with which a check that has stopped goes on
}

// writeText prints the report, and after it what the model's verification says.
func (v *validated) writeText(w io.Writer, room int) {
	_ = v.Report.WriteText(w, room)
	if v.Stopped != "" {
		fmt.Fprintf(w, "\nThe check ended here, and references and counts were not compared: %s\n", v.Stopped)
		if v.resume != "" {
			fmt.Fprintf(w, "Run the same command to continue: %s has the ranges that were read.\n", v.resume)
		}
	}
	if len(v.Skipped) > 0 {
		fmt.Fprintf(w, "\nExtensions of the schema that the store does not have, skipped: %s.\n",
			strings.Join(v.Skipped, ", "))
	}
	if a := v.Audit; a != nil {
		a.WriteText(w)
	}
	adrift := ""
	if v.Drifted > 0 {
		adrift = fmt.Sprintf("; counter drift in %s: operations on the dataset were interrupted, or have an unknown outcome",
			words.Plural(v.Drifted, "count"))
	}
	fmt.Fprintf(w, "\n%s on %s: %s broken, %d orphaned%s\n", v.Schema, v.Engine,
		words.Plural(v.Broken, "row"), v.Leftover, adrift)
}

// print prints the report. Its error says that data is broken.
func (f *validateFlags) print(cmd *cobra.Command, v *validated) error {
	if err := show(cmd, v, v.writeText); err != nil {
		return err
	}
	switch {
	case v.Broken > 0:
		return statusError{exitData, fmt.Errorf("data of %s on %s is broken: %s", v.Schema,
			v.Engine, words.Plural(v.Broken, "row"))}
	case v.Audit != nil && v.Audit.Broken(f.exact):
		return statusError{exitData, fmt.Errorf("data of %s on %s is broken (verification of the model)", v.Schema, v.Engine)}
	}
	return nil
}

// journal opens the file of --resume, or returns nil.
func (f *validateFlags) journal(
	ctx context.Context, st drivers.Store, s *schemas.Schema,
) (_ *validate.Journal, err error) {
	if f.resume == "" {
		return nil, nil
	}
	store := f.engine + ", mailbench's own " + s.Name
	for _, where := range [][2]string{{"data ", f.data}, {"namespace ", f.namespace}, {"keyspace ", f.keyspace}} {
		if where[1] != "" {
			store = f.engine + ", " + where[0] + where[1]
		}
	}
	of := validate.Of{Store: store, Sample: float64(f.sample), Seed: f.seed}
	if known, ok := st.(drivers.Identified); ok {
		id, err := known.Identity(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("--resume: %w", err)
		}
		of.Tables = id
	} else if f.data != "" {
		if of.Tables, err = filepath.Abs(f.data); err != nil {
			return nil, fmt.Errorf("--resume: %w", err)
		}
	}
	j, err := validate.OpenJournal(f.resume, of, s)
	switch {
	case err == nil:
		return j, nil
	case errors.Is(err, private.ErrLocked):
		return nil, fmt.Errorf("--resume %s: it is %w; wait for that check, or name another file", f.resume, err)
	case errors.As(err, new(*fs.PathError)):
		return nil, fmt.Errorf("--resume: %w", err)
	}
	return nil, usagef("--resume %s: %w; name another file, or remove it to begin again", f.resume, err)
}
