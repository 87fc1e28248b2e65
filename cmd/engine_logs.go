package cmd

import (
	"github.com/spf13/cobra"
)

func newEngineLogs() *cobra.Command {
	var dir, node string
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs ENGINE",
		Short: "Print the log of one node",
		Example: `  mailbench engine logs cassandra
  mailbench engine logs hbase --node regionserver2 -f`,
		Args: engineName,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := openEngine(args[0], dir)
			if err != nil {
				return err
			}
			return launchError(in.Log(cmd.Context(), cmd.OutOrStdout(), node, follow))
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the instance's `DIR`, as given to engine up")
	cmd.Flags().StringVar(&node, "node", "", "the `NODE`, as engine status names it (default: the first)")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print what is added, until Ctrl-C")
	return cmd
}
