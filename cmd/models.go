package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newModels(known registry) *cobra.Command {
	c := &cobra.Command{
		Use:     "models",
		Short:   "List the mailbox data models and their variants",
		Example: "  mailbench models\n  mailbench models new mymail",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var rows [][]string
			for _, m := range known.withVariants() {
				s, err := m.Schema()
				if err != nil {
					return fmt.Errorf("schema of model %s: %w", m.Name, err)
				}
				rows = append(rows, []string{m.Name, s.Native, fmt.Sprintf("%d tables", len(s.Tables)), m.Doc})
			}
			return table(cmd.OutOrStdout(), []string{"MODEL", "WRITTEN FOR", "SCHEMA", "WHAT IT IS"}, rows)
		},
	}
	c.AddCommand(newModelsNew(known))
	return c
}
