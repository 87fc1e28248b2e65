package subject

import (
	"sync"
	"testing"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads/ledger"
)

// A message that another worker removes as soon as it is live is not kept for reading its
// attachment.
func TestRemovedIsNotAttached(t *testing.T) {
	l := Live{keepAttached: true}
	m := mail.Message{Attachments: []mail.Part{{Name: "a"}}}
	const each = 5000
	var f FolderSet
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for n := range each {
				l.Add(&f, handle(w*each+n), &m, models.Holding{})
				for removed := false; !removed; {
					_, removed = f.Remove(0)
				}
			}
		})
	}
	wg.Wait()
	if h, _, ok := f.ReadAttached(0); ok {
		t.Errorf("%x is read after it was removed", h)
	}
}

// A message whose deletion was under way when a purge began is not restored: the purge may have removed it.
func TestPurgedIsNotRestored(t *testing.T) {
	l, a := Live{keepDeleted: true}, new(Account)
	before := a.Purges.Load()
	l.Discard(a, ledger.Key{Handle: handle(1)}, before)
	if k, ok := a.BeginRestore(); !ok || k.Handle != handle(1) {
		t.Errorf("before any purge: %x, %t", k.Handle, ok)
	}
	a.Purge.RUnlock()
	if !a.BeginPurge() {
		t.Fatal("a restore is said to be under way")
	}
	l.Discard(a, ledger.Key{Handle: handle(2)}, before)
	l.Discard(a, ledger.Key{Handle: handle(3)}, a.Purges.Load())
	a.Purge.Unlock()
	l.Discard(a, ledger.Key{Handle: handle(4)}, before)
	if k, ok := a.BeginRestore(); !ok || k.Handle != handle(3) {
		t.Errorf("%x is restored, %t, want the message whose deletion began after the purge", k.Handle, ok)
	}
	if k, ok := a.BeginRestore(); ok {
		t.Errorf("%x is restored, which the purge may have removed", k.Handle)
	}
}
