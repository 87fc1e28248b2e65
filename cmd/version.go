package cmd

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/workloads/run"
)

func newVersion() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version and what it was built from",
		Example: `  mailbench version
  mailbench version --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if e := run.Environment("."); asJSON {
				return printJSON(cmd.OutOrStdout(), listedVersion{e.Version, e.Commit, e.Dirty, e.Go, e.OS, e.Arch})
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionLine())
			return err
		},
	}
	bindJSON(c, &asJSON)
	return c
}

// listedVersion is the JSON of a version. Its keys are those of run.json.
type listedVersion struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Dirty   bool   `json:"dirty,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
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
