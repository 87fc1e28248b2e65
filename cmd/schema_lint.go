package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/imports"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/words"
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
	cmd := &cobra.Command{
		Use:   "lint [MODEL|FILE.yaml]...",
		Short: "Check schemas against their queries and their engine",
		Args:  cobra.ArbitraryArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return f.run(cmd, known, args) },
	}
	flags := cmd.Flags()
	bindList(flags, &f.engines, "engine", "e",
		"`ENGINES` to check for, separated by commas, or all (default: the one that the schema was written for)")
	f.bindCQL(flags)
	flags.StringVar(&f.keyspace, "keyspace", "", "the `KEYSPACE` of the CQL to check (default: the only one)")
	formats := []string{"text", "json", "sarif", "junit", "github", "markdown"}
	flags.Var(oneOf(&f.format, formats, "format"), "format",
		"`FORMAT` of the report: text, json, sarif (SARIF 2.1.0), junit or github (annotations of GitHub Actions)")
	bindJSON(flags, "print JSON")
	flags.StringVar(&f.from, "workload", "",
		"check sizes and hot partitions, too, with the mail of this `WORKLOAD` or file")
	f.bindSet(flags)
	flags.BoolVar(&f.all, "all", false, "also show notes, accepted findings, and how each pattern is answered")
	flags.Var(oneOf(&f.failOn, []lint.Severity{lint.Error, lint.Warning}, "severity"), "fail-on", "exit with status 3 from this `SEVERITY` on: error or warning")
	flags.StringVar(&f.baseline, "baseline", "", "an earlier report (--json) in `FILE`, whose findings do not fail")
	flags.BoolVar(&f.rules, "rules", false,
		"print all rules, or those named, with reason and fix (with --format markdown as a page)")
	return cmd
}

func (f *lintFlags) run(cmd *cobra.Command, known registry, args []string) error {
	out := cmd.OutOrStdout()
	if f.rules {
		return f.writeRules(out, args)
	}
	earlier, err := readBaseline(f.baseline)
	if err != nil {
		return err
	}
	if f.format, err = formatOf(cmd, f.format); err != nil {
		return err
	}
	if f.format == "markdown" {
		return usagef("--format markdown is for --rules: leave it out, or add --rules")
	}
	engines := f.engines // lint also knows engines that mailbench has no driver for
	if len(engines) > 0 {
		name := func(name string) string { return name }
		if engines, err = pick("engine", engines, lint.EngineNames(), name); err != nil {
			return err
		}
	}
	read, err := f.read(cmd.ErrOrStderr(), known, args)
	if err != nil {
		return err
	}
	mail, err := newLintMail(cmd.Context(), known.words(read...), &f.workloadFlags, f.from)
	if err != nil {
		return err
	}
	reports := make([]*lint.Report, len(read))
	for i, s := range read {
		o := lint.Options{Engines: engines, Hints: known.checkHints, AllowUnread: f.allowUnread}
		if mail != nil {
			if s, o.Numbers, err = mail.of(s, known); err != nil {
				return err
			}
		}
		o.Facts = drivers.FactsOf(known.engines, s)
		if reports[i], err = lint.Check(s, o); err != nil {
			return usage(err)
		}
		if earlier != nil {
			earlier.Mark(reports[i])
			reports[i].Gone = earlier.Left(s.Name)
		}
	}
	columns := 0
	if isTerminal(out) {
		columns = width(out)
	}
	switch f.format {
	case "json":
		err = lint.WriteJSON(out, reports)
	case "junit":
		err = lint.WriteJUnit(out, reports)
	case "sarif":
		err = lint.WriteSARIF(out, reports, run.Environment(".").Version)
	case "github":
		for _, r := range reports {
			err = cmp.Or(err, r.WriteGitHub(out, f.all))
		}
	default:
		for _, r := range reports {
			err = cmp.Or(err, r.WriteText(out, f.all, columns))
		}
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return f.verdict(reports)
}

// read returns the schemas that are named, or that of the CQL.
func (f *lintFlags) read(stderr io.Writer, known registry, args []string) ([]*schemas.Schema, error) {
	switch {
	case len(f.cql) == 0 && len(f.queries) == 0 && f.keyspace == "":
		return known.schemas(args)
	case len(f.cql) == 0:
		return nil, usagef("no tables named; add --cql FILE")
	case len(args) > 0:
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
	printPassed(stderr, r)
	return []*schemas.Schema{r.Schema}, nil
}

// verdict is an error if a report has findings that fail.
func (f *lintFlags) verdict(reports []*lint.Report) error {
	var all lint.Counts
	for _, r := range reports {
		n := r.Counts()
		all.Errors += n.Errors
		all.Warnings += n.Warnings
	}
	var faults []string
	if all.Errors > 0 {
		faults = append(faults, words.Plural(all.Errors, "error"))
	}
	if all.Warnings > 0 && f.failOn == lint.Warning {
		faults = append(faults, words.Plural(all.Warnings, "warning"))
	}
	if len(faults) == 0 {
		return nil
	}
	return statusError{exitBroken, fmt.Errorf("%s in schemas", strings.Join(faults, " and "))}
}

// writeRules prints the rules that are named, or all.
func (f *lintFlags) writeRules(out io.Writer, names []string) error {
	rules := lint.Rules()
	if len(names) > 0 {
		var err error
		if rules, err = pick("rule", names, rules, func(r *lint.Rule) string { return r.ID }); err != nil {
			return err
		}
	}
	if f.format == "markdown" {
		return lint.WriteRulesMarkdown(out, rules)
	}
	return lint.WriteRules(out, rules)
}

// readBaseline reads an earlier report. Without a name there is none.
func readBaseline(name string) (lint.Baseline, error) {
	if name == "" {
		return nil, nil
	}
	text, err := plainfile.Read(name, mostText)
	if err != nil {
		return nil, usagef("read the baseline: %w", err)
	}
	b, err := lint.ReadBaseline(text)
	if err != nil {
		return nil, usagef("read the baseline %s: %w", name, err)
	}
	return b, nil
}

// checkHints says what is wrong with a table's hints for an engine. Engines that are not
// known are refused when the schema is read.
func (r registry) checkHints(engine string, t *schemas.Table) error {
	for _, e := range r.engines {
		switch {
		case e.Name != engine:
		case e.CheckHints != nil:
			return e.CheckHints(t)
		case len(t.Hints[engine]) > 0:
			return errors.New("the engine has no hints")
		}
	}
	return nil
}
