package cmd

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/diagram"
)

func newSchemaDiagram(known registry) *cobra.Command {
	var kind, format, file string
	c := &cobra.Command{
		Use:   "diagram MODEL|FILE.yaml",
		Short: "Draw a schema as a Chebotko diagram, or its workflow",
		Long: `Draw a schema as a Chebotko diagram: each table with its key (K), clustering
order (C↑ C↓), static columns (S), indexes (IDX), counters (++) and collections
({} [] <>), and arrows Q1, Q2 … from read to read. The kind physical adds types.
The kind workflow shows the reads themselves in their order.

Without -o the diagram goes to standard output.`,
		Example: `  mailbench schema diagram datastax -o datastax.svg
  mailbench schema diagram james --kind physical -o james.svg
  mailbench schema diagram oracle --kind workflow --format mermaid`,
		Args: oneSchema,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(diagram.Kinds, kind) {
				return usage(unknown("kind", kind, diagram.Kinds))
			}
			write, ok := map[string]func(io.Writer, *schemas.Schema, diagram.Kind) error{
				"svg": diagram.SVG, "mermaid": diagram.Mermaid,
			}[format]
			if !ok {
				return usage(unknown("format", format, []string{"svg", "mermaid"}))
			}
			s, err := known.schema(args[0])
			if err != nil {
				return err
			}
			var text bytes.Buffer
			if err := write(&text, s, diagram.Kind(kind)); err != nil {
				return usage(fmt.Errorf("%s: %w", args[0], err))
			}
			if file == "" || file == "-" {
				_, err = cmd.OutOrStdout().Write(text.Bytes())
				return err
			}
			if isFile(args[0]) && filepath.Clean(args[0]) == filepath.Clean(file) {
				return usagef("--output %s is the schema itself; name another file", file)
			}
			return writeWhole(file, text.Bytes())
		},
	}
	f := c.Flags()
	f.StringVar(&kind, "kind", string(diagram.Logical), "what to draw: `KIND` logical, physical or workflow")
	f.StringVar(&format, "format", "svg", "`FORMAT` svg or mermaid")
	f.StringVarP(&file, "output", "o", "", "write the diagram to this `FILE`, or to standard output (-)")
	return c
}
