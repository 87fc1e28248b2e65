package run

import (
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/latency"
)

// Operations that take a message out of its folder: it is nobody's target until
// their outcome is known. A record of the ledger says so before the call, as a
// killed process cannot.

func (w *worker) taking() bool {
	if !w.search((*shelf).remove) {
		return false
	}
	w.task.one[0] = w.task.handle
	return w.log(taking, w.task.from.place, w.task.handle)
}

func (w *worker) moving() bool {
	t := &w.task
	if len(w.dir.accounts[w.op.User].folders) < 2 || !w.search((*shelf).remove) {
		return false
	}
	to := w.other(t.account, t.from.shelf)
	if to.shelf == nil { // the search went on to an account with one folder
		t.from.targets.add(t.handle)
		return false
	}
	t.to, t.arrive, t.one[0], t.handles = to.ref, to.shelf, t.handle, append(t.handles[:0], models.Handle{})
	// In models whose handles stay the same, it may be there already if this
	// process is killed meanwhile.
	w.record(record{event: shown, place: t.arrive.place, n: w.op.N, handle: t.handle})
	return w.log(taking, t.from.place, t.handle)
}

func (w *worker) moved(out latency.Outcome) error {
	t := &w.task
	if out != latency.OK {
		return w.putBack(out)
	}
	w.record(record{event: left, place: t.from.place, n: w.op.N, handle: t.handle})
	w.record(record{event: arrived, place: t.arrive.place, n: w.op.N, handle: t.handles[0], ahead: w.ahead})
	if err := w.flush(); err != nil {
		return err
	}
	w.dir.add(t.arrive, t.handles[0], nil)
	return nil
}

// putBack makes a message a target again if it is known to be where it was.
// One of an unknown outcome is nobody's target from then on, and neither is one
// that the store says it does not have: the ledger still expects that one.
func (w *worker) putBack(out latency.Outcome) error {
	t := &w.task
	if out == latency.Unknown {
		return nil
	}
	w.record(record{event: kept, place: t.from.place, n: w.op.N, handle: t.handle})
	if err := w.flush(); err != nil || out == latency.NotFound {
		return err
	}
	w.dir.add(t.from.shelf, t.handle, nil)
	return nil
}

func (w *worker) removed(out latency.Outcome) error {
	if out != latency.OK {
		return w.putBack(out)
	}
	t := &w.task
	w.record(record{event: deleted, place: t.from.place, n: w.op.N, handle: t.handle})
	if err := w.flush(); err != nil {
		return err
	}
	if w.dir.keepDeleted {
		t.account.discard(key{t.from.place, t.handle})
	}
	return nil
}

func (w *worker) restoring() bool {
	t := &w.task
	for i := range min(searchFolders, len(w.dir.accounts)) {
		a := &w.dir.accounts[(w.op.User+i)%len(w.dir.accounts)]
		if k, ok := a.beginRestore(); ok {
			t.account, t.from, t.handle = a, a.folders[k.place.folder], k.handle
			return w.log(taking, k.place, k.handle)
		}
	}
	return false
}

func (w *worker) restored(out latency.Outcome) error {
	t := &w.task
	defer t.account.endRestore()
	switch out {
	case latency.OK:
		w.record(record{event: restored, place: t.from.place, n: w.op.N, handle: t.handle})
	case latency.Unknown:
		return nil
	default:
		w.record(record{event: kept, place: t.from.place, n: w.op.N, handle: t.handle})
	}
	if err := w.flush(); err != nil || out != latency.OK {
		return err
	}
	w.dir.add(t.from.shelf, t.handle, nil)
	return nil
}

func (w *worker) purging() bool {
	for i := range min(searchFolders, len(w.dir.accounts)) {
		if a := &w.dir.accounts[(w.op.User+i)%len(w.dir.accounts)]; a.beginPurge() {
			w.task.account, w.task.until = a, time.Now()
			return true
		}
	}
	return false
}

func purged(w *worker, _ latency.Outcome) error {
	w.task.account.endPurge()
	return nil
}
