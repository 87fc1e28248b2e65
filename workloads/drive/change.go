package drive

import (
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/target"
)

// Delete and move take a message out of its folder, restore takes one from the deleted ones:
// no other operation can choose it until their outcome is known. They write a record to the
// ledger before the call, because a process that is killed cannot write one afterwards.

func (w *worker) chooseToDelete() (bool, error) {
	if !w.search(removeRank) {
		return false, nil
	}
	w.reserveMore(removeRank, 0)
	return true, w.logAll(ledger.Taking)
}

// logAll writes a record for each message of the operation.
func (w *worker) logAll(e ledger.Event) error {
	for _, h := range w.task.many {
		w.record(ledger.Record{Event: e, Place: w.task.from.Place, N: w.op.N, Handle: h})
	}
	return w.flush()
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
	w.reserveMore(removeRank, 0)
	// If this process is killed during the call, the messages may be in the new folder.
	// In some models they have the same handles there.
	t.handles = t.handles[:0]
	for _, h := range t.many {
		t.handles = append(t.handles, models.Handle{})
		w.record(ledger.Record{Event: ledger.Shown, Place: t.to.Place, N: w.op.N, Handle: h})
	}
	return true, w.logAll(ledger.Taking)
}

func (w *worker) moved(out latency.Outcome) error {
	t := &w.task
	if out != latency.OK {
		return w.putBack(out)
	}
	for i, h := range t.many {
		w.record(ledger.Record{Event: ledger.Left, Place: t.from.Place, N: w.op.N, Handle: h})
		w.record(ledger.Record{Event: ledger.Arrived, Place: t.to.Place, N: w.op.N, Handle: t.handles[i], Ahead: w.ahead})
	}
	if err := w.flush(); err != nil {
		return err
	}
	for i, h := range t.handles {
		w.live.Add(t.to.FolderSet, h, nil, w.live.Holding(t.many[i]))
	}
	return nil
}

// putBack makes messages live again if they are known to be where they were. A message of
// unknown outcome, or one that the store says it does not have, is not chosen again. The
// ledger still expects the latter.
func (w *worker) putBack(out latency.Outcome) error {
	t := &w.task
	if out == latency.Unknown {
		return nil
	}
	err := w.logAll(ledger.Kept)
	if err != nil || out == latency.NotFound && !w.target.Caps.Discards {
		return err
	}
	for _, h := range t.many {
		w.live.Add(t.from.FolderSet, h, nil, models.Holding{})
	}
	return nil
}

func (w *worker) removed(out latency.Outcome) error {
	if out != latency.OK {
		return w.putBack(out)
	}
	t := &w.task
	if err := w.logAll(ledger.Deleted); err != nil {
		return err
	}
	for _, h := range t.many {
		w.live.Discard(t.account, ledger.Key{Place: t.from.Place, Handle: h})
	}
	return nil
}

func (w *worker) chooseToRestore() (bool, error) {
	t := &w.task
	user := w.op.User
	for range min(searchFolders, len(w.live.Accounts)) {
		a := &w.live.Accounts[user]
		user = w.live.After(user)
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
	w.live.Add(t.from.FolderSet, t.handle, nil, models.Holding{})
	return nil
}

func (w *worker) chooseToPurge() (bool, error) {
	w.task.until = time.Now().Add(-w.op.Age)
	return w.chooseAccount((*target.Account).BeginPurge), nil
}

func (w *worker) chooseToRecount() (bool, error) {
	return w.chooseAccount((*target.Account).BeginRecount), nil
}

// chooseAccount finds the first account, from the planned one on, that begin can reserve.
func (w *worker) chooseAccount(begin func(*target.Account) bool) bool {
	user := w.op.User
	for range min(searchFolders, len(w.live.Accounts)) {
		a := &w.live.Accounts[user]
		user = w.live.After(user)
		if begin(a) {
			w.task.account = a
			return true
		}
	}
	return false
}

func purged(w *worker, _ latency.Outcome) error {
	w.task.account.EndPurge()
	return nil
}

// recounted ends the reservation of the account, unless the recount may still go on.
func recounted(w *worker, out latency.Outcome) error {
	if out != latency.Unknown {
		w.task.account.EndRecount()
	}
	return nil
}
