package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/describe"
	"github.com/mailbench/mailbench/reports/page"
	"github.com/mailbench/mailbench/reports/screen"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/diagram"
	"github.com/mailbench/mailbench/schemas/imports"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/run"
	"github.com/mailbench/mailbench/workloads/trace"
)

func newSchema(known registry) *cobra.Command {
	c := &cobra.Command{Use: "schema"}
	c.AddCommand(newSchemaShow(known), newSchemaLint(known), newSchemaValidate(known),
		newSchemaRender(known), newSchemaForecast(known), newSchemaDiagram(known), newSchemaDiff(known),
		newSchemaExplain(known), newSchemaImport(known))
	return c
}

func newSchemaShow(known registry) *cobra.Command {
	return known.onSchema("show", func(cmd *cobra.Command, s *schemas.Schema, _ string) error {
		_, err := cmd.OutOrStdout().Write(s.Source)
		return err
	})
}

// oneSchema checks the arguments of a command on one schema.
var oneSchema = lacking(cobra.ExactArgs(1), "expected one model or schema file")

// onSchema is a command on the schema that its only argument names.
func (r registry) onSchema(
	name string, do func(cmd *cobra.Command, s *schemas.Schema, name string) error,
) *cobra.Command {
	c := command(name+" MODEL|FILE.yaml", oneSchema, func(cmd *cobra.Command, args []string) error {
		s, err := r.schema(args[0])
		if err != nil {
			return err
		}
		return do(cmd, s, args[0])
	})
	c.ValidArgsFunction = completeSchema(r)
	return c
}

func newSchemaDiagram(known registry) *cobra.Command {
	kind, format := diagram.Logical, "svg"
	var to output
	c := known.onSchema("diagram", func(cmd *cobra.Command, s *schemas.Schema, name string) error {
		var text bytes.Buffer
		write := diagram.SVG
		if format == "mermaid" {
			write = diagram.Mermaid
		}
		if err := write(&text, s, kind); err != nil {
			return usagef("%s: %w", name, err)
		}
		return to.write(cmd.OutOrStdout(), text.Bytes(), page.Ours, name)
	})
	f := c.Flags()
	f.Var(oneOf(&kind, diagram.Kinds, "kind"), "kind",
		"the `KIND` of diagram: logical, physical or workflow")
	f.Var(oneOf(&format, []string{"svg", "mermaid"}, "format"), "format", "`FORMAT` svg or mermaid")
	to.bindOutput(f, "write the diagram to this `FILE`, or to standard output (-)", aFileThere)
	return c
}

func newSchemaRender(known registry) *cobra.Command {
	var f workloadFlags
	var engine, namespace string
	var to output
	cmd := known.onSchema("render", func(cmd *cobra.Command, s *schemas.Schema, name string) error {
		canRender := func(e *drivers.Engine) bool { return e.Render != nil }
		e, err := known.engineOf(cmp.Or(engine, s.Native), canRender)
		if err != nil {
			return err
		}
		w, err := f.workload(known.engineWords(), f.engineIn)
		if err != nil {
			return err
		}
		o := drivers.Options{Namespace: namespace}
		if config := w.Engines[e.Name]; config != nil {
			o.Settings = config.Settings
		}
		text, err := e.Render(s, o)
		if err != nil {
			return usage(err)
		}
		return to.write(cmd.OutOrStdout(), []byte(text), page.Ours, name)
	})
	cmd.Flags().StringVarP(&engine, "engine", "e", "", "`ENGINE` to write for: cassandra, hbase or oraclenosql (default: the one that the schema is written for)")
	to.bindOutput(cmd.Flags(), "write the statements to this `FILE`, or to standard output (-)", aFileThere)
	cmd.Flags().Var(inNames(&namespace), "namespace",
		"`NAME` within the names of all that is created: mailbench_NAME_SCHEMA")
	cmd.Flags().StringVar(&f.engineIn, "workload", results.DefaultWorkload,
		"`WORKLOAD` or file with the engine's settings")
	f.bindSet(cmd.Flags())
	return cmd
}

// inNames is the value of a flag that every engine accepts within the name of a keyspace or namespace.
func inNames(value *string) *accepted {
	a := parsed(value, func(text string) (string, error) {
		if !regexp.MustCompile(`^[0-9A-Za-z_]*$`).MatchString(text) {
			return "", errors.New("no name")
		}
		return text, nil
	})
	a.what, a.expected = "", "letters, digits and _ only"
	return a
}

func newSchemaExplain(known registry) *cobra.Command {
	var f explainFlags
	c := command("explain MODEL|FILE.yaml [PATTERN…]", cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
		return f.run(cmd, known, args)
	})
	c.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return completeSchema(known)(cmd, args, typed)
		}
		s, err := known.schema(args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return mapped(s.Patterns, func(p *schemas.Pattern) string { return p.Name }), cobra.ShellCompDirectiveNoFileComp
	}
	flags := c.Flags()
	flags.StringVarP(&f.engine, "engine", "e", "", "`ENGINE` to compile for: cassandra, hbase, embedded or oraclenosql (default: the one that the schema is written for)")
	flags.Var(inNames(&f.namespace), "namespace", "`NAME` within the names of tables: mailbench_NAME_SCHEMA")
	flags.BoolVar(&f.live, "live", false, "run mail operations on the engine and print the cost of patterns")
	flags.StringArrayVar(&f.set, "set", nil, setOfWorkload)
	bindList(flags, &f.contact, "contact", "", contactUsage)
	bindJSON(flags, "print the costs of --live as JSON")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress")
	return c
}

// explainFlags are the flags of schema explain as they were given.
type explainFlags struct {
	storeFlags
	live, quiet bool
}

func (f *explainFlags) run(cmd *cobra.Command, known registry, args []string) error {
	if len(args) == 0 {
		return oneSchema(cmd, args)
	}
	s, err := known.schema(args[0])
	if err != nil {
		return err
	}
	patterns := s.Patterns
	if len(args) > 1 {
		name := func(p *schemas.Pattern) string { return p.Name }
		if patterns, err = pick("pattern", args[1:], patterns, name); err != nil {
			return err
		}
	}
	e, err := known.engineOf(cmp.Or(f.engine, s.Native), canExplain)
	if err != nil {
		return err
	}
	if f.live {
		return f.runLive(cmd, known, args[0], e, patterns)
	}
	o := drivers.Options{Namespace: f.namespace}
	if f.namespace == "" && slices.ContainsFunc(s.Tables, func(t *schemas.Table) bool { return t.Imported != nil }) {
		o.Keyspace = s.Name // schema import names it so
	}
	compile, err := e.Compile(s, o)
	if err != nil {
		return usage(err)
	}
	return describe.Requests(cmd.OutOrStdout(), compile, patterns)
}

// canExplain reports whether an engine compiles patterns without a connection.
func canExplain(e *drivers.Engine) bool { return e.Compile != nil }

// runLive runs the operations of a model and prints what its patterns cost.
func (f *explainFlags) runLive(
	cmd *cobra.Command, known registry, name string, e drivers.Engine, patterns []*schemas.Pattern,
) error {
	picked, err := known.pickModels([]string{name})
	if err != nil {
		return fmt.Errorf("--live runs mail operations, so it needs a model: %w", err)
	}
	more, err := contactOverride([]drivers.Engine{e}, f.contact)
	if err != nil {
		return err
	}
	f.text, f.textName = trace.Text, "trace.yaml"
	w, err := f.workload(known.words(), f.textName, more...)
	if err != nil {
		return err
	}
	bar := screen.NewBar(cmd.ErrOrStderr(), f.quiet)
	shown := func(p run.Progress) { bar.Show(p.Model + " on " + p.Engine + ": " + p.Phase) }
	report, err := trace.Run(cmd.Context(), picked[0], e, w, shown)
	bar.Close()
	if err != nil {
		return err
	}
	report.Patterns = slices.DeleteFunc(report.Patterns, func(p trace.Pattern) bool {
		return !slices.ContainsFunc(patterns, func(s *schemas.Pattern) bool { return s.Name == p.Name })
	})
	return show(cmd, report, func(w io.Writer, room int) { report.WriteText(w, e.TraceDoc, room) })
}

// importFlags are the flags of schema import as they were given.
type importFlags struct {
	storeFlags
	cqlFlags
	output
	saveCQL  string
	prepared bool
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
	none := lacking(cobra.NoArgs, "name files of tables by --cql, and of statements by --queries")
	cmd := command("import", none, func(cmd *cobra.Command, _ []string) error { return f.run(cmd, known) })
	flags := cmd.Flags()
	f.bindCQL(flags)
	flags.StringVarP(&f.engine, "engine", "e", "", "`ENGINE` to read the tables from: cassandra")
	flags.StringVar(&f.keyspace, "keyspace", "", "the `KEYSPACE` to import (default: the only one)")
	flags.BoolVar(&f.prepared, "prepared", false, "also the statements that clients of a live keyspace have prepared")
	f.bindOutput(flags, "`FILE` to write, or standard output (-), as without it", aFileThere)
	flags.StringVar(&f.saveCQL, "save-cql", "", "also write the CQL of a live keyspace to `FILE`, so that findings point at its lines")
	f.bindEngine(flags)
	return cmd
}

func (f *importFlags) run(cmd *cobra.Command, known registry) error {
	switch {
	case len(f.cql) == 0 && f.engine == "":
		return usagef("no tables named; add --cql FILE, or --engine cassandra --keyspace NAME")
	case f.engine != "" && f.engine != "cassandra":
		return usagef("--engine %s: only Cassandra describes its tables; write a schema file, as \"mailbench schema show james\" prints one", f.engine)
	case f.engine != "" && f.keyspace == "":
		return usagef("--engine %s: name the tables to import with --keyspace NAME", f.engine)
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
		var read []string
		for _, s := range sources {
			read = append(read, s.File)
		}
		if err := f.write(cmd.OutOrStdout(), r.Text, page.Ours, read...); err != nil {
			return err
		}
		if !f.Std() { // else the output is the schema
			fmt.Fprintln(cmd.OutOrStdout(), r.Summary())
		}
	}
	r.WriteUnread(cmd.ErrOrStderr())
	r.WritePassed(cmd.ErrOrStderr())
	if len(r.Schema.Tables) == 0 {
		return statusError{exitBroken, errors.New("import: no table could be read; correct the CQL")}
	}
	if n := len(r.Unread); n > 0 && !f.allowUnread {
		return statusError{exitBroken, fmt.Errorf("left out of the schema: %s that could not be read; correct the CQL, or add "+
			"--allow-unread", words.Plural(n, "statement"))}
	}
	return nil
}

// sources reads the files, and the CQL of a live keyspace with what clients of it have prepared.
func (f *importFlags) sources(ctx context.Context, out io.Writer, known registry) ([]imports.Source, error) {
	var all []imports.Source
	if f.engine != "" {
		var text, prepared string
		err := f.use(ctx, known, &schemas.Schema{Name: "imported"}, func(_ drivers.Engine, st drivers.Store) (err error) {
			d := st.(drivers.Describer)
			if text, err = d.Describe(ctx, f.keyspace); err == nil && f.prepared {
				prepared, err = d.Prepared(ctx, f.keyspace)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, imports.Source{File: "system.prepared_statements", Text: prepared})
		name := "DESCRIBE KEYSPACE " + f.keyspace
		if f.saveCQL != "" {
			name = f.saveCQL
			to := output{plainfile.Output{File: name, Overwrite: f.Overwrite}}
			if err := to.write(out, []byte(text), page.Ours); err != nil {
				return nil, err
			}
		}
		all = append(all, imports.Source{File: name, Text: text})
	}
	files, err := f.read()
	return append(all, files...), err
}
