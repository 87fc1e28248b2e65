package imports_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/engines"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/schemas/imports"
	"github.com/mailbench/mailbench/schemas/lint"
)

// TestRoundTrip: the CQL that Cassandra gets for a bundled model, its tables and its statements, is
// imported as a schema with the findings of the model.
func TestRoundTrip(t *testing.T) {
	at := slices.IndexFunc(engines.All(), func(e drivers.Engine) bool { return e.Name == "cassandra" })
	cassandra := engines.All()[at]
	for _, name := range []string{"conversation", "datastax", "elasticinbox", "james", "oracle"} {
		s, err := schemas.Bundled(name)
		if err != nil {
			t.Fatal(err)
		}
		ddl, err := cassandra.Render(s, drivers.Options{})
		if err != nil {
			t.Fatal(err)
		}
		model := &asCQL{t: t, schema: s}
		if model.compile, err = cassandra.Compile(s, drivers.Options{}); err != nil {
			t.Fatal(err)
		}
		queries := model.statements()
		r, err := imports.Import("", imports.Source{File: "a.cql", Text: ddl}, imports.Source{File: "q.cql", Text: queries})
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range r.Unread {
			t.Errorf("%s: %s:%d: %s: %s", name, u.Pos.Filename, u.Pos.Line, u.Reason, u.Text)
		}
		want, got := findings(t, s), findings(t, r.Schema)
		for _, d := range schemas.Diff(s, r.Schema) {
			t.Errorf("%s: %s", name, d)
		}
		for _, f := range want {
			if !slices.Contains(got, f) {
				t.Errorf("%s: only the model has %s", name, f)
			}
		}
		for _, f := range got {
			if !slices.Contains(want, f) {
				t.Errorf("%s: only the import has %s", name, f)
			}
		}
		if len(got) != len(want) || len(want) < 5 {
			t.Errorf("%s: %d findings and %d", name, len(want), len(got))
		}
	}
}

// asCQL reduces a schema to what CQL can say of it: Cassandra runs the fallback in place of a pattern
// that it cannot run, batches of separate requests are no batches, and nothing says which rows mail
// leaves in a table.
type asCQL struct {
	t       *testing.T
	schema  *schemas.Schema
	compile drivers.Compiler
}

var marker = regexp.MustCompile(`"(\w+)" = \?`)

// statements reduces the schema and returns the statements of its patterns.
func (m *asCQL) statements() string {
	var b strings.Builder
	for _, t := range m.schema.Tables {
		t.Rows = nil
		for engine, settings := range t.Hints {
			if delete(settings, "puts"); engine != "cassandra" {
				delete(t.Hints, engine)
			}
		}
		t.Indexes = slices.DeleteFunc(t.Indexes, func(x *schemas.Index) bool { return !t.OneColumn(x) })
	}
	var kept []*schemas.Pattern
	for _, p := range m.schema.Patterns {
		x, err := m.compile.Explain(p)
		if err != nil {
			m.t.Fatal(err)
		}
		if x.Refused != nil {
			name, instead := p.Name, p.Fallback
			*p = *instead
			p.Name, p.Fallback = name, instead
		}
		if slices.ContainsFunc(m.schema.Patterns, func(o *schemas.Pattern) bool { return o.Fallback == p }) {
			continue
		}
		calls := x.Calls
		if p.Kind == schemas.Batch {
			if !strings.HasPrefix(calls[0], "BEGIN") {
				continue
			}
			calls = []string{m.batch(p, calls)}
		} else if !p.Kind.Reads() {
			calls = calls[:1] // the second one is for new rows, the hint puts
		} else if p.From != nil || p.To != nil { // the one with most bounds
			calls = calls[len(calls)-1:]
		}
		kept = append(kept, p)
		for _, call := range calls {
			if p.Limit > 0 {
				call = strings.Replace(call, "LIMIT ?", fmt.Sprintf("LIMIT %d", p.Limit), 1)
			}
			fmt.Fprintf(&b, "-- %s: %s\n%s\n", p.Name, p.Doc, call)
		}
	}
	for _, p := range kept {
		p.Fallback = nil
	}
	m.schema.Patterns = kept
	m.flatten()
	return b.String()
}

// flatten reduces tables to those of CQL: none is nested, and microseconds are a bigint. So parts of a batch in several
// tables are in several partitions.
func (m *asCQL) flatten() {
	m.schema.Tables = slices.DeleteFunc(m.schema.Tables, (*schemas.Table).Header)
	for _, t := range m.schema.Tables {
		if t.Parent != nil && t.Parent.Header() {
			t.Name = t.Parent.Name
		}
		t.Name = strings.ReplaceAll(t.Name, ".", "_")
		t.Parent, t.Children, t.Inherited = nil, nil, 0
		for _, c := range t.All() {
			c.Type = schemas.TypeOf(strings.ReplaceAll(c.Type.String(), "timestamp", "bigint"))
		}
	}
	for _, p := range m.schema.Patterns {
		elsewhere := func(part schemas.Part) bool { return part.Pattern.Table != p.Parts[0].Pattern.Table }
		if p.Atomic != schemas.AtomicNone && slices.ContainsFunc(p.Parts, elsewhere) {
			p.Atomic = schemas.AtomicAll
		}
	}
}

// batch writes a batch. A part that is repeated is there twice. Parameters of a batch in one partition
// have the names of their columns.
func (m *asCQL) batch(p *schemas.Pattern, calls []string) string {
	lines := []string{calls[0]}
	const stamp = " USING TIMESTAMP ?" // the driver's own
	for i, line := range calls[1 : len(calls)-1] {
		if p.Atomic != schemas.AtomicAll && p.Atomic != schemas.AtomicNone {
			line = marker.ReplaceAllString(line, `"$1" = :of_$1`)
			if into, values, ok := strings.Cut(line, ") VALUES ("); ok {
				_, columns, _ := strings.Cut(into, "(")
				for _, c := range strings.Split(columns, ", ") {
					values = strings.Replace(values, "?", ":of_"+strings.Trim(c, `"`), 1)
				}
				line = into + ") VALUES (" + values
			}
		}
		line = strings.Replace(line, stamp, "", 1)
		lines = append(lines, line)
		if p.Parts[i].Each != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(append(lines, calls[len(calls)-1]), "\n")
}

// findings are those of a schema on Cassandra, accepted or not, without their places.
func findings(t *testing.T, s *schemas.Schema) (all []string) {
	for _, p := range s.Patterns {
		p.Accept = nil // CQL has no acceptances, and findings that are not accepted are one a table
	}
	r, err := lint.Check(s, lint.Options{Engines: []string{"cassandra"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Rule.ID != "accept-unused" {
			all = append(all, strings.TrimSpace(strings.Join([]string{f.Rule.ID, f.Table, f.Pattern, f.Part}, " ")))
		}
	}
	slices.Sort(all)
	return all
}
