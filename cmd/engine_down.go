package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
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
			if err := in.Down(cmd.Context(), purge); err != nil {
				return err
			}
			what := "stopped; its data are kept in " + in.Dir()
			if purge {
				what = "stopped and removed"
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", args[0], what)
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the instance's `DIR`, as given to engine up")
	cmd.Flags().BoolVar(&purge, "purge", false, "remove its data too")
	return cmd
}
