package main

import (
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"

	"github.com/spf13/cobra"

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
		Use:     "engines",
		Short:   "List the engines",
		Example: "  mailbench engines",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var rows [][]string
			for _, e := range allEngines() {
				rows = append(rows, []string{e.Name, e.Doc})
			}
			return table(cmd.OutOrStdout(), []string{"ENGINE", "WHAT IT IS"}, rows)
		},
	}
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
