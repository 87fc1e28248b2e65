package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/plan"
)

// TestJudgesAgree: run --verify=only and schema validate judge a counter alike. In a data set that its
// run closed, a counter that somebody changed is wrong. Where a run was killed, it is not.
func TestJudgesAgree(t *testing.T) {
	m := loadElasticInbox(t, "embedded")
	audit := func(want int) string {
		t.Helper()
		out := m.mailbench(t, want, "run", "--data", m.data, "--verify=only", "--full", "-q", "-o", filepath.Join(t.TempDir(), "results"))
		return strings.Join(strings.Fields(out), " ")
	}
	audit(exitOK)

	m.addToCounter(t, 3)
	if out := m.validate(t, exitData); !strings.Contains(out, "Counters: count messages: 1 row") {
		t.Errorf("validate does not find the counter:\n%s", out)
	}
	if out := audit(exitData); !strings.Contains(out, "COUNTER DRIFT of 3 in all") {
		t.Errorf("the audit does not find the counter:\n%s", out)
	}

	file := filepath.Join(m.data, "elasticinbox-embedded", "dataset.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	killed := strings.Replace(string(text), `"closed": true`, `"closed": false`, 1)
	if err := os.WriteFile(file, []byte(killed), 0o600); err != nil {
		t.Fatal(err)
	}
	m.validate(t, exitOK)
	if out := audit(exitOK); !strings.Contains(out, "counter drift of 3 in all, as operations were interrupted") {
		t.Errorf("the audit does not find the counter of a killed run:\n%s", out)
	}
}

// addToCounter adds to the number of messages of a label.
func (m *loaded) addToCounter(t *testing.T, n int64) {
	t.Helper()
	ctx := t.Context()
	schema, err := schemas.Bundled(m.model)
	if err != nil {
		t.Fatal(err)
	}
	store, err := pebble.Engine().Open(ctx, drivers.Options{Dir: filepath.Join(m.data, m.model+"-"+m.engine, "store")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := store.Apply(ctx, schema); err != nil {
		t.Fatal(err)
	}
	session, err := store.Session()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	count, err := store.Prepare(ctx, schema.Pattern("count"))
	if err != nil {
		t.Fatal(err)
	}
	const inbox = "1"
	args := []drivers.Value{
		drivers.Text(plan.Address(0)), drivers.Text("l"), drivers.Text(inbox), drivers.Text("m"), drivers.Counter(n),
	}
	if _, err := session.Write(ctx, count, args); err != nil {
		t.Fatal(err)
	}
}
