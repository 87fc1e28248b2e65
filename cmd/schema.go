package cmd

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/schemas"
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

// schemas reads the schemas of the names given: models, or files if a name looks like a file.
// Without names, or with "all", it reads the schemas of all models, but not of their variants.
func (r registry) schemas(names []string) ([]*schemas.Schema, error) {
	if len(names) == 0 {
		names = []string{"all"}
	}
	if len(names) == 1 && names[0] == "all" {
		names = nil
		for _, m := range r.models {
			names = append(names, m.Name)
		}
	}
	var read []*schemas.Schema
	for _, name := range names {
		s, err := r.schema(name)
		if err != nil {
			return nil, err
		}
		read = append(read, s)
	}
	return read, nil
}

// schema reads the schema of a model, or a schema file if the name looks like one.
func (r registry) schema(name string) (*schemas.Schema, error) {
	if isFile(name) {
		return r.schemaFile(name)
	}
	if name == "all" {
		return nil, usagef("expected one model or schema file, found %q", name)
	}
	if !slices.Contains(r.modelNames(), name) {
		if _, err := os.Stat(name); err == nil {
			return nil, usagef("unknown model %q; the file of that name is ./%s", name, name)
		}
		return nil, usage(unknown("model", name, append(r.modelNames(), "or a file NAME.yaml")))
	}
	models, err := r.pickModels([]string{name})
	if err != nil {
		return nil, err
	}
	s, err := models[0].Schema()
	if err != nil {
		return nil, fmt.Errorf("schema of model %s: %w", name, err)
	}
	return s, nil
}
