package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/screen"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/forecast"
	"github.com/mailbench/mailbench/schemas/imports"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/population"
	"github.com/mailbench/mailbench/workloads/run"
)

// lintFlags are the flags of schema lint as they were given.
type lintFlags struct {
	workloadFlags
	cqlFlags
	keyspace   string // of CQL with several
	from       string // the workload that sizes come from, or ""
	format     string
	engines    []string
	all, rules bool
	failOn     lint.Severity // the severity from which on a finding fails
	baseline   string        // the file of an earlier report, or ""
}

func newSchemaLint(known registry) *cobra.Command {
	f := lintFlags{format: "text", failOn: lint.Error}
	cmd := command("lint [MODEL|FILE.yaml]...", cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
		return f.run(cmd, known, args)
	})
	cmd.ValidArgsFunction = completeSchema(known)
	flags := cmd.Flags()
	bindList(flags, &f.engines, "engine", "e",
		"`ENGINES` to check for, separated by commas, or all (default: the one that the schema was written for)")
	f.bindCQL(flags)
	flags.StringVar(&f.keyspace, "keyspace", "", "the `KEYSPACE` of the CQL to check (default: the only one)")
	formats := []string{"text", "json", "sarif", "junit", "github"}
	flags.Var(oneOf(&f.format, formats, "format"), "format",
		"`FORMAT` of the report: text, json, sarif (SARIF 2.1.0), junit or github (annotations of GitHub Actions)")
	bindJSON(flags, "print JSON")
	flags.StringVar(&f.from, "workload", "",
		"check sizes and hot partitions, too, with the mail of this `WORKLOAD` or file")
	flags.StringArrayVar(&f.set, "set", nil, setOfWorkload)
	flags.BoolVar(&f.all, "all", false, "also show notes, accepted findings, and how each pattern is answered")
	flags.Var(oneOf(&f.failOn, []lint.Severity{lint.Error, lint.Warning}, "severity"), "fail-on", "exit with status 3 from this `SEVERITY` on: error or warning")
	flags.StringVar(&f.baseline, "baseline", "", "an earlier report (--json) in `FILE`, whose findings do not fail")
	flags.BoolVar(&f.rules, "rules", false,
		"print all rules, or those named, with reason and fix")
	return cmd
}

func (f *lintFlags) run(cmd *cobra.Command, known registry, args []string) (err error) {
	if f.format, err = formatOf(cmd, f.format); err != nil {
		return err
	}
	if f.rules && f.format != "text" {
		return usagef("--rules prints text, and no %s", f.format)
	} else if f.rules {
		rules := lint.Rules()
		if len(args) > 0 {
			if rules, err = pick("rule", args, rules, func(r *lint.Rule) string { return r.ID }); err != nil {
				return err
			}
		}
		lint.WriteRules(cmd.OutOrStdout(), rules)
		return screen.Err(cmd.OutOrStdout())
	}
	reports, err := f.check(cmd, known, args)
	if err != nil {
		return err
	}
	if err := f.write(cmd.OutOrStdout(), reports); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	var errs, warnings int
	for _, r := range reports {
		n := r.Counts()
		errs, warnings = errs+n.Errors, warnings+n.Warnings
	}
	var faults []string
	if errs > 0 {
		faults = append(faults, words.Plural(errs, "error"))
	}
	if warnings > 0 && f.failOn == lint.Warning {
		faults = append(faults, words.Plural(warnings, "warning"))
	}
	if len(faults) > 0 {
		return statusError{exitBroken, fmt.Errorf("%s in schemas", strings.Join(faults, " and "))}
	}
	return nil
}

// check checks the schemas that are named. It reads all input first.
func (f *lintFlags) check(cmd *cobra.Command, known registry, args []string) ([]*lint.Report, error) {
	var earlier lint.Baseline
	if f.baseline != "" {
		text, err := plainfile.Read(f.baseline, mostText)
		if err != nil {
			return nil, usagef("read the baseline: %w", err)
		}
		if earlier, err = lint.ReadBaseline(text); err != nil {
			return nil, usagef("read the baseline %s: %w", f.baseline, err)
		}
	}
	var err error
	engines := f.engines // lint also knows engines that mailbench has no driver for
	if len(engines) > 0 {
		name := func(name string) string { return name }
		if engines, err = pick("engine", engines, lint.EngineNames(), name); err != nil {
			return nil, err
		}
	}
	read, err := f.read(cmd.ErrOrStderr(), known, args)
	if err != nil {
		return nil, err
	}
	var mail *population.Mail
	if f.from != "" {
		w, err := f.workload(known.words(read...), f.from)
		if err != nil {
			return nil, err
		}
		if mail, err = population.MailOf(cmd.Context(), w); err != nil {
			return nil, err
		}
	}
	reports := make([]*lint.Report, len(read))
	for i, s := range read {
		o := lint.Options{Engines: engines, AllowUnread: f.allowUnread}
		if mail != nil {
			if s, o.Numbers, err = mail.Numbers(s, known.engines); err != nil {
				return nil, usage(err)
			}
		}
		o.Facts = drivers.FactsOf(known.engines, s)
		if reports[i], err = lint.Check(s, o); err != nil {
			return nil, usage(err)
		}
		earlier.Mark(reports[i])
	}
	return reports, nil
}

// write writes the reports in the format of the flags.
func (f *lintFlags) write(out io.Writer, checked []*lint.Report) (err error) {
	columns := 0
	if screen.IsTerminal(out) {
		columns = screen.Width(out)
	}
	switch f.format {
	case "json":
		err = printJSON(out, lint.JSON(checked))
	case "junit":
		err = reports.WriteJUnitLint(out, checked)
	case "sarif":
		err = printJSON(out, lint.SARIF(checked, run.Environment(".").Version))
	case "github":
		for _, r := range checked {
			r.WriteGitHub(out, f.all)
		}
	default:
		for _, r := range checked {
			r.WriteText(out, f.all, columns)
		}
	}
	return cmp.Or(err, screen.Err(out))
}

// read returns the schemas of the models and files that are named, or that of the CQL. All are those of all models,
// but not of their variants.
func (f *lintFlags) read(stderr io.Writer, known registry, args []string) ([]*schemas.Schema, error) {
	if len(f.cql) == 0 {
		if len(args) == 0 || len(args) == 1 && args[0] == "all" {
			args = mapped(known.models, nameOf)
		}
		var read []*schemas.Schema
		for _, name := range args {
			s, err := known.schema(name)
			if err != nil {
				return nil, err
			}
			read = append(read, s)
		}
		return read, nil
	} else if len(args) > 0 {
		return nil, usagef("--cql and %s both name tables; leave one out", args[0])
	}
	sources, err := f.cqlFlags.read()
	if err != nil {
		return nil, err
	}
	r, err := imports.Import(f.keyspace, sources...)
	if err != nil {
		return nil, usagef("read CQL: %w", err)
	}
	r.WritePassed(stderr)
	return []*schemas.Schema{r.Schema}, nil
}

// forecastFlags are the flags of schema forecast as they were given.
type forecastFlags struct {
	workloadFlags
	engine    string
	workloads []string
	mail      string
	perDay    float64
	years     int
	replicas  int
}

func newSchemaForecast(known registry) *cobra.Command {
	f := forecastFlags{years: 5}
	c := known.onSchema("forecast", func(cmd *cobra.Command, s *schemas.Schema, _ string) error {
		return f.run(cmd, known, s)
	})
	flags := c.Flags()
	flags.StringVarP(&f.engine, "engine", "e", "",
		"`ENGINE` to forecast for (default: the schema's native one, or embedded)")
	bindList(flags, &f.workloads, "workload", "",
		"`WORKLOADS` whose mail there is, separated by commas (mailbench workloads lists them)", "workday")
	flags.StringArrayVar(&f.set, "set", nil, setOfWorkload)
	flags.StringVar(&f.mail, "mail", "", "sample the messages of this mbox `FILE` (also .gz) instead of generated ones")
	f.bindSeed(flags)
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
	var reports []*forecast.Report
	var mail messages.Source
	switch {
	case forecast.Own(s):
		f.workloads = nil
		for _, flag := range []string{"workload", "set", "mail", "seed", "per-day"} {
			if cmd.Flags().Changed(flag) {
				return usagef("--%s: schema %s has no rows of mail; its rows say how many there are (count, per)", flag, s.Name)
			}
		}
		r, _, err := f.report(s, nil, e, schemas.Years("month"))
		if err != nil {
			return err
		}
		reports = append(reports, r)
	case f.mail != "":
		if mail, err = openMail(cmd.Context(), cmd.ErrOrStderr(), f.mail, defaultMail, mailHint); err != nil {
			return err
		}
		defer mail.Close()
	}
	for _, workload := range f.workloads {
		r, err := f.ofMail(cmd.Context(), known, workload, s, e, mail)
		if err != nil {
			return err
		}
		reports = append(reports, r)
	}
	return show(cmd, reports, func(w io.Writer, _ int) {
		for i, r := range reports {
			if i > 0 {
				fmt.Fprintln(w)
			}
			_ = r.WriteText(w)
		}
	})
}

// ofMail forecasts a schema with the mail of a workload.
func (f *forecastFlags) ofMail(
	ctx context.Context, known registry, workload string, s *schemas.Schema, e drivers.Engine, mail messages.Source,
) (*forecast.Report, error) {
	w, err := f.workload(known.words(s), workload)
	if err != nil {
		return nil, err
	}
	if s, err = s.With(w.ValuesOf(s.Name)); err != nil {
		return nil, usage(err)
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
	r, engine, err := f.report(s, p, e, 0)
	if err != nil {
		return nil, err
	}
	r.Workload = w.Name
	if c := engine.Compression; c != nil {
		r.Compressed, err = population.Compress(ctx, w, mail, c)
	}
	return r, err
}

// report is the forecast from the first time on, in years after the start. A schema whose rows are not mail has no
// population.
func (f *forecastFlags) report(
	s *schemas.Schema, p *forecast.Population, e drivers.Engine, first float64,
) (*forecast.Report, *forecast.Engine, error) {
	engine, err := e.Forecast(s)
	if err != nil {
		return nil, nil, usagef("schema %s on %s: %w", s.Name, e.Name, err)
	}
	made, err := forecast.Make(s, p, engine)
	if err != nil {
		return nil, nil, usage(err)
	}
	years := []float64{first, 1}
	if f.years > 1 {
		years = append(years, float64(f.years))
	}
	r := made.Report(p, cmp.Or(f.replicas, engine.Space.Replicas), years)
	r.Engine = e.Name
	return r, engine, nil
}
