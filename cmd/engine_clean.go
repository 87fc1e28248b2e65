package cmd

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/run"
)

func newEngineClean(known registry) *cobra.Command {
	var f workloadFlags
	var from string
	cmd := &cobra.Command{
		Use:   "clean ENGINE [NAMESPACE...]",
		Short: "List the namespaces that runs left on an engine, or drop those named",
		Long: `List the namespaces on an engine that carry mailbench's mark, or drop those
named, with all data in them. A run drops its own namespaces when it ends. Those
that are there belong to a run that goes on, to a data folder (--data), or to a run
that was killed. Nothing else on the engine is touched.`,
		Example: `  mailbench engine clean cassandra
  mailbench engine clean cassandra q5k2m7v3 --contact 10.0.0.1`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no engine named; see %q", cmd.CommandPath()+" --help")
			}
			w, err := f.workload(known.engines, from)
			if err != nil {
				return err
			}
			engines, err := known.pickEngines(args[:1])
			if err != nil {
				return err
			}
			if len(engines) != 1 || !engines[0].Remote {
				return usagef("engine %s keeps its data in folders of this machine; there is nothing to clean", args[0])
			}
			if err := contact(w, engines, f.contact); err != nil {
				return err
			}
			return clean(cmd, engines[0], w, args[1:])
		},
	}
	cmd.Flags().StringVar(&from, "workload", "quick", "`WORKLOAD` or file that says where the engine is and how it is reached")
	f.bind(cmd.Flags())
	return cmd
}

// clean lists the namespaces of an engine, or drops those named, all of which
// must be there.
func clean(cmd *cobra.Command, e drivers.Engine, w *workloads.Workload, names []string) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	there, err := run.Namespaces(ctx, e, w)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		if len(there) == 0 {
			fmt.Fprintf(out, "nothing of mailbench is on %s\n", e.Name)
			return nil
		}
		for _, name := range there {
			fmt.Fprintln(out, name)
		}
		return nil
	}
	for _, name := range names {
		if !slices.Contains(there, name) {
			return usage(unknown("namespace of "+e.Name, name, there))
		}
	}
	for _, name := range names {
		if err := run.DropNamespace(ctx, e, w, name); err != nil {
			return err
		}
		fmt.Fprintf(out, "dropped %s\n", name)
	}
	return nil
}
