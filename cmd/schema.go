package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/diagram"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/subject"
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
		RunE: known.onSchema(func(cmd *cobra.Command, s *schemas.Schema, _ string) error {
			_, err := cmd.OutOrStdout().Write(s.Source)
			return err
		}),
	}
}

// oneSchema checks the arguments of a command on one schema.
var oneSchema = lacking(cobra.ExactArgs(1), "expected one model or schema file")

// onSchema runs a command on the schema that its only argument names.
func (r registry) onSchema(
	do func(cmd *cobra.Command, s *schemas.Schema, name string) error,
) func(cmd *cobra.Command, args []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := r.schema(args[0])
		if err != nil {
			return err
		}
		return do(cmd, s, args[0])
	}
}

func newSchemaDiagram(known registry) *cobra.Command {
	kind, format, file := diagram.Logical, "svg", ""
	c := &cobra.Command{
		Use:   "diagram MODEL|FILE.yaml",
		Short: "Draw a schema as a Chebotko diagram, or its workflow",
		Args:  oneSchema,
		RunE: known.onSchema(func(cmd *cobra.Command, s *schemas.Schema, name string) error {
			var text bytes.Buffer
			write := diagram.SVG
			if format == "mermaid" {
				write = diagram.Mermaid
			}
			if err := write(&text, s, kind); err != nil {
				return usagef("%s: %w", name, err)
			}
			if isFile(name) && filepath.Clean(name) == filepath.Clean(file) {
				return usagef("--output %s is the schema itself; name another file", file)
			}
			return writeOutput(cmd.OutOrStdout(), file, text.Bytes(), true)
		}),
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
	var engine, namespace, file string
	cmd := &cobra.Command{
		Use:   "render MODEL|FILE.yaml",
		Short: "Write a schema in an engine's own language",
		Args:  oneSchema,
		RunE: known.onSchema(func(cmd *cobra.Command, s *schemas.Schema, _ string) error {
			canRender := func(e *drivers.Engine) bool { return e.Render != nil }
			e, err := known.engineOf(cmp.Or(engine, s.Native), canRender)
			if err != nil {
				return err
			}
			w, err := f.workload(known.engineWords(), f.engineIn)
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
		}),
	}
	cmd.Flags().StringVarP(&engine, "engine", "e", "", "`ENGINE` to write for: cassandra, hbase, oraclenosql or embedded (default: the one that the schema is written for)")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write the statements to this `FILE`, or to standard output (-)")
	cmd.Flags().StringVar(&namespace, "namespace", "",
		"`NAME` within the names of all that is created: mailbench_NAME_SCHEMA")
	cmd.Flags().StringVar(&f.engineIn, "workload", results.DefaultWorkload,
		"`WORKLOAD` or file with the engine's settings")
	f.bindSet(cmd.Flags())
	engineSet(cmd.Flags())
	return cmd
}

// notInNames reports whether some engine refuses a character in the name of a keyspace
// or namespace.
func notInNames(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// storeFlags say where the tables of a schema are. The store that they name is
// opened for reading only.
type storeFlags struct {
	workloadFlags
	engine              string
	keyspace, namespace string
	data                string
	blobs               string // the folder of what a model keeps outside of the engine, if that is known
	exact               bool   // no operation on the store is known to have been interrupted
}

func (f *storeFlags) bind(flags *pflag.FlagSet) {
	flags.StringVarP(&f.engine, "engine", "e", "", "`ENGINE` to look at: embedded, cassandra, hbase or oraclenosql")
	flags.StringVar(&f.keyspace, "keyspace", "", "Cassandra: the `KEYSPACE` in full (default: mailbench_SCHEMA)")
	flags.StringVar(&f.namespace, "namespace", "",
		"HBase, Oracle NoSQL: a `NAMESPACE` of the engine; HBase: or the names of tables up to their first dot (default: mailbench_SCHEMA)")
	flags.StringVar(&f.data, "data", "", "the dataset of a run with --data in `DIR`, on any engine")
	f.bindEngine(flags)
}

// use opens the store that holds the tables of a schema, for reading only, and closes it after do. If do finds no
// tables, the error says what is there instead.
func (f *storeFlags) use(
	ctx context.Context, known registry, s *schemas.Schema, do func(e drivers.Engine, st drivers.Store) error,
) error {
	e, err := f.pick(known)
	if err != nil {
		return err
	}
	f.exact = true
	o := drivers.Options{ReadOnly: true, Keyspace: f.keyspace + f.namespace} // at most one is set
	if f.data != "" {
		if err := f.place(&o, e, s.Name); err != nil {
			return err
		}
	}
	var st drivers.Store
	var w *workloads.Workload
	if !e.Remote {
		st, err = e.Open(ctx, o)
		err = missing(err)
	} else if w, err = f.reach(known, e); err == nil {
		st, err = subject.Reach(ctx, e, w, o)
	}
	if err != nil {
		return err
	}
	return errors.Join(f.absent(do(e, st)), st.Close())
}

// pick returns the engine, and checks that the flags fit it.
func (f *storeFlags) pick(known registry) (e drivers.Engine, err error) {
	if e, err = known.engineOf(f.engine, func(*drivers.Engine) bool { return true }); err != nil {
		return e, err
	}
	switch {
	case e.Name == known.floor.Name:
		return e, usagef("--engine %s stores nothing", e.Name)
	case f.keyspace != "" && e.Namespace == "namespace":
		return e, usagef("--keyspace %s: %s has namespaces; name one with --namespace", f.keyspace, e.Name)
	case f.keyspace != "" && e.Namespace != "keyspace":
		return e, usagef("--keyspace %s: %s has no keyspaces", f.keyspace, e.Name)
	case f.namespace != "" && e.Namespace != "namespace":
		return e, usagef("--namespace %s: %s has no namespaces", f.namespace, e.Name)
	case f.data != "" && f.keyspace+f.namespace != "":
		return e, usagef("--data names a data set, so that its keyspace or namespace cannot be named too")
	case f.data == "" && !e.Remote:
		return e, usagef("name the data of %s with --data DIR", e.Name)
	}
	return e, nil
}

// place finds the data set of a schema. It is in the data folder itself, or in the folder of a
// model and engine that a run makes below it.
func (f *storeFlags) place(o *drivers.Options, e drivers.Engine, schema string) error {
	for _, dir := range []string{f.data, filepath.Join(f.data, schema+"-"+e.Name)} {
		d, err := subject.ReadDataset(dir)
		switch {
		case err != nil:
			return err
		case d == nil:
			continue
		case d.Engine != e.Name:
			return usagef("--data %s: the data set there is on %s", f.data, d.Engine)
		}
		o.Namespace, o.Dir, f.blobs = d.Namespace, subject.StoreDir(dir), subject.BlobsDir(dir)
		f.exact, err = d.Exact(dir)
		return err
	}
	if e.Remote {
		return usagef("--data %s: there is no data set of %s on %s", f.data, schema, e.Name)
	}
	o.Dir = f.data // the folder of the store itself
	return nil
}

// absent adds to an error of a store without the tables that the flags name what is there instead, and which flag
// names that. It returns any other error as it is.
func (f *storeFlags) absent(err error) error {
	const most = 8 // names in an error
	var a *drivers.AbsentError
	if !errors.As(err, &a) {
		return err
	}
	slices.Sort(a.There)
	instead := fmt.Sprintf("there is no other %s;", a.What)
	switch near, n := strict.Nearest(a.Name, a.There), len(a.There); {
	case near != "":
		instead = fmt.Sprintf("did you mean %q?", near)
	case n > most:
		instead = fmt.Sprintf("there are %s and %d more;", strings.Join(a.There[:most], ", "), n-most)
	case n > 0:
		instead = "there is " + strings.Join(a.There, ", ") + ";"
	}
	advice := fmt.Sprintf("--%s names another", a.What)
	switch {
	case f.data != "":
		advice = "name its schema, or another data set with --data"
	case f.keyspace+f.namespace == "":
		advice = fmt.Sprintf("--%s NAME names one in full, --data DIR the data set that a run kept", a.What)
	}
	return fmt.Errorf("%w; %s %s", a, instead, advice)
}
