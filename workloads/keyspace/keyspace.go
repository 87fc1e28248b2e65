// Package keyspace makes the run of a schema that is not for mail: its model (package patterns), the workload that
// follows from it, and with --prove a workload that shows what lint predicts, with the verdict on each finding.
package keyspace

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/patterns"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/lint"
	"github.com/mailbench/mailbench/schemas/strict"
	"github.com/mailbench/mailbench/schemas/words"
	"github.com/mailbench/mailbench/workloads"
)

// Keyspace is a schema as a run has it.
type Keyspace struct {
	*patterns.Keyspace
	probes []probe // findings of lint that a run could show
}

// Of returns the keyspace of a schema. Columns that lint takes for buckets are buckets.
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
	k, err := patterns.Of(s)
	if err != nil {
		return nil, err
	}
	k.Notes = append(k.Notes, fmt.Sprintf("%s; tables without rows in the schema have as many, %d partitions where rows share "+
		"one (--set population.rows=N changes the number)", words.Plural(k.Rows, "row"), patterns.DefaultPartitions))
	return &Keyspace{k, probesOf(k, report)}, nil
}

// Kinds is the workload's section patterns, for --set: the operations and, to prove findings, the reads of whole
// partitions.
func (k *Keyspace) Kinds(prove bool) string {
	all := map[string]string{}
	for _, p := range k.Schema.Patterns {
		if slices.Contains(k.Patterns, p) || prove && p.Name == patterns.Whole(p.Table.Name) {
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

// Check returns an error if a workload, which is in a file, has values of a column that the schema does not have.
func Check(s *schemas.Schema, w *workloads.Workload, file string) error {
	for _, name := range slices.Sorted(maps.Keys(w.Values)) {
		at := strings.LastIndexByte(name, '.')
		where, t := w.Values[name].Pos.In(file), s.Table(name[:at])
		if t == nil {
			return fmt.Errorf("%s: values: %w", where, strict.Unknown("table", name[:at], schemas.Names(s.Tables)...))
		}
		if columns := schemas.Names(slices.Concat(t.Key(), t.Static, t.Columns)); !slices.Contains(columns, name[at+1:]) {
			return fmt.Errorf("%s: values of table %s: %w", where, t.Name, strict.Unknown("column", name[at+1:], columns...))
		}
	}
	return nil
}
