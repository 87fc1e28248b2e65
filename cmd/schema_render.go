package cmd

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
)

func newSchemaRender(known registry) *cobra.Command {
	var f workloadFlags
	var engine, from, namespace string
	cmd := &cobra.Command{
		Use:   "render MODEL|FILE.yaml",
		Short: "Write a schema in an engine's own language",
		Long: `Write the statements that create a schema's tables, with comments: what each
table is for, what the source document does not have, and what the engine does
differently. cqlsh takes those of Cassandra, hbase shell those of HBase, and the
SQL shell those of Oracle NoSQL Database (oraclenosql). A run creates the same
tables itself. The embedded engine has no such language: its keys are shown.

No engine is asked. Settings that matter to tables are the engine's own
(mailbench engines lists them), such as replication.`,
		Example: `  mailbench schema render james
  mailbench schema render elasticinbox -e cassandra \
    --set engines.cassandra.replication=3 > mail.cql
  mailbench schema render mine.yaml -e oraclenosql`,
		Args: oneSchema,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := known.schema(args[0])
			if err != nil {
				return err
			}
			e, err := known.renderer(cmp.Or(engine, s.Native))
			if err != nil {
				return err
			}
			w, err := f.workload(known.renderers(), from)
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
			_, err = fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().StringVarP(&engine, "engine", "e", "", "`ENGINE` to write for: cassandra, hbase, oraclenosql or embedded (default: the one that the schema is written for)")
	cmd.Flags().StringVar(&namespace, "namespace", "",
		"`NAME` within the names of all that is created: mailbench_NAME_SCHEMA")
	cmd.Flags().StringVar(&from, "workload", "quick", "`WORKLOAD` or file with the engine's settings")
	f.bindSet(cmd.Flags())
	engineSet(cmd.Flags())
	return cmd
}

// notInNames reports whether some engine refuses a character in the name of a keyspace
// or namespace.
func notInNames(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// renderers are the engines that can write a schema.
func (r registry) renderers() []drivers.Engine {
	var all []drivers.Engine
	for _, e := range r.engines {
		if e.Render != nil {
			all = append(all, e)
		}
	}
	return all
}

func (r registry) renderer(name string) (e drivers.Engine, err error) {
	switch name {
	case "":
		return e, usagef("no engine named; add --engine cassandra, hbase, oraclenosql or embedded")
	case "all":
		return e, usagef("--engine all: name one engine")
	}
	engines, err := pick("engine", []string{name}, r.renderers(), func(e drivers.Engine) string { return e.Name })
	if err != nil {
		return e, err
	}
	return engines[0], nil
}
