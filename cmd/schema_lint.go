package cmd

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/workloads/run"
)

// lintFlags are the flags of schema lint as they were given.
type lintFlags struct {
	workloadFlags
	from       string // the workload that sizes come from, or ""
	format     string
	asJSON     bool
	engines    []string
	all, rules bool
}

func newSchemaLint(known registry) *cobra.Command {
	var f lintFlags
	cmd := &cobra.Command{
		Use:   "lint [MODEL|FILE.yaml]...",
		Short: "Check schemas against their queries and their engine",
		Long: `Check every access pattern of a schema against its table: how many partitions
answer it, where its order comes from, and what bounds it. Check the tables for
what grows, what nobody reads, and what the engine refuses. Without arguments
the schemas of all models are checked.

A schema is checked for the engine that it was written for, unless --engine
names others. A table or pattern accepts a finding with its reason:
    accept: {scan-filter: the document finds the folders of a user by a scan}

Errors that are not accepted lead to exit status 3.`,
		Example: `  mailbench schema lint
  mailbench schema lint james --all
  mailbench schema lint mine.yaml -e cassandra,hbase
  mailbench schema lint datastax --workload workday --set population.users=1000
  mailbench schema lint mine.yaml --format sarif > lint.sarif
  mailbench schema lint --rules`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, known, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVarP(&f.engines, "engine", "e", nil,
		"`ENGINES` to check for, separated by commas, or all\n(default: the one that the schema was written for)")
	flags.StringVar(&f.format, "format", "text", "`FORMAT` of the report: text, json or sarif (SARIF 2.1.0)")
	bindJSON(cmd, &f.asJSON)
	flags.StringVar(&f.from, "workload", "",
		"check sizes and hot partitions, too, with the mail of this `WORKLOAD` or file")
	flags.StringArrayVar(&f.set, "set", nil,
		"change one value of the workload: `KEY=VALUE`, such as population.users=10")
	flags.BoolVar(&f.all, "all", false, "also show notes, what is accepted, and how each pattern is answered")
	flags.BoolVar(&f.rules, "rules", false, "print what every rule looks for, why, and what to do")
	return cmd
}

func (f *lintFlags) run(cmd *cobra.Command, known registry, args []string) error {
	out := cmd.OutOrStdout()
	if f.rules {
		if len(args) > 0 {
			return usagef("--rules takes no schema: the rules are the same for all")
		}
		return lint.WriteRules(out)
	}
	var err error
	if f.format, err = formatOf(cmd.Flags(), f.format, f.asJSON); err != nil {
		return err
	}
	if formats := []string{"text", "json", "sarif"}; !slices.Contains(formats, f.format) {
		return usage(unknown("format", f.format, formats))
	}
	engines, err := lintEngines(f.engines)
	if err != nil {
		return err
	}
	read, err := known.schemas(args)
	if err != nil {
		return err
	}
	mail, err := f.mail(cmd.Context(), known)
	if err != nil {
		return err
	}
	reports := make([]*lint.Report, len(read))
	for i, s := range read {
		o := lint.Options{Engines: engines}
		if mail != nil {
			if o.Numbers, err = mail.numbers(known, s); err != nil {
				return err
			}
		}
		if reports[i], err = lint.Check(s, o); err != nil {
			return usage(err)
		}
	}
	switch f.format {
	case "json":
		err = lint.WriteJSON(out, reports)
	case "sarif":
		err = lint.WriteSARIF(out, reports, run.Environment(".").Version)
	default:
		columns := 0
		if isTerminal(out) {
			columns = width(out)
		}
		for _, r := range reports {
			if err = r.WriteText(out, f.all, columns); err != nil {
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	n := 0
	for _, r := range reports {
		n += r.Counts().Errors
	}
	switch n {
	case 0:
		return nil
	case 1:
		return statusError{exitBroken, fmt.Errorf("1 error in schemas")}
	}
	return statusError{exitBroken, fmt.Errorf("%d errors in schemas", n)}
}

// lintEngines checks the names of engines. Lint also knows engines that mailbench has no driver
// for.
func lintEngines(names []string) ([]string, error) {
	switch {
	case len(names) == 0:
		return nil, nil
	case slices.Equal(names, []string{"all"}):
		return lint.EngineNames(), nil
	}
	return pick("engine", names, lint.EngineNames(), func(name string) string { return name })
}
