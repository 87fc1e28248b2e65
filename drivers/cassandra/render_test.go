package cassandra

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// TestRender gives a live Cassandra the statements that are rendered, as they are.
// They create what Apply would create.
func TestRender(t *testing.T) {
	st := openLive(t, nil)
	all := []*schemas.Schema{schemaOf(t, "mail", withHints)}
	for _, s := range all {
		text, err := Engine().Render(s, drivers.Options{Namespace: st.Namespace, Settings: map[string]string{
			"local_dc": st.datacenter, "replication": fmt.Sprint(st.replication[0].Factor),
		}})
		if err != nil {
			t.Fatal(err)
		}
		statements := strings.SplitAfter(text, ";\n")
		for _, stmt := range statements[:len(statements)-1] { // the protocol takes one at a time
			if err := st.alter(t.Context(), strings.TrimSuffix(stmt, ";\n")); err != nil {
				t.Fatalf("%v, at:\n%s", err, stmt)
			}
		}
		want, err := st.Stored(s)
		if err != nil {
			t.Fatal(err)
		}
		have, err := st.Inspect(t.Context(), s.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range schemas.Diff(want, have) {
			t.Errorf("schema %s: %s", s.Name, d)
		}
		p, err := st.find(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if missing, err := p.(*place).Missing(nil); len(missing) > 0 || err != nil {
			t.Errorf("Apply would still create %q, %v", missing, err)
		}
	}
}

// TestRenderWords: comments say where CQL differs from the schema, and settings count.
func TestRenderWords(t *testing.T) {
	s := schemaOf(t, "mail", withHints)
	text, err := Engine().Render(s, drivers.Options{Settings: map[string]string{"local_dc": "east", "replication": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"for replication 3 in datacenter east", "'east': 3}",
		"-- Its rows are nested in head, which stores nothing of its own",
		"-- Column at has microseconds", "-- Column times has microseconds",
		"-- Index newest over (u, at) is left out",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not say %q:\n%s", want, text)
		}
	}
	for setting, value := range map[string]string{"replication": "none", "replicas": "3"} {
		if _, err := Engine().Render(s, drivers.Options{Settings: map[string]string{setting: value}}); err == nil {
			t.Errorf("setting %s: %s was taken", setting, value)
		}
	}
}
