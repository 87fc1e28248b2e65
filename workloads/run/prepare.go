package run

import (
	"fmt"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/latency"
)

// What an operation works on is chosen, and held, before its due time, and let
// go of when its outcome is known.

// searchFolders is how many folders are looked at for a target, beginning with
// the one that the plan chose.
const searchFolders = 1000

// search finds the first folder, from the planned one on, in which hold gets
// hold of a target.
func (w *worker) search(hold func(f *shelf, rank int) (models.Handle, bool)) bool {
	user, at := w.op.User, w.op.Folder
	for range searchFolders {
		a := &w.dir.accounts[user]
		f := a.folders[at]
		if live := f.len(); live > 0 {
			if h, ok := hold(f.shelf, w.plan.Pick(&w.op, live)); ok {
				w.task.account, w.task.from, w.task.handle = a, f, h
				return true
			}
		}
		if at++; at == len(a.folders) {
			at, user = 0, (user+1)%len(w.dir.accounts)
		}
	}
	return false
}

// anyFolder is the planned folder, whatever is in it.
func anyFolder(w *worker) bool {
	w.task.account = &w.dir.accounts[w.op.User]
	w.task.from = w.task.account.folders[w.op.Folder]
	return true
}

// paging lists from the newest message, or behind one that need not be there
// any more when the page is read.
func (w *worker) paging() bool {
	w.task.after = models.Handle{}
	anyFolder(w)
	if f := w.task.from; w.op.Deep {
		if live := f.len(); live > 0 {
			if h, ok := f.read(w.plan.Pick(&w.op, live)); ok {
				f.release(h)
				w.task.after = h
			}
		}
	}
	return true
}

func (w *worker) reading() bool { return w.search((*shelf).readRank) }

func (f *shelf) readRank(rank int) (models.Handle, bool) { return f.read(rank) }
func (f *shelf) ownRank(rank int) (models.Handle, bool)  { return f.own(rank) }

func released(w *worker, _ latency.Outcome) error {
	w.task.from.release(w.task.handle)
	return nil
}

func (w *worker) readingAttached() bool {
	return w.search(func(f *shelf, rank int) (models.Handle, bool) {
		a, ok := f.readAttached(rank)
		w.task.name = a.name
		return a.handle, ok
	})
}

func (w *worker) owning() bool { return w.search((*shelf).ownRank) }

func disowned(w *worker, _ latency.Outcome) error {
	w.task.from.disown(w.task.handle)
	return nil
}

func (w *worker) searching() bool {
	anyFolder(w)
	w.task.name, w.err = w.mail.From(w.op.Message)
	return w.err == nil
}

func (w *worker) slicing() bool {
	anyFolder(w)
	w.task.since, w.task.until = w.plan.Window(&w.op, w.dataset.Began, w.began)
	return true
}

// labelling puts a label on, or takes one off that was put on before.
func (w *worker) labelling() bool {
	a := &w.dir.accounts[w.op.User]
	if len(a.folders) < 2 {
		return false
	}
	t, f := &w.task, a.folders[w.op.Folder]
	if l, ok := f.unlabel(); ok {
		t.account, t.from, t.handle, t.to, t.arrive, t.off = a, f, l.handle, l.at.ref, l.at.shelf, true
		return true
	}
	t.off = false
	if !w.search((*shelf).ownRank) {
		return false
	}
	to := w.other(t.account, t.from.shelf)
	if to.shelf == nil { // the search went on to an account with one folder
		t.from.disown(t.handle)
		return false
	}
	t.to, t.arrive = to.ref, to.shelf
	w.record(record{event: labelled, place: t.from.place, n: w.op.N, handle: t.handle})
	w.record(record{event: shown, place: to.place, n: w.op.N, handle: t.handle})
	w.err = w.flush()
	return w.err == nil
}

// other is the folder that the plan moves to, or the next one if that is where
// the message is.
func (w *worker) other(a *account, from *shelf) folder {
	for i := range a.folders {
		if f := a.folders[(w.op.To+i)%len(a.folders)]; f.shelf != from {
			return f
		}
	}
	return folder{} // of accounts with one folder nothing is moved
}

func (w *worker) labelled(out latency.Outcome) error {
	t := &w.task
	switch {
	case out == latency.Unknown: // it stays owned: nobody knows what a deletion would leave
		return nil
	case (out == latency.OK) == t.off: // it has no second label
		defer t.from.disown(t.handle)
		w.record(record{event: unlabelled, place: t.from.place, n: w.op.N, handle: t.handle})
	case out == latency.OK:
		w.record(record{event: shown, place: t.arrive.place, n: w.op.N, handle: t.one[0]})
		t.from.label(twofold{handle: t.handle, at: folder{t.to, t.arrive}})
	}
	return w.flush()
}

// address makes the message of a delivery and the folders that it goes to.
func (w *worker) address() bool {
	t := &w.task
	t.shelves, t.refs = t.shelves[:0], t.refs[:0]
	for _, u := range w.op.Recipients {
		f := w.dir.accounts[u].folders[0]
		t.shelves, t.refs = append(t.shelves, f.shelf), append(t.refs, f.ref)
	}
	return w.write(w.op.Message, w.op.Date)
}

// write makes the message to deliver.
func (w *worker) write(n uint64, date time.Time) bool {
	t := &w.task
	t.handles = append(t.handles[:0], make([]models.Handle, len(t.refs))...)
	if w.err = w.mail.Message(n, date, &w.message); w.err == nil && w.ledger != nil {
		t.digest, w.err = w.digester.message(&w.message)
	}
	return w.err == nil
}

func (w *worker) delivered(out latency.Outcome) error {
	t := &w.task
	switch out {
	case latency.OK:
		for i, f := range t.shelves {
			w.record(record{event: delivered, place: f.place, n: w.op.Message, handle: t.handles[i], digest: t.digest, ahead: w.ahead})
		}
	case latency.Unknown:
		for _, f := range t.shelves {
			w.record(record{event: unsure, place: f.place, n: w.op.Message})
		}
	default:
		return nil
	}
	if err := w.flush(); err != nil || out != latency.OK {
		return err
	}
	for i, f := range t.shelves {
		w.dir.add(f, t.handles[i], &w.message)
	}
	return nil
}

// log writes one record at once; false, and w.err, if that failed.
func (w *worker) log(e event, p place, h models.Handle) bool {
	w.record(record{event: e, place: p, n: w.op.N, handle: h})
	w.err = w.flush()
	return w.err == nil
}

// record adds a record to those that flush writes.
func (w *worker) record(r record) {
	if w.ledger != nil {
		w.records = r.append(w.records)
	}
}

func (w *worker) flush() error {
	if w.ledger == nil {
		return nil
	}
	err := w.ledger.write(w.records)
	w.records = w.records[:0]
	if err != nil {
		return fmt.Errorf("operation %d: %w", w.op.N, err)
	}
	return nil
}
