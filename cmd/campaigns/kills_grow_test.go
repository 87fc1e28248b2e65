//go:build campaigns && unix

package campaigns

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/subject"
)

const growingWorkload = `
version: 1
name: growing
mail: {body: {uniform: {min: 100, max: 2000}}, attachments: {share: 0.05, size: {constant: 5KB}}}
population: {users: 2, folders: 1, messages: 100}
phases:
  - load: {clients: 8}
  - measure: {clients: 1, operations: 20, mix: {list: 1}}
`

// TestKillsOfGrowth kills mailbench while a data set grows, with every model on the
// embedded engine. The next run goes on, and in the end all is there.
func TestKillsOfGrowth(t *testing.T) {
	workload := filepath.Join(t.TempDir(), "growing.yaml")
	if err := os.WriteFile(workload, []byte(growingWorkload), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, m := range everyModel {
		t.Run(m.Name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			dir := filepath.Join(data, m.Name+"-embedded")
			args := func(messages int) []string {
				return []string{
					workload, "-m", m.Name, "--data", data, "--no-overhead", "--quiet", "--durability", "process",
					"--set", fmt.Sprintf("population.messages=%d", messages),
				}
			}
			startRun(t, args(100)...).end(exitOK)
			messages := 2000
			for !killed(t, dir, args(messages)) {
				if messages *= 2; messages > 1_000_000 {
					t.Fatal("each growth was at its end before it could be killed")
				}
			}
			r := startRun(t, append(args(messages), "--verify")...).end(exitOK)
			for _, c := range r.Cells {
				if c.Kind == results.KindLoad && !strings.HasPrefix(c.Evidence.Load, "continues a load that was interrupted, with ") {
					t.Errorf("the load says %q", c.Evidence.Load)
				}
			}
			a := r.Audits[0]
			if a.Verified != int64(2*messages) || a.Delivered != a.Verified || a.Lost+a.Corrupt+a.Unread+a.Dangling+a.BrokenBodies+a.BadUIDs > 0 {
				t.Errorf("audit: %+v, want %d verified", a, 2*messages)
			}
			t.Logf("%d messages; %d more in the store, %d unreferenced, counter drift of %d",
				a.Verified, a.Messages-a.Verified, a.Unreferenced, a.CounterDrift)
		})
	}
}

// killed kills a run that lets a data set grow, and reports whether that came before the end.
func killed(t *testing.T, dir string, args []string) bool {
	t.Helper()
	ledger := func() int64 {
		f, err := os.Stat(filepath.Join(dir, "ledger"))
		if err != nil {
			t.Fatal(err)
		}
		return f.Size()
	}
	before, p := ledger(), startRun(t, args...)
	p.await("the ledger to grow", func() bool { return ledger() > before+100*64 })
	_ = p.cmd.Process.Kill() // it may have ended
	p.finish()
	d, err := subject.ReadDataset(dir)
	if err != nil {
		t.Fatal(err)
	}
	return !d.Complete
}
