package cmd

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas/diagram"
	"github.com/mailbench/mailbench/workloads/results"
)

func newSchema(known registry) *cobra.Command {
	c := &cobra.Command{
		Use:   "schema",
		Short: "Check, draw and print the schemas of models",
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

func newSchemaList(known registry) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the schemas of the models",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return known.listModels(cmd, true, []string{"SCHEMA", "TARGET ENGINE", "TABLES", "PATTERNS", "DESCRIPTION"},
				func(s listedModel) []string {
					return []string{s.Name, s.Native, strconv.Itoa(s.Tables), strconv.Itoa(s.Patterns), s.Doc}
				})
		},
	}
	bindJSON(c.Flags(), "print JSON")
	return c
}

func newSchemaShow(known registry) *cobra.Command {
	return &cobra.Command{
		Use:   "show MODEL|FILE.yaml",
		Short: "Print a schema as YAML",
		Args:  oneSchema,
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
var oneSchema = lacking(cobra.ExactArgs(1), "expected one model or schema file")

func newSchemaDiagram(known registry) *cobra.Command {
	kind, format, file := diagram.Logical, "svg", ""
	c := &cobra.Command{
		Use:   "diagram MODEL|FILE.yaml",
		Short: "Draw a schema as a Chebotko diagram, or its workflow",
		Args:  oneSchema,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := known.schema(args[0])
			if err != nil {
				return err
			}
			var text bytes.Buffer
			write := diagram.SVG
			if format == "mermaid" {
				write = diagram.Mermaid
			}
			if err := write(&text, s, kind); err != nil {
				return usage(fmt.Errorf("%s: %w", args[0], err))
			}
			if isFile(args[0]) && filepath.Clean(args[0]) == filepath.Clean(file) {
				return usagef("--output %s is the schema itself; name another file", file)
			}
			return writeOutput(cmd.OutOrStdout(), file, text.Bytes(), true)
		},
	}
	f := c.Flags()
	f.Var(oneOf(&kind, diagram.Kinds, "kind"), "kind",
		"the `KIND` of diagram: logical, physical or workflow")
	f.Var(oneOf(&format, []string{"svg", "mermaid"}, "format"), "format", "`FORMAT` svg or mermaid")
	f.StringVarP(&file, "output", "o", "", "write the diagram to this `FILE`, or to standard output (-)")
	return c
}

func newSchemaRender(known registry) *cobra.Command {
	var f workloadFlags
	var engine, from, namespace, file string
	cmd := &cobra.Command{
		Use:   "render MODEL|FILE.yaml",
		Short: "Write a schema in an engine's own language",
		Args:  oneSchema,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := known.schema(args[0])
			if err != nil {
				return err
			}
			canRender := func(e *drivers.Engine) bool { return e.Render != nil }
			e, err := known.engineOf(cmp.Or(engine, s.Native), canRender)
			if err != nil {
				return err
			}
			w, err := f.workload(known.able(canRender), from)
			if err != nil {
				return err
			}
			if strings.ContainsFunc(namespace, notInNames) {
				return usagef("--namespace %q: expected letters, digits and _ only", namespace)
			}
			o := drivers.Options{Namespace: namespace}
			if config := w.Engines[e.Name]; config != nil {
				o.Settings = config.Settings
			}
			text, err := e.Render(s, o)
			if err != nil {
				return usage(err)
			}
			return writeOutput(cmd.OutOrStdout(), file, []byte(text), true)
		},
	}
	cmd.Flags().StringVarP(&engine, "engine", "e", "", "`ENGINE` to write for: cassandra, hbase, oraclenosql or embedded (default: the one that the schema is written for)")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write the statements to this `FILE`, or to standard output (-)")
	cmd.Flags().StringVar(&namespace, "namespace", "",
		"`NAME` within the names of all that is created: mailbench_NAME_SCHEMA")
	cmd.Flags().StringVar(&from, "workload", results.DefaultWorkload, "`WORKLOAD` or file with the engine's settings")
	f.bindSet(cmd.Flags())
	engineSet(cmd.Flags())
	return cmd
}

// notInNames reports whether some engine refuses a character in the name of a keyspace
// or namespace.
func notInNames(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}
