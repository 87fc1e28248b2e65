package cmd

import "github.com/spf13/cobra"

func newSchemaShow(known registry) *cobra.Command {
	return &cobra.Command{
		Use:   "show MODEL|FILE.yaml",
		Short: "Print a schema as YAML",
		Example: `  mailbench schema show james
  mailbench schema show james > mine.yaml`,
		Args: oneSchema,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := known.schema(args[0])
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(s.Source)
			return err
		},
	}
}

// oneSchema checks the arguments of a command on one schema.
func oneSchema(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("expected one model or schema file; see %q", cmd.CommandPath()+" --help")
	}
	return nil
}
