package cmd

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/patterns"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/schemas/plainfile"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
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

// keyspace lets the run be one of a schema's access patterns: the only model is that of the schema. Without a
// workload file, the workload follows from the schema.
func (f *runFlags) keyspace(cmd *cobra.Command, known registry, file string, args []string) (registry, error) {
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
	k, report, err := known.keyspaceOf(s)
	if err != nil {
		return known, err
	}
	if !f.quiet {
		tellKeyspace(cmd.ErrOrStderr(), k, s)
	}
	f.set = append([]string{"patterns=" + kindsOf(k, f.prove)}, f.set...)
	if f.prove {
		f.probes = probesOf(k, report)
		levels, err := f.levels()
		if err != nil {
			return known, err
		}
		f.text, f.textName = []byte(proveWorkload(k, f.probes, levels)), file
	} else if len(args) == 0 || args[0] == file {
		f.text, f.textName = []byte(workloadOf(k)), file
	} else if src, err := plainfile.Read(args[0], mostText); err == nil &&
		!slices.Contains(strict.Keys(src), "population") {
		f.set = append([]string{fmt.Sprintf("population={rows: %d}", k.Rows)}, f.set...)
	}
	known.models, f.models = []models.Model{k.Model()}, []string{k.Schema.Name}
	return known, nil
}

// keyspaceOf is a schema as a run has it, with what lint says of it. Columns that lint takes for buckets are buckets.
func (r registry) keyspaceOf(s *schemas.Schema) (*patterns.Keyspace, *lint.Report, error) {
	report, err := lint.Check(s, lint.Options{AllowUnread: true, Facts: drivers.FactsOf(r.engines, s)})
	if err != nil {
		return nil, nil, usage(err)
	}
	for _, g := range report.Guesses {
		if t := s.Table(g.Table); g.Purpose == schemas.Bucket.String() {
			if t.Purposes == nil {
				t.Purposes = map[schemas.Purpose][]*schemas.Column{}
			}
			t.Purposes[schemas.Bucket] = append(t.Purposes[schemas.Bucket], t.Column(g.Column))
		}
	}
	k, err := patterns.Of(s)
	if err != nil {
		return nil, nil, usage(err)
	}
	return k, report, nil
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
	k, report, err := r.keyspaceOf(s)
	if err == nil {
		r.models = []models.Model{k.Model()}
		f.probes, f.prove = probesOf(k, report), f.prove || len(was.Findings) > 0
	}
	return r, err
}

// tellKeyspace says what the run of a schema leaves out, and what it assumes.
func tellKeyspace(w io.Writer, k *patterns.Keyspace, s *schemas.Schema) {
	for _, note := range k.Notes {
		fmt.Fprintf(w, "mailbench: %s: %s\n", s.File, note)
	}
	fmt.Fprintf(w, "mailbench: %s: %s; tables without rows in the schema have as many, %d partitions where rows share one "+
		"(--set population.rows=N changes the number)\n", s.File, words.Plural(k.Rows, "row"), patterns.DefaultPartitions)
}

// kindsOf are the patterns of a keyspace as the workload has them, with those that read whole partitions if wanted.
func kindsOf(k *patterns.Keyspace, wholes bool) string {
	all := map[string]string{}
	for _, p := range k.Schema.Patterns {
		if slices.Contains(k.Patterns, p) || wholes && strings.HasPrefix(p.Name, patterns.Whole) {
			all[p.Name] = "write"
			if p.Kind.Reads() {
				all[p.Name] = "read"
			}
		}
	}
	return flow(all)
}

// flow writes a mapping in one line.
func flow(of map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, strconv.Quote(name)+": "+of[name])
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// Shares of the default mix in percent.
const (
	readShare  = 80.0
	writeShare = 20.0
)

// defaultMix is the mix of a run of a schema: reads and writes evenly within their shares. Scans, which only audits
// need, are left out, and patterns that run as a part or fallback of others.
func defaultMix(k *patterns.Keyspace) string {
	within := map[*schemas.Pattern]bool{}
	for _, p := range k.Patterns {
		within[p.Fallback] = true
		for _, part := range p.Parts {
			within[part.Pattern] = true
		}
	}
	mix := map[string]string{}
	for share, reads := range map[float64]bool{readShare: true, writeShare: false} {
		all := slices.DeleteFunc(slices.Clone(k.Patterns), func(p *schemas.Pattern) bool {
			return within[p] || p.Kind == schemas.Scan || p.Kind.Reads() != reads
		})
		for _, p := range all {
			mix[p.Name] = fmt.Sprintf("%.4g", share/float64(len(all)))
		}
	}
	return flow(mix)
}

// workloadOf is the workload of a schema that has none.
func workloadOf(k *patterns.Keyspace) string {
	return fmt.Sprintf(`version: 1
name: %s
doc: The access patterns of a schema, %g%% reads and %g%% writes
population: {rows: %d}
keys: {rows: zipf}
phases:
  - load: {}
  - settle: {}
  - warmup: {duration: 2s}
  - measure: {duration: 20s, rate: 500/s, mix: %s}
`, k.Schema.Name, readShare, writeShare, k.Rows, defaultMix(k))
}

// fitsSchema checks what a workload says of a schema. A workload for mail says nothing.
func (f *runFlags) fitsSchema(c *run.Config, file string, unnamed bool) error {
	if len(c.Workload.Patterns) == 0 {
		return nil
	}
	if unnamed {
		return usagef("workload %s is for the access patterns of a schema; name its file with --schema FILE", c.Workload.Name)
	}
	s, err := c.Models[0].Schema()
	if err != nil {
		return err
	}
	tables := map[string][]string{}
	for _, t := range s.Tables {
		tables[t.Name] = schemas.Names(slices.Concat(t.Key(), t.Static, t.Columns))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Workload.Values)) {
		at := strings.LastIndexByte(name, '.')
		table, column := name[:at], name[at+1:]
		where := c.Workload.Values[name].Pos.In(cmp.Or(f.textName, file))
		if columns, ok := tables[table]; !ok {
			return usage(fmt.Errorf("%s: values: %w", where, unknown("table", table, slices.Sorted(maps.Keys(tables)))))
		} else if !slices.Contains(columns, column) {
			return usage(fmt.Errorf("%s: values of table %s: %w", where, table, unknown("column", column, columns)))
		}
	}
	return nil
}
