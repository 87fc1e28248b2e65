package cmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func newEngineStatus() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status ENGINE",
		Short: "List an engine's nodes; exit status 1 if not all are running",
		Example: `  mailbench engine status cassandra
  mailbench engine status cassandra --dir second
  mailbench engine status cassandra --json`,
		Args: engineName,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := openEngine(args[0], dir)
			if err != nil {
				return err
			}
			var rows [][]string
			all := []listedNode{}
			down := 0
			for _, n := range in.Nodes() {
				one := listNode(n)
				row := []string{n.Name, n.Address, "down", "-", "-", "-"}
				if one.Running {
					row = []string{
						n.Name, n.Address, "up", fmt.Sprint(one.PID),
						time.Since(n.Process.Started).Round(time.Second).String(), fmt.Sprintf("%d MiB", one.Memory>>20),
					}
				} else {
					down++
				}
				rows, all = append(rows, row), append(all, one)
			}
			print := func() error {
				if asJSON {
					return printJSON(cmd.OutOrStdout(), all)
				}
				return table(cmd.OutOrStdout(), []string{"NODE", "ADDRESS", "STATE", "PID", "UPTIME", "MEMORY"}, rows)
			}
			if err := print(); err != nil {
				return err
			}
			if down > 0 {
				return fmt.Errorf("%d of %d nodes of %s are down; %s starts them", down, len(rows),
					args[0], upCommand(args[0], dir))
			}
			return nil
		},
	}
	bindJSON(cmd, &asJSON)
	cmd.Flags().StringVar(&dir, "dir", "", "the instance's `DIR`, as given to engine up")
	return cmd
}
