package drive

import (
	"path/filepath"
	"testing"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/subject"
)

// TestLedgerFirst: no message can be chosen before its record is in the ledger. Else a process that
// is killed between the two leaves a deletion of a message of which the ledger has no delivery.
// Here the ledger takes nothing, so nothing may become live.
func TestLedgerFirst(t *testing.T) {
	for name, done := range map[string]func(*worker) error{
		"delivered": func(w *worker) error { return w.delivered(latency.OK) },
		"moved":     func(w *worker) error { return w.moved() },
		"put back":  func(w *worker) error { return w.putBack(latency.Failed) },
	} {
		for _, whole := range []bool{true, false} {
			w := hotWorkerOf(t, workloads.Phase{Kind: workloads.Measure, Operations: 1, Mix: workloads.Mix{workloads.Deliver: 1}},
				idleBound{})
			acknowledged, err := ledger.Create(filepath.Join(t.TempDir(), "ledger"))
			if err != nil {
				t.Fatal(err)
			}
			if !whole {
				if err := acknowledged.Close(); err != nil {
					t.Fatal(err)
				}
			}
			w.target.Acknowledged = acknowledged
			a, b := &w.live.Accounts[0], &w.live.Accounts[1]
			h := models.Handle{1}
			w.account, w.from, w.to = a, a.Folders[0], b.Folders[0]
			w.handle, w.many, w.handles = h, []models.Handle{h}, []models.Handle{h}
			w.sets = []*subject.FolderSet{a.Folders[0].FolderSet}
			err = done(w)
			live := a.Folders[0].Len() + b.Folders[0].Len()
			if want := map[bool]int{true: 1, false: 0}[whole]; live != want || (err == nil) != whole {
				t.Errorf("%s, with a ledger that takes its record: %v: %d messages can be chosen, want %d; %v", name, whole,
					live, want, err)
			}
		}
	}
}

// TestLedgerFirstOfLabels: nor can a label be taken off before the ledger has where it was shown.
func TestLedgerFirstOfLabels(t *testing.T) {
	for _, whole := range []bool{true, false} {
		w := hotWorkerOf(t, workloads.Phase{Kind: workloads.Measure, Operations: 1, Mix: workloads.Mix{workloads.Deliver: 1}},
			idleBound{})
		acknowledged, err := ledger.Create(filepath.Join(t.TempDir(), "ledger"))
		if err == nil && !whole {
			err = acknowledged.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		w.target.Acknowledged = acknowledged
		w.from, w.to, w.handle = w.live.Accounts[0].Folders[0], w.live.Accounts[1].Folders[0], models.Handle{1}
		takeOff := func() bool { _, ok := w.from.Unlabel(); return ok }
		for !takeOff() { // in the end there is one label fewer than Unlabel needs
			w.from.Label(subject.DoubleLabeled{Handle: w.handle, Second: w.to})
		}
		err = w.labeled(latency.OK)
		if off := takeOff(); off != whole || (err == nil) != whole {
			t.Errorf("with a ledger that takes its record: %v: a label can be taken off: %v; %v", whole, off, err)
		}
	}
}
