package cmd

import (
	"strconv"

	"github.com/spf13/cobra"
)

func newSchemaList(known registry) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the schemas of the models",
		Example: "  mailbench schema list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var rows [][]string
			for _, m := range known.withVariants() {
				s, err := known.schema(m.Name)
				if err != nil {
					return err
				}
				rows = append(rows, []string{s.Name, s.Native, strconv.Itoa(len(s.Tables)), strconv.Itoa(len(s.Patterns)), s.Doc})
			}
			return table(cmd.OutOrStdout(), []string{"SCHEMA", "WRITTEN FOR", "TABLES", "PATTERNS", "WHAT IT IS"}, rows)
		},
	}
}
