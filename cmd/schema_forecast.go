package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/population"
)

// forecastFlags are the flags of schema forecast as they were given.
type forecastFlags struct {
	workloadFlags
	engine    string
	workloads []string
	mail      string
	seed      uint64
	perDay    float64
	years     int
	replicas  int
}

func newSchemaForecast(known registry) *cobra.Command {
	f := forecastFlags{years: 5}
	c := &cobra.Command{
		Use:   "forecast MODEL|FILE.yaml",
		Short: "Estimate table and partition sizes",
		Args:  oneSchema,
		RunE: known.onSchema(func(cmd *cobra.Command, s *schemas.Schema, _ string) error {
			return f.run(cmd, known, s)
		}),
	}
	flags := c.Flags()
	flags.StringVarP(&f.engine, "engine", "e", "",
		"`ENGINE` to forecast for (default: the schema's native one, or embedded)")
	bindList(flags, &f.workloads, "workload", "",
		"`WORKLOADS` whose mail there is, separated by commas (mailbench workloads lists them)", "workday")
	f.bindSet(flags)
	flags.StringVar(&f.mail, "mail", "", "sample the messages of this mbox `FILE` (also .gz) instead of generated ones")
	flags.Var(wholeUint64(&f.seed), "seed", "seed `N` of all random numbers (default: the workload's)")
	flags.Var(number(&f.perDay, 0, 100_000), "per-day", "`N` messages received by each user a day, on average")
	flags.Var(whole(&f.years, 1, 100), "years", "look `N` years ahead (1 to 100)")
	flags.Var(whole(&f.replicas, 0, 100), "replicas", "`N` copies of the data (default: the engine's usual number)")
	bindJSON(flags, "print JSON, with the sources of limits")
	return c
}

func (f *forecastFlags) run(cmd *cobra.Command, known registry, s *schemas.Schema) error {
	canForecast := func(e *drivers.Engine) bool { return e.Forecast != nil }
	usual := "embedded"
	if slices.Contains(namesOf(known.able(canForecast)), s.Native) {
		usual = s.Native
	}
	e, err := known.engineOf(cmp.Or(f.engine, usual), canForecast)
	if err != nil {
		return err
	}
	if len(f.workloads) == 0 {
		return usagef("--workload: no workload named; mailbench workloads lists them")
	}
	if forecast.Own(s) {
		return f.ofRows(cmd, s, e)
	}
	var mail messages.Source
	if f.mail != "" {
		if mail, err = openMail(cmd.Context(), cmd.ErrOrStderr(), f.mail, defaultMail); err != nil {
			return err
		}
		defer mail.Close()
	}
	var reports []*forecast.Report
	for _, workload := range f.workloads {
		r, err := f.ofMail(cmd.Context(), known, workload, s, e, mail)
		if err != nil {
			return err
		}
		reports = append(reports, r)
	}
	return f.print(cmd, reports...)
}

// ofRows forecasts a schema whose rows are not mail.
func (f *forecastFlags) ofRows(cmd *cobra.Command, s *schemas.Schema, e drivers.Engine) error {
	engine, err := e.Forecast(s)
	if err != nil {
		return usagef("schema %s on %s: %w", s.Name, e.Name, err)
	}
	for _, flag := range []string{"workload", "set", "mail", "seed", "per-day"} {
		if cmd.Flags().Changed(flag) {
			return usagef("--%s: schema %s has no rows of mail; its rows say how many there are (count, per)", flag, s.Name)
		}
	}
	r, err := f.report(s, nil, e, engine, schemas.Years("month"))
	if err != nil {
		return err
	}
	return f.print(cmd, r)
}

// ofMail forecasts a schema with the mail of a workload.
func (f *forecastFlags) ofMail(
	ctx context.Context, known registry, workload string, s *schemas.Schema, e drivers.Engine, mail messages.Source,
) (*forecast.Report, error) {
	var more []string
	if f.seed != 0 {
		more = append(more, seedOverride(f.seed))
	}
	w, err := f.workload(known.words(s), workload, more...)
	if err != nil {
		return nil, err
	}
	if s, err = s.With(w.ValuesOf(s.Name)); err != nil {
		return nil, usage(err)
	}
	engine, err := e.Forecast(s)
	if err != nil {
		return nil, usagef("schema %s on %s: %w", s.Name, e.Name, err)
	}
	if mail == nil {
		mail = messages.NewGenerator(w)
	}
	p, err := population.Of(ctx, w, mail, population.SampleSize)
	if err != nil {
		return nil, err
	}
	if f.perDay > 0 && !p.Receives(f.perDay) {
		return nil, usagef("--per-day %g: the population of workload %s has no messages to begin with", f.perDay, w.Name)
	}
	r, err := f.report(s, p, e, engine, 0)
	if err != nil {
		return nil, err
	}
	r.Workload = w.Name
	if c := engine.Compression(); c != nil {
		r.Compressed, err = population.Compress(ctx, w, mail, c)
	}
	return r, err
}

// report is the forecast from the first time on, in years after the start.
func (f *forecastFlags) report(
	s *schemas.Schema, p *forecast.Population, e drivers.Engine, engine forecast.Engine, first float64,
) (*forecast.Report, error) {
	made, err := forecast.Make(s, p, engine)
	if err != nil {
		return nil, usage(err)
	}
	years := []float64{first, 1}
	if f.years > 1 {
		years = append(years, float64(f.years))
	}
	r := made.Report(p, cmp.Or(f.replicas, engine.Space().Replicas), years)
	r.Engine = e.Name
	return r, nil
}

func (f *forecastFlags) print(cmd *cobra.Command, reports ...*forecast.Report) error {
	return show(cmd, reports, func(w io.Writer, _ int) {
		for i, r := range reports {
			if i > 0 {
				fmt.Fprintln(w)
			}
			_ = r.WriteText(w)
		}
	})
}

// lintMail is the mail of a workload. Lint gets sizes and hot partitions from it.
type lintMail struct {
	from         *workloads.Workload
	people       *forecast.Population
	user, folder float64 // shares of operations that the hottest user and the hottest folder get
}

// newLintMail draws the mail of the workload that --workload names. It is nil without that flag.
func newLintMail(ctx context.Context, known workloads.Known, f *workloadFlags, from string) (*lintMail, error) {
	if from == "" {
		if len(f.set) > 0 {
			return nil, usagef("--set changes a workload; name it with --workload")
		}
		return nil, nil
	}
	w, err := f.workload(known, from)
	if err != nil {
		return nil, err
	}
	m := &lintMail{from: w}
	if m.people, err = population.Of(ctx, w, messages.NewGenerator(w), population.SampleSize); err != nil {
		return nil, err
	}
	c, err := plan.NewCensus(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("population: %w", err)
	}
	m.user, m.folder, err = plan.Hottest(ctx, w, c)
	return m, err
}

// of returns a schema with the values that the workload sets for its parameters, and sizes its tables for lint on
// every engine that there is a forecast for.
func (m *lintMail) of(s *schemas.Schema, known registry) (*schemas.Schema, *lint.Numbers, error) {
	s, err := s.With(m.from.ValuesOf(s.Name))
	if err != nil {
		return nil, nil, usage(err)
	}
	// Other engines may be unable to hold the schema.
	if e, err := pickOne(s.Native, known.engines); err == nil && e.Forecast != nil {
		if _, err := e.Forecast(s); err != nil {
			return nil, nil, usagef("schema %s on %s: %w", s.Name, s.Native, err)
		}
	}
	n, err := lint.NumbersOf(s, m.people, drivers.FactsOf(known.engines, s))
	if err != nil {
		return nil, nil, usage(err)
	}
	n.Workload, n.Hottest.User, n.Hottest.Folder = m.from.Name, m.user, m.folder
	return s, n, nil
}
