package main

import (
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/run"
)

func newModels() *cobra.Command {
	return &cobra.Command{
		Use:     "models",
		Short:   "List the mailbox data models",
		Example: "  mailbench models",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var rows [][]string
			for _, m := range allModels() {
				s, err := m.Schema()
				if err != nil {
					return fmt.Errorf("schema of model %s: %w", m.Name, err)
				}
				rows = append(rows, []string{m.Name, s.Native, fmt.Sprintf("%d tables", len(s.Tables)), m.Doc})
			}
			return table(cmd.OutOrStdout(), []string{"MODEL", "WRITTEN FOR", "SCHEMA", "WHAT IT IS"}, rows)
		},
	}
}

func newEngines() *cobra.Command {
	return &cobra.Command{
		Use:   "engines [NAME]",
		Short: "List the engines, or what one can be told",
		Long: `List the engines, or the settings of one. Settings stand in a workload's section
engines, or are given by --set engines.NAME.SETTING=VALUE; passwords come from the
environment variables named.`,
		Example: `  mailbench engines
  mailbench engines embedded`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if len(args) == 1 {
				engines, err := pickEngines(args)
				if err != nil {
					return err
				}
				for _, e := range engines {
					if err := describe(out, &e); err != nil {
						return err
					}
				}
				return nil
			}
			var rows [][]string
			for _, e := range allEngines() {
				rows = append(rows, []string{e.Name, e.Doc})
			}
			return table(out, []string{"ENGINE", "WHAT IT IS"}, rows)
		},
	}
}

// describe prints what an engine can be told.
func describe(w io.Writer, e *drivers.Engine) error {
	fmt.Fprintf(w, "%s: %s\n", e.Name, e.Doc)
	var rows [][]string
	if e.Remote {
		rows = append(rows, []string{"contact", "this machine", "its nodes: HOST, HOST:PORT or a list of them; also --contact"})
	}
	for _, s := range e.Settings {
		rows = append(rows, []string{s.Name, s.Default, s.Doc})
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "It has no settings.")
		return err
	}
	fmt.Fprintln(w)
	if err := table(w, []string{"SETTING", "DEFAULT", "WHAT IT IS"}, rows); err != nil || len(e.Environment) == 0 {
		return err
	}
	rows = nil
	for _, v := range e.Environment {
		rows = append(rows, []string{v.Name, v.Doc})
	}
	fmt.Fprintln(w)
	return table(w, []string{"ENVIRONMENT", "WHAT IT IS"}, rows)
}

func newWorkloads() *cobra.Command {
	return &cobra.Command{
		Use:   "workloads [NAME]",
		Short: "List the bundled workloads, or print one as YAML",
		Example: `  mailbench workloads
  mailbench workloads quick > mine.yaml && mailbench run mine.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if len(args) == 1 {
				w, err := workloads.Bundled(args[0])
				if err != nil {
					return usage(err)
				}
				_, err = out.Write(w.Source)
				return err
			}
			var rows [][]string
			for _, name := range workloads.BundledNames() {
				w, err := workloads.Bundled(name)
				if err != nil {
					return err
				}
				rows = append(rows, []string{name, w.Doc})
			}
			return table(out, []string{"WORKLOAD", "WHAT IT SHOWS"}, rows)
		},
	}
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version and what it was built from",
		Example: "  mailbench version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionLine())
			return err
		},
	}
}

// versionLine says which mailbench this is.
func versionLine() string {
	e := run.Environment(".")
	built := e.Go + " " + runtime.GOOS + "/" + runtime.GOARCH
	if e.Commit != "" {
		built = "commit " + e.Commit + ", " + built
	}
	if e.Dirty {
		built += ", with uncommitted changes"
	}
	return fmt.Sprintf("mailbench %s (%s)", e.Version, built)
}

// table prints rows in columns under their heads.
func table(w io.Writer, head []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
