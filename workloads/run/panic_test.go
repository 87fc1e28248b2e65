package run

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/results"
)

// A panic costs the phase that it is in. Its stack is in the result, the store and the
// namespace are removed as ever, and the other models are run.
func TestPanic(t *testing.T) {
	const phases = "  - warmup: {operations: 10, clients: 2}\n  - measure: {clients: 2, operations: 20, mix: {list: 1}}\n"
	for _, c := range []struct {
		in, phase string
		set       func(s *server, armed *atomic.Bool)
	}{
		{"opening", "load", func(s *server, armed *atomic.Bool) {
			s.applying = func() error {
				if armed.CompareAndSwap(true, false) {
					panic("the driver is broken")
				}
				return nil
			}
		}},
		{"loading", "load", nil},
		{"warming up", "warmup", nil},
		{"measuring", "measure", nil},
		{"auditing", "audit", nil},
		{"looking at the engine after the measurement", "measure", func(s *server, armed *atomic.Bool) {
			looks := 0 // before and after load, warm-up and measurement
			s.observing = func() {
				if looks++; looks == 6 {
					armed.Store(false)
					panic("the driver is broken")
				}
			}
		}},
	} {
		t.Run(c.in, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			s := newServer(t)
			config := remoteConfig(t, s, phases)
			config.Models = append([]models.Model{config.Models[0]}, bundledModels()[3])
			config.Audit, config.DataDir = AuditAfter, ""
			var armed atomic.Bool // of the first model
			armed.Store(true)
			var cell atomic.Int64
			if c.set != nil {
				c.set(s, &armed)
			} else {
				config.Progress = func(p Progress) {
					if p.Phase == c.phase {
						cell.Store(int64(p.Combination))
					}
				}
				s.breaks(func(bool) (error, bool) {
					if cell.Load() == 1 && armed.CompareAndSwap(true, false) {
						panic("the driver is broken")
					}
					return nil, true
				})
			}
			r, err := Run(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			failed := 0
			for i := range r.Cells {
				switch cell := &r.Cells[i]; {
				case cell.Model == config.Models[0].Name && cell.Phase == c.phase && cell.Verdict == results.Failed:
					failed++
					if !strings.Contains(cell.Error, "the driver is broken") || !strings.Contains(cell.Stack, "panic_test.go") {
						t.Errorf("error %q with the stack %s", cell.Error, cell.Stack)
					}
					if strings.HasPrefix(cell.Error, c.phase) {
						t.Errorf("the error %q repeats the phase, which reports print before it", cell.Error)
					}
					if strings.Contains(c.in, "after") && cell.Ops["list"].Count != 20 {
						t.Errorf("what was measured before the panic is lost: %+v", cell.Ops)
					}
				case cell.Verdict == results.Failed || cell.Stack != "":
					t.Errorf("cell %s failed too: %s", cell.Key, cell.Error)
				}
			}
			if failed != 1 || armed.Load() {
				t.Errorf("%d cells tell of the panic, want one; cells %v", failed, r.Cells)
			}
			if last := r.Cells[len(r.Cells)-1]; last.Model != config.Models[1].Name || last.Phase != "measure" || last.Ops["list"].Count != 20 {
				t.Errorf("the last cell is %s, want the second model measured", last.Key)
			}
			if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
				t.Errorf("left in the temporary folder: %v, %v", left, err)
			}
			if left := s.namespaces(); len(left) > 0 || len(r.Left) > 0 {
				t.Errorf("left on the server: %v, %q", left, r.Left)
			}
		})
	}
}
