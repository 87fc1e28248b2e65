package cmd

import (
	"strconv"

	"github.com/spf13/cobra"
)

func newSchemaList(known registry) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the schemas of the models",
		Example: `  mailbench schema list
  mailbench schema list --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var rows [][]string
			var all []listedSchema
			for _, m := range known.withVariants() {
				s, err := known.schema(m.Name)
				if err != nil {
					return err
				}
				rows = append(rows, []string{s.Name, s.Native, strconv.Itoa(len(s.Tables)), strconv.Itoa(len(s.Patterns)), s.Doc})
				all = append(all, listedSchema{s.Name, s.Native, len(s.Tables), len(s.Patterns), s.Doc})
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), all)
			}
			return table(cmd.OutOrStdout(), []string{"SCHEMA", "WRITTEN FOR", "TABLES", "PATTERNS", "WHAT IT IS"}, rows)
		},
	}
	bindJSON(c, &asJSON)
	return c
}
