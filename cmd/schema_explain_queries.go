package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/trace/queries"
)

// queriesFlags are the flags of schema explain --queries as they were given.
type queriesFlags struct {
	queries []string
	store   storeFlags
	json    bool
	quiet   bool
}

// run runs the reads of the files on a live keyspace, and prints what they cost beside what lint says.
func (f *queriesFlags) run(cmd *cobra.Command, known registry) (err error) {
	if f.store.engine == "" || f.store.keyspace == "" {
		return usagef("--queries runs the statements on a live keyspace; add --engine cassandra and --keyspace NAME")
	}
	sources, err := readSources(f.queries)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	st, err := f.store.open(ctx, known, &schemas.Schema{Name: "imported"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	store, ok := st.(queries.Store)
	if !ok {
		return usagef("--queries: %s runs no statements of one's own; expected --engine cassandra", f.store.engine)
	}
	var legend string
	for _, e := range known.engines {
		if e.Name == f.store.engine {
			legend = e.TraceDoc
		}
	}
	bar := newLineBar(cmd.ErrOrStderr(), f.quiet)
	report, err := queries.Run(ctx, queries.Config{
		Store: store, Engine: f.store.engine, Keyspace: f.store.keyspace, Sources: sources, Hints: known.checkHints,
		Progress: func(i, n int) { bar.show(fmt.Sprintf("statement %d of %d", i, n)) },
	})
	bar.close()
	if errors.Is(err, queries.ErrInput) {
		return usage(fmt.Errorf("--queries %s: %w", strings.Join(f.queries, ", "), err))
	}
	if err != nil {
		return f.store.absent(err)
	}
	out := cmd.OutOrStdout()
	if f.json {
		err = printJSON(out, report)
	} else {
		room, _ := wanted(out)
		err = report.WriteText(out, legend, room)
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}
