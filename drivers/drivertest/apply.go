package drivertest

import (
	"errors"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// apply is about Apply, Inspect and Prepare.
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

	for _, on := range []*suite{s, begin(t, open, "nested.yaml")} {
		want := on.schema
		got, err := on.store.Inspect(s.ctx, want.Name)
		if err != nil {
			t.Fatalf("inspect %s: %v", want.Name, err)
		}
		if got, want := tables(got), tables(want); got != want {
			t.Errorf("inspect returns\n%s\nwhat was applied:\n%s", got, want)
		}
	}
	if _, err := s.store.Inspect(s.ctx, "dt_nowhere"); err == nil {
		t.Errorf("inspecting a schema that was never applied returned no error")
	}
	absent := parse(t, "rows.yaml")
	if _, err := s.store.Prepare(s.ctx, absent.Pattern("get")); err == nil {
		t.Errorf("a pattern of a schema that was not applied could be prepared")
	} else if errors.Is(err, drivers.ErrUnsupported) {
		t.Errorf("a schema that was not applied: %v; that is not what unsupported means", err)
	}
}
