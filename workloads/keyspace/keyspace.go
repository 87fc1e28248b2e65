// Package keyspace makes the run of a schema that is not for mail, and with --prove shows what lint predicts.
//
//   - The operations of the run are the schema's access patterns, by name (workloads.Patterns). The mailbox is a
//     models.Runner: it fills in the arguments of a pattern before the clock starts, and runs it.
//   - The load's message n is row n of every table: a delivery writes it with patterns that this package adds.
//   - A value is a function of seed, column and row number (values.go), so an argument names rows that exist.
//   - Runner, report, sweeps and thresholds know no keyspaces: to them a pattern is an operation like any other.
//   - The tables have the schema's types, those that only CQL has as the nearest one, so that each engine has them.
//   - The workload follows from the schema, unless there is a file. That of --prove shows findings of lint (prove.go).
package keyspace

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
)

// Keyspace is a schema that can be run.
type Keyspace struct {
	// Schema has the tables and patterns of the run, and the patterns that load rows.
	Schema *schemas.Schema
	// Patterns are the operations, in the order of the file.
	Patterns []*schemas.Pattern
	// Notes say what the run leaves out or stores in another way.
	Notes []string
	// Rows is how many rows the largest table has at the start: as the schema says, or DefaultRows for a table of which
	// it does not say how many.
	Rows int

	shapes map[*schemas.Table]shape
	most   uint64  // rows of the largest table, as the schema says
	probes []probe // findings of lint that a run could show
}

// Rows and partitions that tables have if the schema does not say.
const (
	DefaultRows       = 10_000
	DefaultPartitions = 100
	mostRows          = 1_000_000 // a forecast may be for more than a test can load
)

// Beginnings of the names of patterns that load rows and static columns. No declared pattern has such a name.
const (
	load       = "load:"
	loadStatic = "load-static:"
)

// whole is the name of the pattern that reads a whole partition of a table.
func whole(table string) string { return "partition_" + strings.ReplaceAll(table, ".", "_") }

// Of makes a schema, which the caller no longer uses, the keyspace of a run. Columns that lint takes for buckets are
// buckets.
func Of(s *schemas.Schema, engines []drivers.Engine) (*Keyspace, error) {
	report, err := lint.Check(s, lint.Options{AllowUnread: true, Facts: drivers.FactsOf(engines, s)})
	if err != nil {
		return nil, err
	}
	for _, g := range report.Guesses {
		if t := s.Table(g.Table); g.Purpose == schemas.Bucket.String() {
			if t.Purposes == nil {
				t.Purposes = map[schemas.Purpose][]*schemas.Column{}
			}
			t.Purposes[schemas.Bucket] = append(t.Purposes[schemas.Bucket], t.Column(g.Column))
		}
	}
	k := &Keyspace{Schema: s, shapes: map[*schemas.Table]shape{}}
	for _, t := range s.Tables {
		if k.shapes[t] = shapeOf(t); !t.Header() {
			k.most = max(k.most, cmp.Or(k.shapes[t].rows, DefaultRows))
		}
	}
	k.Rows = int(min(k.most, mostRows))
	k.portable()
	if k.Patterns = slices.Clone(s.Patterns); len(k.Patterns) == 0 {
		t := s.Tables[0]
		add := "{get: " + t.Name + "}"
		if len(t.Clustering) > 0 {
			add = fmt.Sprintf("{slice: %s, by: [%s], limit: arg}", t.Name, strings.Join(schemas.Names(t.Partition), ", "))
		}
		return nil, fmt.Errorf("%s: schema %s has no access pattern that can run; add patterns: {read: %s}, or import the "+
			"statements with schema import --queries FILE", t.Pos.In(s.File), s.Name, add)
	}
	for _, t := range s.Tables {
		if !t.Header() {
			k.add(t)
		}
	}
	k.note("%s rows; tables without rows in the schema have as many, %d partitions where rows share one (--set "+
		"population.rows=N changes the number, rows: [{each: NAME, count: N, …}] of a table its share)",
		words.Thousands(k.Rows), DefaultPartitions)
	k.probes = k.probesOf(report)
	return k, nil
}

// For returns the model for a workload whose largest table has so many rows after the load. Its schema has the rows
// that a forecast needs.
func (k *Keyspace) For(w *workloads.Workload, rows int) models.Model {
	return models.Model{
		Name: k.Schema.Name,
		Doc:  "the access patterns of " + k.Schema.File,
		Schema: func() (*schemas.Schema, error) {
			for _, t := range k.tables(w, rows) {
				t.Rows = t.expected()
			}
			return k.Schema, nil
		},
		Bind: func(_ context.Context, p *drivers.Prepared, _ models.Options) (models.Bound, error) {
			return k.bind(p, w, rows)
		},
	}
}

// portable takes what only CQL has out of the schema, and what is of no use to a run.
func (k *Keyspace) portable() {
	s := k.Schema
	s.Other, s.Types, s.Workflow, s.Additions = nil, nil, nil, nil
	var types []string
	for _, t := range s.Tables {
		for _, c := range t.All() {
			if is := near(c.Type); is.String() != c.Type.String() {
				types = append(types, fmt.Sprintf("%s as %s", c.Type, is))
				c.Type = is
			}
		}
		t.Indexes = slices.DeleteFunc(t.Indexes, func(x *schemas.Index) bool {
			odd := slices.ContainsFunc(x.Columns, func(c schemas.IndexColumn) bool {
				return c.Column.Role == schemas.Static || c.Column.Type.Collection()
			})
			if odd {
				k.note("index %s of %s is left out: it is over a collection or a static column", x.Name, t.Name)
			}
			return odd
		})
		t.Other, t.Accept, t.Imported, t.Counts = nil, nil, nil, nil
	}
	if len(types) > 0 {
		slices.Sort(types)
		k.note("types of CQL are stored as the nearest type: %s", strings.Join(slices.Compact(types), ", "))
	}
	left := map[*schemas.Pattern]bool{}
	for _, p := range s.Patterns {
		p.Other = slices.DeleteFunc(p.Other, func(o schemas.Setting) bool { return o.Name == "ttl" })
		why := p.CassandraOnly()
		gone := slices.IndexFunc(p.Parts, func(part schemas.Part) bool { return left[part.Pattern] })
		switch {
		case why != "":
		case p.Index != nil && !slices.Contains(p.Table.Indexes, p.Index):
			why = "reads through an index that is left out"
		case gone >= 0:
			why = "has " + p.Parts[gone].Pattern.Name
		}
		if left[p] = why != ""; left[p] {
			k.note("pattern %s is not measured: it %s", p.Name, why)
		}
		p.Other, p.Accept, p.Imported = nil, nil, nil
		if left[p.Fallback] {
			p.Fallback = nil
		}
	}
	s.Patterns = slices.DeleteFunc(s.Patterns, func(p *schemas.Pattern) bool { return left[p] })
}

func (k *Keyspace) note(format string, args ...any) {
	k.Notes = append(k.Notes, fmt.Sprintf(format, args...))
}

// near is the type nearest to one that only CQL has.
func near(t schemas.Type) schemas.Type {
	switch {
	case t.Foreign == "float" || t.Foreign == "double":
		return schemas.Type{Kind: schemas.Bigint}
	case t.Foreign != "":
		return schemas.Type{Kind: cmp.Or(t.Kind, schemas.Blob)}
	}
	for _, of := range []**schemas.Type{&t.Key, &t.Elem} {
		if *of != nil {
			is := near(**of)
			*of = &is
		}
	}
	return t
}

// add adds the patterns that load the rows of a table, and read a whole partition.
func (k *Keyspace) add(t *schemas.Table) {
	add := func(name string, p schemas.Pattern) {
		p.Name, p.Table = name, t
		if k.Schema.Pattern(name) == nil {
			k.Schema.Patterns = append(k.Schema.Patterns, &p)
		}
	}
	kind := schemas.Put
	if slices.ContainsFunc(t.Columns, func(c *schemas.Column) bool { return c.Type.Kind == schemas.Counter }) {
		kind = schemas.Add
	}
	add(load+t.Name, schemas.Pattern{Kind: kind, By: t.Key(), Columns: t.Columns})
	if len(t.Static) > 0 {
		add(loadStatic+t.Name, schemas.Pattern{Kind: schemas.Put, By: t.Partition, Columns: t.Static, Static: true})
	}
	if len(t.Clustering) > 0 {
		add(whole(t.Name), schemas.Pattern{Kind: schemas.Slice, By: t.Partition, Columns: t.All()})
	}
}

// Kinds is the workload's section patterns, for --set: the operations and, to prove findings, the reads of whole
// partitions.
func (k *Keyspace) Kinds(prove bool) string {
	all := map[string]string{}
	for _, p := range k.Schema.Patterns {
		if slices.Contains(k.Patterns, p) || prove && p.Name == whole(p.Table.Name) {
			all[p.Name] = "write"
			if p.Kind.Reads() {
				all[p.Name] = "read"
			}
		}
	}
	return "patterns=" + flow(all)
}

// flow writes mappings and lists in one line of YAML, of which JSON is a part.
func flow(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of numbers and texts only
	}
	return string(text)
}

// Workload is the workload of a schema that has none: 80% reads and 20% writes, each evenly. Scans, which only audits
// need, are left out, and patterns that run as a part or fallback of others.
func (k *Keyspace) Workload() string {
	within := map[*schemas.Pattern]bool{}
	for _, p := range k.Patterns {
		within[p.Fallback] = true
		for _, part := range p.Parts {
			within[part.Pattern] = true
		}
	}
	mix := map[string]float64{}
	for reads, share := range map[bool]float64{true: 80, false: 20} {
		all := slices.DeleteFunc(slices.Clone(k.Patterns), func(p *schemas.Pattern) bool {
			return within[p] || p.Kind == schemas.Scan || p.Kind.Reads() != reads
		})
		for _, p := range all {
			mix[p.Name] = math.Round(100*share/float64(len(all))) / 100
		}
	}
	return fmt.Sprintf(`version: 1
name: %s
description: The access patterns of a schema, 80%% reads and 20%% writes
population: {rows: %d}
access: {rows: zipf}
phases:
  - load: {}
  - settle: {}
  - warmup: {duration: 2s}
  - measure: {duration: 20s, rate: 500/s, mix: %s}
`, k.Schema.Name, k.Rows, flow(mix))
}

// Check returns an error if a workload, which is in a file, has a pattern that the schema does not have, or values of a
// column.
func (k *Keyspace) Check(w *workloads.Workload, file string) error {
	for _, p := range w.Patterns {
		if k.Schema.Pattern(p.Name) == nil {
			known := schemas.Names(k.Patterns)
			return fmt.Errorf("%s: schema %s: %w", file, k.Schema.File, strict.Unknown("pattern", p.Name, known...))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Values)) {
		at := strings.LastIndexByte(name, '.')
		where, t := w.Values[name].Pos.In(file), k.Schema.Table(name[:at])
		if t == nil {
			return fmt.Errorf("%s: values: %w", where, strict.Unknown("table", name[:at], schemas.Names(k.Schema.Tables)...))
		}
		switch c := t.Column(name[at+1:]); {
		case c == nil:
			known := schemas.Names(t.All())
			return fmt.Errorf("%s: values of table %s: %w", where, t.Name, strict.Unknown("column", name[at+1:], known...))
		case w.Values[name].Size != nil && !schemas.Sized(c):
			return fmt.Errorf("%s: values.%s has a size, and values of type %s have one size; leave it out, or set distinct",
				where, name, c.Type)
		}
	}
	return nil
}
