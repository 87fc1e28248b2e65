package cmd

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/workloads/run"
)

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
