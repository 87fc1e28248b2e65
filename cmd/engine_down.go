package cmd

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers/launch"
)

func newEngineDown() *cobra.Command {
	var dir string
	var purge bool
	cmd := &cobra.Command{
		Use:   "down ENGINE",
		Short: "Stop an engine that engine up has started",
		Example: `  mailbench engine down cassandra
  mailbench engine down hbase --purge`,
		Args: engineName,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := openEngine(args[0], dir)
			if err != nil {
				return err
			}
			what, kept := "was not running", "; its data are kept in "+in.Dir()
			if slices.ContainsFunc(in.Nodes(), launch.Node.Running) {
				what = "stopped"
			}
			if err := in.Down(cmd.Context(), purge); err != nil {
				return err
			}
			if purge {
				kept = "; its data are removed"
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s%s\n", args[0], what, kept)
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the instance's `DIR`, as given to engine up")
	cmd.Flags().BoolVar(&purge, "purge", false, "remove its data too")
	return cmd
}
