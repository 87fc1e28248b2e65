package cmd

import (
	"slices"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// TestExplainAll: each engine lists the requests of every pattern of every model and variant, or the
// reason why it cannot run it, twice alike.
func TestExplainAll(t *testing.T) {
	known := bundled()
	engines := known.able(canExplain)
	if len(engines) < 4 {
		t.Fatalf("%d engines explain; want embedded, cassandra, hbase and oraclenosql at least", len(engines))
	}
	for _, e := range engines {
		for _, m := range known.withVariants() {
			s, err := m.Schema()
			if err != nil {
				t.Fatal(err)
			}
			compile, err := e.Compile(s, drivers.Options{Namespace: "test"})
			if err != nil {
				t.Fatalf("%s, %s: %v", e.Name, m.Name, err)
			}
			for _, p := range s.Patterns {
				first, err := compile.Explain(p)
				if err != nil {
					t.Errorf("%s, %s, pattern %s: %v", e.Name, m.Name, p.Name, err)
					continue
				}
				again, err := compile.Explain(p)
				if err != nil || !slices.Equal(first.Calls, again.Calls) {
					t.Errorf("%s, %s, pattern %s: first %q, then %q, %v", e.Name, m.Name, p.Name, first.Calls, again.Calls, err)
				}
				if explained := len(first.Calls) > 0; explained != (first.Runs != nil) || first.Runs != p && first.Refused == nil {
					t.Errorf("%s, %s, pattern %s: calls %q of %v, refused for %v", e.Name, m.Name, p.Name, first.Calls, first.Runs, first.Refused)
				}
			}
		}
	}
}

// Texts about an engine are in its package, so that another engine needs no line here.
func TestEngineWords(t *testing.T) {
	known := bundled()
	for _, e := range known.engines {
		if e.Compile != nil && e.TraceDoc == "" {
			t.Errorf("%s does not say what the columns of --live mean", e.Name)
		}
	}
	known.engines = append(known.engines, drivers.Engine{Name: "other", Remote: true, Namespace: "keyspace"})
	f := storeFlags{engine: "other", keyspace: "mail"}
	if e, err := f.pick(known); err != nil || e.Name != "other" {
		t.Errorf("%s, %v", e.Name, err)
	}
	f = storeFlags{engine: "other", namespace: "mail"}
	if _, err := f.pick(known); err == nil || err.Error() != "--namespace mail: other has no namespaces" {
		t.Error(err)
	}
}
