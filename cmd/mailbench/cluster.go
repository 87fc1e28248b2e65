package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/run"
)

// engineWords are what a workload may say of the engines.
func engineWords(engines []drivers.Engine) map[string]workloads.EngineWords {
	known := map[string]workloads.EngineWords{}
	for _, e := range engines {
		known[e.Name] = workloads.EngineWords{Remote: e.Remote, Settings: settingNames(e.Settings), Environment: settingNames(e.Environment)}
	}
	return known
}

func settingNames(settings []drivers.Setting) []string {
	names := make([]string, len(settings))
	for i, s := range settings {
		names[i] = s.Name
	}
	return names
}

// contact puts the addresses of --contact into the workload, for the one engine
// of those that run which is reached over the network.
func contact(w *workloads.Workload, engines []drivers.Engine, addresses []string) error {
	if len(addresses) == 0 {
		return nil
	}
	for _, a := range addresses {
		if err := workloads.CheckContact(a); err != nil {
			return usagef("--contact: %w", err)
		}
	}
	var remote []string
	for _, e := range engines {
		if e.Remote {
			remote = append(remote, e.Name)
		}
	}
	switch len(remote) {
	case 0:
		return usagef("--contact %s: none of the engines named is reached over the network; name one with --engine", strings.Join(addresses, ","))
	case 1:
	default:
		return usagef("--contact %s: which of %s is there? say it for each with --set engines.NAME.contact=HOST", strings.Join(addresses, ","), strings.Join(remote, ", "))
	}
	e := w.Engines[remote[0]]
	if e == nil {
		e = &workloads.Engine{}
		w.Engines[remote[0]] = e
	}
	e.Contact = addresses
	return nil
}

// newEngineClean is "mailbench engine clean": it lists and drops what runs left.
func newEngineClean() *cobra.Command {
	var f runFlags
	var from string
	cmd := &cobra.Command{
		Use:   "clean ENGINE [NAMESPACE...]",
		Short: "List the namespaces that runs left on an engine, or drop those named",
		Long: `List the namespaces on an engine that carry mailbench's mark, or drop those
named, with all data in them. A run drops its own when it ends; what is there is
used by a run that goes on, kept for a data folder (--data), or was left by a run
that was killed. Nothing else on the engine is touched.`,
		Example: `  mailbench engine clean cassandra
  mailbench engine clean cassandra q5k2m7v3 --contact 10.0.0.1`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no engine named; see %q", cmd.CommandPath()+" --help")
			}
			w, err := f.workload(from, false)
			if err != nil {
				return err
			}
			e, err := f.remoteEngine(w, args[0])
			if err != nil {
				return err
			}
			return clean(cmd, e, w, args[1:])
		},
	}
	cmd.Flags().StringVar(&from, "workload", "quick", "`WORKLOAD` or file that says where the engine is and how it is reached")
	f.bindCluster(cmd.Flags())
	return cmd
}

// remoteEngine is the engine of that name, which must be reached over the
// network, and is where the workload or --contact says.
func (f *runFlags) remoteEngine(w *workloads.Workload, name string) (drivers.Engine, error) {
	engines, err := pickEngines([]string{name})
	if err != nil {
		return drivers.Engine{}, err
	}
	if len(engines) != 1 || !engines[0].Remote {
		return drivers.Engine{}, usagef("engine %s keeps its data in folders of this machine; there is nothing to clean", name)
	}
	return engines[0], contact(w, engines, f.contact)
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
