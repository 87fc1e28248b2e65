package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/run"
	"github.com/mailbench/mailbench/workloads/trace"
	"github.com/mailbench/mailbench/workloads/trace/queries"
)

func newSchemaExplain(known registry) *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain MODEL|FILE.yaml [PATTERN…]",
		Short: "Show the requests of each access pattern",
		Args:  cobra.ArbitraryArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return f.run(cmd, known, args) },
	}
	flags := c.Flags()
	flags.StringVarP(&f.engine, "engine", "e", "", "`ENGINE` to compile for: cassandra, hbase, embedded or oraclenosql (default: the one that the schema is written for)")
	flags.StringVar(&f.namespace, "namespace", "", "`NAME` within the names of tables: mailbench_NAME_SCHEMA")
	flags.BoolVar(&f.live, "live", false, "run mail operations on the engine and print the cost of patterns")
	flags.StringArrayVar(&f.queries, "queries", nil, "`FILE` with statements of an application, to run its reads on a live keyspace (can be repeated)")
	flags.StringVar(&f.keyspace, "keyspace", "", "the `KEYSPACE` of --queries")
	flags.StringVar(&f.engineIn, "workload", results.DefaultWorkload, "`WORKLOAD` or file that says where the engine of --queries is and how it is reached")
	f.workloadFlags.bind(flags)
	bindJSON(flags, "print the costs of --live or --queries as JSON")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress")
	return c
}

// explainFlags are the flags of schema explain as they were given.
type explainFlags struct {
	storeFlags
	queries     []string
	live, quiet bool
}

func (f *explainFlags) run(cmd *cobra.Command, known registry, args []string) error {
	switch {
	case len(f.queries) > 0 && len(args) > 0:
		return usagef("--queries creates a schema of the keyspace and the statements; leave %s out", args[0])
	case len(f.queries) > 0 && (f.live || f.namespace != ""):
		return usagef("--queries runs the statements of a file; leave --live and --namespace out")
	case len(f.queries) > 0:
		return f.runQueries(cmd, known)
	case f.keyspace != "":
		return usagef("--keyspace needs --queries")
	case len(args) == 0:
		return oneSchema(cmd, args)
	}
	s, err := known.schema(args[0])
	if err != nil {
		return err
	}
	patterns := s.Patterns
	if len(args) > 1 {
		name := func(p *schemas.Pattern) string { return p.Name }
		if patterns, err = pick("pattern", args[1:], patterns, name); err != nil {
			return err
		}
	}
	e, err := known.engineOf(cmp.Or(f.engine, s.Native), canExplain)
	if err != nil {
		return err
	}
	if f.live && f.namespace != "" {
		return usagef("--live creates its own namespace; leave --namespace out")
	}
	if f.live {
		return f.runLive(cmd, known, args[0], e, patterns)
	}
	for _, flag := range []string{"set", "contact", "json", "quiet"} {
		if cmd.Flags().Changed(flag) {
			return usagef("--%s needs --live or --queries", flag)
		}
	}
	o := drivers.Options{Namespace: f.namespace}
	if f.namespace == "" && slices.ContainsFunc(s.Tables, func(t *schemas.Table) bool { return t.Imported != nil }) {
		o.Keyspace = s.Name // schema import names it so
	}
	return explain(cmd.OutOrStdout(), e, s, patterns, o)
}

// canExplain reports whether an engine compiles patterns without a connection.
func canExplain(e *drivers.Engine) bool { return e.Compile != nil }

// explain prints the requests of each pattern.
func explain(w io.Writer, e drivers.Engine, s *schemas.Schema, patterns []*schemas.Pattern, o drivers.Options) error {
	compile, err := e.Compile(s, o)
	if err != nil {
		return usage(err)
	}
	for i, p := range patterns {
		x, err := compile.Explain(p)
		if err != nil {
			return fmt.Errorf("explain: %w", err)
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", p.Name, p.Doc)
		if x.Refused != nil {
			fmt.Fprintf(w, "  not run: %v\n", x.Refused)
			if x.Runs != nil {
				fmt.Fprintf(w, "  instead runs %s:\n", x.Runs.Name)
			}
		}
		for _, call := range x.Calls {
			fmt.Fprintf(w, "  %s\n", call)
		}
	}
	return nil
}

// runLive runs the operations of a model and prints what its patterns cost.
func (f *explainFlags) runLive(
	cmd *cobra.Command, known registry, name string, e drivers.Engine, patterns []*schemas.Pattern,
) error {
	picked, err := known.pickModels([]string{name})
	if err != nil {
		return fmt.Errorf("--live runs mail operations, so it needs a model: %w", err)
	}
	more, err := contactOverride([]drivers.Engine{e}, f.contact)
	if err != nil {
		return err
	}
	w, err := trace.Workload(slices.Concat(f.set, more)...)
	if err == nil {
		err = w.Check(known.words())
	}
	if err != nil {
		return usage(err)
	}
	bar := newBar(cmd.ErrOrStderr(), f.quiet)
	report, err := trace.Run(cmd.Context(), trace.Config{
		Model: picked[0], Engine: e, Workload: w,
		Progress: func(p run.Progress) { bar.show(p.Model + " on " + p.Engine + ": " + p.Phase) },
	})
	bar.close()
	if err != nil {
		return err
	}
	report.Patterns = slices.DeleteFunc(report.Patterns, func(p trace.Pattern) bool {
		return !slices.ContainsFunc(patterns, func(s *schemas.Pattern) bool { return s.Name == p.Name })
	})
	return show(cmd, report, func(w io.Writer, room int) { _ = report.WriteText(w, e.TraceDoc, room) })
}

// runQueries runs the reads of the files on a live keyspace, and prints what they cost next to what lint says.
func (f *explainFlags) runQueries(cmd *cobra.Command, known registry) error {
	if f.engine == "" || f.keyspace == "" {
		return usagef("--queries runs the statements on a live keyspace; add --engine cassandra and --keyspace NAME")
	}
	sources, err := (&cqlFlags{queries: f.queries}).read()
	if err != nil {
		return err
	}
	return f.use(cmd.Context(), known, &schemas.Schema{Name: "imported"}, func(e drivers.Engine, st drivers.Store) error {
		store, ok := st.(queries.Store)
		if !ok {
			return usagef("--queries: %s does not run CQL statements; expected --engine cassandra", f.engine)
		}
		bar := newBar(cmd.ErrOrStderr(), f.quiet)
		report, err := queries.Run(cmd.Context(), queries.Config{
			Store: store, Engine: e.Name, Keyspace: f.keyspace, Sources: sources, Hints: known.checkHints,
			Progress: func(i, n int) { bar.show(fmt.Sprintf("statement %d of %d", i, n)) },
		})
		bar.close()
		switch {
		case errors.Is(err, queries.ErrInput):
			return usagef("--queries %s: %w", strings.Join(f.queries, ", "), err)
		case err != nil:
			return err
		}
		return show(cmd, report, func(w io.Writer, room int) { _ = report.WriteText(w, e.TraceDoc, room) })
	})
}
