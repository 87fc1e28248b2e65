package drivertest

import (
	"errors"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// apply tests Apply, Inspect and Prepare.
func apply(t testing.TB, open Open) {
	s := begin(t, open, "rows.yaml")
	c := s.client()
	c.write("put_a", "p", 1, "kept")
	if err := s.store.Apply(s.ctx, s.schema); err != nil {
		t.Fatalf("apply the schema again: %v", err)
	}
	c.expect([]string{"1 kept"}, "all", "p")

	named := []string{"name: drivertest", "name: " + s.schema.Name}
	other := parse(t, "rows.yaml", append(named, "n: bigint", "n: text")...)
	if err := s.store.Apply(s.ctx, other); err == nil {
		t.Errorf("a schema with another type in a column was applied over the one that is there")
	}
	other = parse(t, "rows.yaml", append(named, "clustering: [k int]", "clustering: [k int desc]")...)
	if err := s.store.Apply(s.ctx, other); err == nil {
		t.Errorf("a schema with another direction was applied over the one that is there")
	}
	c.expect([]string{"1 kept"}, "all", "p")

	again := *s
	again.schema = parse(t, "rows.yaml", named...) // another parse of what was applied
	again.prepare()
	again.client().write("put_a", "p", 2, "too")
	again.client().expect([]string{"1 kept", "2 too"}, "all", "p")

	for _, file := range []string{"nested.yaml", "statics.yaml", "collections.yaml", "indexes.yaml"} {
		inspected(begin(t, open, file))
	}
	inspected(s)
	if _, err := s.store.Inspect(s.ctx, "dt_nowhere"); err == nil {
		t.Errorf("inspecting a schema that was never applied returned no error")
	}
	absent := parse(t, "rows.yaml")
	if _, err := s.store.Prepare(s.ctx, absent.Pattern("get")); err == nil {
		t.Errorf("a pattern of a schema that was not applied could be prepared")
	} else if errors.Is(err, drivers.ErrUnsupported) {
		t.Errorf("a pattern of a schema that was not applied: %v, expected another error than ErrUnsupported", err)
	}
}

// inspected compares the schema that Inspect returns with the applied schema, and
// with the schema that Stored returns.
func inspected(s *suite) {
	s.Helper()
	got, err := s.store.Inspect(s.ctx, s.schema.Name)
	if err != nil {
		s.Fatalf("inspect %s: %v", s.schema.Name, err)
	}
	want := schemas.Canonical(s.schema)
	for _, t := range want.Tables {
		t.Hints = nil
	}
	for _, d := range schemas.Diff(want, got) {
		if d.Kind != schemas.MissingIndex || s.reads(d.Part) {
			s.Errorf("Inspect differs from the schema that was applied: %s", d)
		}
	}
	stored, err := s.store.Stored(s.schema)
	if err != nil {
		s.Fatalf("stored %s: %v", s.schema.Name, err)
	}
	for _, d := range schemas.Diff(stored, got) {
		s.Errorf("Inspect differs from Stored: %s", d)
	}
	for what, form := range map[string]*schemas.Schema{"Inspect": got, "Stored": stored} {
		if again := schemas.Canonical(form); string(schemas.Format(again)) != string(schemas.Format(form)) {
			s.Errorf("what %s returns is not in canonical form:\n%s", what, schemas.Format(form))
		}
	}
}

// reads reports whether the engine reads through an index.
func (s *suite) reads(index string) bool {
	s.Helper()
	for _, p := range s.schema.Patterns {
		if p.Index == nil || p.Index.Name != index {
			continue
		}
		st, err := s.store.Prepare(s.ctx, p)
		if err == nil && st.Pattern() == p {
			return true
		}
	}
	return false
}
