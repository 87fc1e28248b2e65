package cmd

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/describe"
	"github.com/mailbench/mailbench/schemas/words"
)

func newModels(known registry) *cobra.Command {
	var engines []string
	var asJSON bool
	c := &cobra.Command{
		Use:   "models [NAME|FILE.yaml]",
		Short: "List the mailbox data models and their variants, or describe one",
		Long: `List the mailbox data models and their variants, or describe one: its tables
with keys, orders, settings and additions to the document, its access patterns,
and which of them an engine runs differently. -e adds what each pattern asks of
engines. A schema file is described in the same way.`,
		Example: `  mailbench models
  mailbench models james
  mailbench models datastax -e cassandra,hbase
  mailbench models new mymail`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeSchema(known),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return known.describeModel(cmd.OutOrStdout(), args[0], engines, asJSON)
			}
			if len(engines) > 0 {
				return usagef("--engine needs a model; expected mailbench models NAME")
			}
			var rows [][]string
			var all []listedModel
			for _, m := range known.withVariants() {
				s, err := m.Schema()
				if err != nil {
					return fmt.Errorf("schema of model %s: %w", m.Name, err)
				}
				rows = append(rows, []string{m.Name, s.Native, words.Plural(len(s.Tables), "table"), m.Doc})
				all = append(all, listedModel{m.Name, s.Native, len(s.Tables), m.Doc})
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), all)
			}
			return table(cmd.OutOrStdout(), []string{"MODEL", "WRITTEN FOR", "SCHEMA", "WHAT IT IS"}, rows)
		},
	}
	bindList(c.Flags(), &engines, "engine", "e", "`ENGINES` whose calls to show, or all")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON; for a model with the calls of all engines, or of those that -e names")
	c.AddCommand(newModelsNew(known))
	return c
}

// describeModel prints the description of a model, or of a schema file. The text shows the calls of
// the named engines. JSON has those of the named engines, or of all.
func (r registry) describeModel(w io.Writer, name string, engines []string, asJSON bool) error {
	s, err := r.schema(name)
	if err != nil {
		return err
	}
	shown := r.explainers()
	if len(engines) > 0 && !slices.Equal(engines, []string{"all"}) {
		if shown, err = pick("engine", engines, shown, func(e drivers.Engine) string { return e.Name }); err != nil {
			return err
		}
	}
	d, err := describe.Make(s, shown, len(engines) > 0)
	if err != nil {
		return usage(err)
	}
	if !asJSON {
		return d.WriteText(w, name, min(80, width(w)))
	}
	m, err := d.JSON()
	if err != nil {
		return err
	}
	return printJSON(w, m)
}
