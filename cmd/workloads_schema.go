package cmd

import (
	"github.com/mailbench/mailbench/workloads"
	"github.com/spf13/cobra"
)

// schemaLine tells an editor which JSON Schema a workload has.
const schemaLine = `# yaml-language-server: $schema=workload.schema.json
# ("mailbench workloads schema > workload.schema.json" makes that file for an editor)`

func newWorkloadsSchema() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of workload files, for editors",
		Example: `  mailbench workloads schema > workload.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(workloads.JSONSchema())
			return err
		},
	}
}
