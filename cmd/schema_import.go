package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/imports"
	"github.com/mailbench/mailbench/schemas/words"
)

// importFlags are the flags of schema import as they were given.
type importFlags struct {
	storeFlags
	cqlFlags
	out, saveCQL string
	prepared     bool
	overwrite    bool
}

// cqlFlags name CQL, and say what may be in it.
type cqlFlags struct {
	cql, queries []string
	allowUnread  bool
}

func (f *cqlFlags) bindCQL(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.cql, "cql", nil,
		"`FILE` with the CREATE statements of the keyspace, a folder or pattern of migrations (can be repeated)")
	flags.StringArrayVar(&f.queries, "queries", nil,
		"`FILE` with the statements of the application, a folder or pattern (can be repeated)")
	flags.BoolVar(&f.allowUnread, "allow-unread", false, "a statement that cannot be read is no error")
}

// read reads the files.
func (f *cqlFlags) read() ([]imports.Source, error) {
	all, err := imports.Read(mostText, slices.Concat(f.cql, f.queries)...)
	return all, input(err)
}

func newSchemaImport(known registry) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Create a schema file of an existing keyspace",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return f.run(cmd, known) },
	}
	flags := cmd.Flags()
	f.bindCQL(flags)
	flags.StringVarP(&f.engine, "engine", "e", "", "`ENGINE` to read the tables from: cassandra")
	flags.StringVar(&f.keyspace, "keyspace", "", "the `KEYSPACE` to import (default: the only one)")
	flags.BoolVar(&f.prepared, "prepared", false, "also the statements that clients of a live keyspace have prepared")
	flags.StringVarP(&f.out, "output", "o", "", "`FILE` to write, or standard output (-), as without it")
	flags.StringVar(&f.saveCQL, "save-cql", "", "also write the CQL of a live keyspace to `FILE`, so that findings point at its lines")
	flags.BoolVar(&f.overwrite, "overwrite", false, "overwrite files that are there")
	flags.BoolVar(&f.overwrite, "force", false, "")
	flags.Lookup("force").Hidden = true // the earlier name
	f.bindEngine(flags)
	return cmd
}

func (f *importFlags) run(cmd *cobra.Command, known registry) error {
	if f.engine != "" {
		if _, err := pickEngines([]string{f.engine}, known.engines); err != nil {
			return err
		}
	}
	switch {
	case len(f.cql) == 0 && f.engine == "":
		return usagef("no tables named; add --cql FILE, or --engine cassandra --keyspace NAME")
	case f.engine != "" && f.engine != "cassandra":
		return usagef("--engine %s: only Cassandra describes its tables; write a schema file, as \"mailbench schema show james\" prints one", f.engine)
	case f.engine == "" && f.prepared:
		return usagef("--prepared reads statements of a live engine; add --engine cassandra")
	case len(f.cql) > 0 && f.engine != "":
		return usagef("--cql and --engine both name tables; leave one out")
	case f.engine != "" && f.keyspace == "":
		return usagef("--engine %s: name the tables to import with --keyspace NAME", f.engine)
	case f.engine == "" && f.saveCQL != "":
		return usagef("--save-cql writes the CQL of a live keyspace; add --engine cassandra")
	}
	sources, err := f.sources(cmd.Context(), cmd.OutOrStdout(), known)
	if err != nil {
		return err
	}
	r, err := imports.Import(f.keyspace, sources...)
	if err != nil {
		return usagef("import: %w", err)
	}
	if len(r.Schema.Tables) > 0 {
		if err := writeOutput(cmd.OutOrStdout(), f.out, r.Text, f.overwrite); err != nil {
			return err
		}
		if !toStdout(f.out) { // else the output is the schema
			fmt.Fprintln(cmd.OutOrStdout(), r.Summary())
		}
	}
	for _, u := range r.Unread {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s:%d: not read: %s\n", u.Pos.Filename, u.Pos.Line, u.Reason)
	}
	printPassed(cmd.ErrOrStderr(), r)
	if len(r.Schema.Tables) == 0 {
		return statusError{exitBroken, errors.New("import: no table could be read; correct the CQL")}
	}
	if n := len(r.Unread); n > 0 && !f.allowUnread {
		return statusError{exitBroken, fmt.Errorf("left out of the schema: %s that could not be read; correct the CQL, or add "+
			"--allow-unread", words.Plural(n, "statement"))}
	}
	return nil
}

// printPassed names what defines no table of the keyspace and is no access to one.
func printPassed(w io.Writer, r *imports.Result) {
	for _, u := range r.Passed {
		fmt.Fprintf(w, "%s:%d: not judged: %s\n", u.Pos.Filename, u.Pos.Line, u.Reason)
	}
}

// sources reads the files, and the CQL of a live keyspace.
func (f *importFlags) sources(ctx context.Context, out io.Writer, known registry) ([]imports.Source, error) {
	var all []imports.Source
	if f.engine != "" {
		text, prepared, err := f.describe(ctx, known)
		if err != nil {
			return nil, err
		}
		if f.prepared {
			all = append(all, imports.Source{File: "system.prepared_statements", Text: prepared})
		}
		name := "DESCRIBE KEYSPACE " + f.keyspace
		if f.saveCQL != "" {
			name = f.saveCQL
			if err := writeOutput(out, f.saveCQL, []byte(text), f.overwrite); err != nil {
				return nil, err
			}
		}
		all = append(all, imports.Source{File: name, Text: text})
	}
	files, err := f.read()
	return append(all, files...), err
}

// describe returns the CQL of a live keyspace, and what clients of it have prepared.
func (f *importFlags) describe(ctx context.Context, known registry) (text, prepared string, err error) {
	err = f.use(ctx, known, &schemas.Schema{Name: "imported"}, func(_ drivers.Engine, st drivers.Store) (err error) {
		d, ok := st.(drivers.Describer)
		if !ok {
			return usagef("--engine %s: it has no statements that describe a keyspace; expected cassandra", f.engine)
		}
		if text, err = d.Describe(ctx, f.keyspace); err == nil && f.prepared {
			prepared, err = d.Prepared(ctx, f.keyspace)
		}
		return err
	})
	return text, prepared, err
}
