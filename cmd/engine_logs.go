package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers/launch"
)

// tailOfAll is how many lines of each log are printed if no engine is named.
const tailOfAll = 20

func newEngineLogs() *cobra.Command {
	var dir, node string
	var tail int
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs [ENGINE]",
		Short: "Print the log of one node, or the ends of all logs",
		Example: `  mailbench engine logs
  mailbench engine logs cassandra --tail 50
  mailbench engine logs hbase --node regionserver2 -f`,
		Args: engineOrAll,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				in, err := openEngine(args[0], dir)
				if err != nil {
					return err
				}
				return launchError(in.Log(cmd.Context(), cmd.OutOrStdout(), node, tail, follow))
			}
			if follow || node != "" {
				return usagef("--follow and --node are of one engine: name it")
			}
			if !cmd.Flags().Changed("tail") {
				tail = tailOfAll
			}
			return eachEngine(cmd, func(name string, in *launch.Instance) error {
				for _, n := range in.Nodes() {
					fmt.Fprintf(cmd.OutOrStdout(), "==> %s %s <==\n", name, n.Name)
					if err := in.Log(cmd.Context(), cmd.OutOrStdout(), n.Name, tail, false); err != nil {
						return launchError(err)
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "the instance's `DIR`, as given to engine up")
	cmd.Flags().StringVar(&node, "node", "", "the `NODE`, as engine status names it (default: the first)")
	cmd.Flags().Var(whole(&tail, 0, 1_000_000), "tail",
		fmt.Sprintf("print the last `N` lines only; 0: all (of all engines %d)", tailOfAll))
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print what is added, until Ctrl-C")
	return cmd
}
