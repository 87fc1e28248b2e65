package cmd

import (
	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/workloads"
)

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
