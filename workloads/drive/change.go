package drive

import (
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads/ledger"
)

// These operations take a message out of its folder: no other operation can choose
// it until their outcome is known. They write a record to the ledger before the
// call, because a process that is killed cannot write one afterwards.

func (w *worker) chooseToDelete() (bool, error) {
	if !w.search(removeRank) {
		return false, nil
	}
	w.task.one[0] = w.task.handle
	return true, w.log(ledger.Taking, w.task.from.Place, w.task.handle)
}

func (w *worker) chooseToMove() (bool, error) {
	t := &w.task
	if len(w.live.Accounts[w.op.User].Folders) < 2 || !w.search(removeRank) {
		return false, nil
	}
	if t.to = w.other(t.account, t.from); t.to.FolderSet == nil { // the search went on to an account with one folder
		t.from.Add(t.handle)
		return false, nil
	}
	t.one[0], t.handles = t.handle, append(t.handles[:0], models.Handle{})
	// If this process is killed during the call, the message may be in the new folder.
	// In some models it has the same handle there.
	w.record(ledger.Record{Event: ledger.Shown, Place: t.to.Place, N: w.op.N, Handle: t.handle})
	return true, w.log(ledger.Taking, t.from.Place, t.handle)
}

func (w *worker) moved(out latency.Outcome) error {
	t := &w.task
	if out != latency.OK {
		return w.putBack(out)
	}
	w.record(ledger.Record{Event: ledger.Left, Place: t.from.Place, N: w.op.N, Handle: t.handle})
	w.record(ledger.Record{Event: ledger.Arrived, Place: t.to.Place, N: w.op.N, Handle: t.handles[0], Ahead: w.ahead})
	if err := w.flush(); err != nil {
		return err
	}
	w.live.Add(t.to.FolderSet, t.handles[0], nil)
	return nil
}

// putBack makes a message live again if it is known to be where it was. No operation
// chooses a message again whose outcome is unknown, or which the store says it does
// not have. The ledger still expects the latter.
func (w *worker) putBack(out latency.Outcome) error {
	t := &w.task
	if out == latency.Unknown {
		return nil
	}
	err := w.log(ledger.Kept, t.from.Place, t.handle)
	if err != nil || out == latency.NotFound && !w.target.Caps.Discards {
		return err
	}
	w.live.Add(t.from.FolderSet, t.handle, nil)
	return nil
}

func (w *worker) removed(out latency.Outcome) error {
	if out != latency.OK {
		return w.putBack(out)
	}
	t := &w.task
	if err := w.log(ledger.Deleted, t.from.Place, t.handle); err != nil {
		return err
	}
	w.live.Discard(t.account, ledger.Key{Place: t.from.Place, Handle: t.handle})
	return nil
}

func (w *worker) chooseToRestore() (bool, error) {
	t := &w.task
	for i := range min(searchFolders, len(w.live.Accounts)) {
		a := &w.live.Accounts[(w.op.User+i)%len(w.live.Accounts)]
		if k, ok := a.BeginRestore(); ok {
			t.account, t.from, t.handle = a, a.Folders[k.Place.Folder], k.Handle
			return true, w.log(ledger.Taking, k.Place, k.Handle)
		}
	}
	return false, nil
}

func (w *worker) restored(out latency.Outcome) error {
	t := &w.task
	defer t.account.EndRestore()
	event := ledger.Kept
	switch out {
	case latency.OK:
		event = ledger.Restored
	case latency.Unknown:
		return nil
	}
	if err := w.log(event, t.from.Place, t.handle); err != nil || out != latency.OK {
		return err
	}
	w.live.Add(t.from.FolderSet, t.handle, nil)
	return nil
}

func (w *worker) chooseToPurge() (bool, error) {
	for i := range min(searchFolders, len(w.live.Accounts)) {
		if a := &w.live.Accounts[(w.op.User+i)%len(w.live.Accounts)]; a.BeginPurge() {
			w.task.account, w.task.until = a, time.Now()
			return true, nil
		}
	}
	return false, nil
}

func purged(w *worker, _ latency.Outcome) error {
	w.task.account.EndPurge()
	return nil
}
