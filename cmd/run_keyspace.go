package cmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/patterns"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/keyspace"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/run"
)

// schemaOf is the schema file whose access patterns the command runs, or "".
func (f *runFlags) schemaOf(args []string) (string, error) {
	if f.schema != "" || f.from != "" || len(args) == 0 || !isFile(args[0]) {
		return f.schema, nil
	}
	src, err := plainfile.Read(args[0], mostText)
	if err != nil {
		return "", missing(fmt.Errorf("read workload: %w", err))
	}
	if keys := strict.Keys(src); !slices.Contains(keys, "schema") || slices.Contains(keys, "variant of") {
		return "", nil
	}
	return args[0], nil
}

// ofSchema lets the run be one of a schema's access patterns: the only model is that of the schema. Without a
// workload file, the workload follows from the schema.
func (f *runFlags) ofSchema(cmd *cobra.Command, known registry, file string, args []string) (registry, error) {
	for _, flag := range []string{"model", "mail", "verify", "data", "shard"} {
		if cmd.Flags().Changed(flag) {
			return known, usagef("--%s is for mail, and %s is a schema: leave the flag out", flag, file)
		}
	}
	s, err := known.schemaFile(file)
	if err != nil {
		return known, err
	}
	if len(s.Tables) == 0 {
		return known, usagef("%s has no table; expected tables: {orders: {partition: [customer uuid]}}", file)
	}
	k, err := keyspace.Of(s, known.engines)
	if err != nil {
		return known, usage(err)
	}
	if !f.quiet {
		for _, note := range k.Notes {
			fmt.Fprintf(cmd.ErrOrStderr(), "mailbench: %s: %s\n", s.File, note)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "mailbench: %s: %s; tables without rows in the schema have as many, %d partitions where "+
			"rows share one (--set population.rows=N changes the number)\n", s.File, words.Plural(k.Rows, "row"),
			patterns.DefaultPartitions)
	}
	sets := []string{k.Kinds(f.prove)}
	switch own := len(args) == 0 || args[0] == file; {
	case f.prove:
		var levels []int
		if f.sweep != "" {
			if levels, err = keyspace.Levels(f.sweep); err != nil {
				return known, usagef("--sweep %w", err)
			}
		}
		f.text, f.textName, f.sweep = []byte(k.ProofWorkload(levels)), file, ""
	case own:
		f.text, f.textName = []byte(k.Workload()), file
	default:
		if src, err := plainfile.Read(args[0], mostText); err == nil && !slices.Contains(strict.Keys(src), "population") {
			sets = append(sets, fmt.Sprintf("population={rows: %d}", k.Rows))
		}
	}
	f.set, f.keyspace = append(sets, f.set...), k
	known.models, f.models = []models.Model{k.Model()}, []string{k.Schema.Name}
	return known, nil
}

// withKeyspace returns the registry with the keyspace of a saved run as its only model, if the run was of one.
func (f *runFlags) withKeyspace(r registry, was *results.Run) (registry, error) {
	if !slices.Contains(strict.Keys([]byte(was.Workload.Text)), "patterns") || len(was.Schemas) != 1 {
		return r, nil
	}
	if f.prove && len(was.Findings) == 0 {
		return r, usagef("--prove: that run was made without --prove; name the schema in place of --from %s", f.from)
	}
	s, err := schemas.Parse("schema of "+was.Schemas[0].Model, []byte(was.Schemas[0].Text))
	if err != nil {
		return r, usage(err)
	}
	k, err := keyspace.Of(s, r.engines)
	if err != nil {
		return r, usage(err)
	}
	r.models = []models.Model{k.Model()}
	f.keyspace, f.prove = k, f.prove || len(was.Findings) > 0
	return r, nil
}

// fitsSchema checks what a workload says of a schema. A workload for mail says nothing.
func (f *runFlags) fitsSchema(c *run.Config, file string) error {
	if len(c.Workload.Patterns) == 0 {
		return nil
	}
	if f.keyspace == nil {
		return usagef("workload %s is for the access patterns of a schema; name its file with --schema FILE", c.Workload.Name)
	}
	if err := keyspace.Check(f.keyspace.Schema, c.Workload, cmp.Or(f.textName, file)); err != nil {
		return usage(err)
	}
	return nil
}

// tellUnproven prints the findings of a schema of which a run shows none.
func tellUnproven(w io.Writer, k *keyspace.Keyspace) (err error) {
	all := k.Findings([]string{""}, &results.Run{})
	if len(all) == 0 {
		_, err = fmt.Fprintln(w, "lint warns of nothing that growth could show")
	}
	for _, f := range all {
		_, err = fmt.Fprintf(w, "%s %s: %s: %s\n", f.Rule, f.Where, f.Verdict, f.Measured)
	}
	return err
}
