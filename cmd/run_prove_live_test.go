package cmd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/workloads/results"
)

// grows is a schema whose partitions grow without bound, and a read of all rows of one.
const grows = `schema: 1
name: grows
native: cassandra
tables:
  orders: {partition: [customer uuid], clustering: [id timeuuid desc], columns: {state: text}}
patterns:
  put: {put: orders}
  page: {slice: orders, by: [customer], limit: arg}
  all_of_customer: {slice: orders, by: [customer]}
`

// TestProveLive: on Cassandra, --prove shows what lint warns of with the rows that a partition and a read have.
func TestProveLive(t *testing.T) {
	contact := live.Contact(t, "cassandra")
	dir := t.TempDir()
	file, out := filepath.Join(dir, "grows.yaml"), filepath.Join(dir, "out")
	if err := os.WriteFile(file, []byte(grows), 0o600); err != nil {
		t.Fatal(err)
	}
	new(loaded).mailbench(t, exitOK, "run", file, "--prove", "-e", "cassandra", "--contact", contact, "--sweep",
		"population.rows=200,2000", "-q", "--no-overhead", "--fail-on=failed", "-o", out)
	r, err := results.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"unbounded-partition orders": true, "unbounded-read all_of_customer": true}
	for _, f := range r.Findings {
		if f.Engine != "cassandra" || f.Verdict != "confirmed" {
			t.Errorf("%+v, want it confirmed on cassandra", f)
		}
		delete(want, f.Rule+" "+f.Where)
	}
	if len(want) > 0 {
		t.Errorf("not confirmed: %v, in %+v", want, r.Findings)
	}
}
