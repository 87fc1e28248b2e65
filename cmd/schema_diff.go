package cmd

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/words"
)

func newSchemaDiff(known registry) *cobra.Command {
	var f storeFlags
	var ignore []string
	cmd := &cobra.Command{
		Use:   "diff MODEL|FILE.yaml",
		Short: "Compare a schema with the tables that an engine has",
		Args:  oneSchema,
		RunE: known.onSchema(func(cmd *cobra.Command, s *schemas.Schema, name string) error {
			return f.use(cmd.Context(), known, s, func(_ drivers.Engine, st drivers.Store) error {
				c, err := drivers.Compare(cmd.Context(), st, s)
				if err != nil {
					return err
				}
				idle, version := c.Ignore(ignore), st.Capabilities().Version
				err = show(cmd, schemaDiff{s.Name, f.engine, version, c}, func(out io.Writer, _ int) {
					missing := allMissing(s, c)
					if missing == 0 {
						writeDiff(out, s, version, c, idle)
						return
					}
					fmt.Fprintf(out, "%s (%s) has nothing of schema %s: all its %s are missing. \"mailbench schema render %s -e %s\" "+
						"prints the statements that create them.\n",
						c.Where, version, s.Name, words.Plural(missing, "table"), name, f.engine)
					// It is open for reading only.
					if absent := st.Apply(cmd.Context(), s); errors.As(absent, new(*drivers.AbsentError)) {
						fmt.Fprintf(out, "Note: %v.\n", f.absent(absent))
					}
				})
				if err == nil && !c.AsDocument() {
					err = statusError{exitBroken, fmt.Errorf("%s differs from schema %s", c.Where, s.Name)}
				}
				return err
			})
		}),
	}
	f.bind(cmd.Flags())
	bindJSON(cmd.Flags(), "print JSON")
	bindList(cmd.Flags(), &ignore, "ignore", "", "accept these differences: `WORDS`, separated by commas (can be repeated)")
	return cmd
}

// allMissing counts the tables that an engine lacks; 0 if it has one of them, or if there is another
// difference.
func allMissing(s *schemas.Schema, c *drivers.Comparison) (missing int) {
	for _, t := range s.Tables {
		if !t.Header() {
			missing++
		}
	}
	other := func(d drivers.Drift) bool { return d.Kind != schemas.MissingTable }
	if len(c.Drifts) != missing || slices.ContainsFunc(c.Drifts, other) {
		return 0
	}
	return missing
}

// writeDiff prints a comparison for people, and what --ignore left out. A statement that fixes several differences is
// printed with the first of them.
func writeDiff(out io.Writer, s *schemas.Schema, version string, c *drivers.Comparison, idle []string) {
	says := "differs from schema %s"
	switch {
	case len(c.Drifts) == 0 && len(c.Ignored) > 0:
		says = "equals schema %s, except for ignored differences"
	case len(c.Drifts) == 0:
		says = "equals schema %s: no difference"
	case c.AsDocument():
		says = "equals the source design of schema %s: only extensions are missing"
	}
	fmt.Fprintf(out, "%s (%s) "+says+".\n", c.Where, version, s.Name)
	printed := make(map[string]bool)
	for i, d := range c.Drifts {
		if i == 0 || d.Harm != c.Drifts[i-1].Harm {
			fmt.Fprintf(out, "\n%s\n", strings.ToUpper(d.Harm.String()))
		}
		fmt.Fprintf(out, "  %s\n", d)
		for _, stmt := range d.Fix {
			if !printed[stmt] {
				fmt.Fprintf(out, "      %s\n", strings.ReplaceAll(stmt, "\n", "\n      "))
			}
			printed[stmt] = true
		}
	}
	if len(c.Unseen) > 0 {
		fmt.Fprintf(out, "\n%s\n", strings.Join(c.Unseen, "\n"))
	}
	if len(c.Ignored) > 0 {
		fmt.Fprintf(out, "\n%s ignored:\n", words.Plural(len(c.Ignored), "difference"))
	}
	for _, d := range c.Ignored {
		fmt.Fprintf(out, "  %s\n", d)
	}
	if len(idle) > 0 {
		fmt.Fprintf(out, "\n--ignore names no difference: %s\n", strings.Join(idle, ", "))
	}
}

// schemaDiff is the JSON of a comparison. Fields are added, never removed.
type schemaDiff struct {
	Schema  string `json:"schema"`
	Engine  string `json:"engine"`
	Version string `json:"version"`
	*drivers.Comparison
}
