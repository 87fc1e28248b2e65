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

const loadedWorkload = `
version: 1
name: loaded
mail: {body: {uniform: {min: 100, max: 2000}}, attachments: {share: 0.05, size: {constant: 5KB}}}
population: {users: 2, folders: 1, messages: 100}
phases:
  - load: {clients: 8}
  - measure: {clients: 1, operations: 20, mix: {list: 1}}
`

// TestKillsOfLoads kills mailbench while it loads a data set, with every model on the
// embedded engine. The next run goes on, and in the end all is there.
func TestKillsOfLoads(t *testing.T) {
	workload := filepath.Join(t.TempDir(), "loaded.yaml")
	if err := os.WriteFile(workload, []byte(loadedWorkload), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, m := range everyModel {
		t.Run(m.Name, func(t *testing.T) {
			var data string
			var args []string
			messages := 2000
			for killed := false; !killed; messages *= 2 {
				if messages > 1_000_000 {
					t.Fatal("each load was at its end before it could be killed")
				}
				data = filepath.Join(t.TempDir(), fmt.Sprint(messages))
				args = []string{
					workload, "-m", m.Name, "--data", data, "--no-overhead", "--quiet", "--durability", "process",
					"--set", fmt.Sprintf("population.messages=%d", messages),
				}
				killed = killedInLoad(t, filepath.Join(data, m.Name+"-embedded"), args)
			}
			messages /= 2
			r := startRun(t, append(args, "--verify")...).end(exitOK)
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

// killedInLoad kills a run that loads a data set, and reports whether that came before the end.
func killedInLoad(t *testing.T, dir string, args []string) bool {
	t.Helper()
	p := startRun(t, args...)
	p.await("the ledger to grow", func() bool {
		f, err := os.Stat(filepath.Join(dir, "ledger"))
		return err == nil && f.Size() > 100*64
	})
	_ = p.cmd.Process.Kill() // it may have ended
	p.finish()
	d, err := subject.ReadDataset(dir)
	if err != nil {
		t.Fatal(err)
	}
	return !d.Complete
}
