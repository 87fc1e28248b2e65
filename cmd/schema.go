package cmd

import (
	"github.com/spf13/cobra"
)

func newSchema(known registry) *cobra.Command {
	c := &cobra.Command{
		Use:   "schema",
		Short: "Check, draw and print the schemas of models",
		Long: `A schema says which tables a model has and which access patterns it runs on
them. These commands take the name of a model, or a schema file. They need no Go
code, so a model can be checked before it is written.`,
		Example: `  mailbench schema list
  mailbench schema show james > mine.yaml
  mailbench schema import --cql schema.cql --queries queries.cql > shop.yaml
  mailbench schema render mine.yaml -e cassandra > mine.cql`,
	}
	c.AddCommand(
		newSchemaList(known),
		newSchemaShow(known),
		newSchemaLint(known),
		newSchemaValidate(known),
		newSchemaRender(known),
		newSchemaForecast(known),
		newSchemaDiagram(known),
		newSchemaDiff(known),
		newSchemaExplain(known),
		newSchemaImport(known),
	)
	for _, sub := range c.Commands() {
		if sub.Name() != "list" && sub.Name() != "import" {
			sub.ValidArgsFunction = completeSchema(known)
		}
	}
	return c
}
