package drive

import (
	"fmt"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/target"
)

// Before an operation is due, its worker chooses the message or account that it works on and
// reserves it, so that no operation in conflict chooses it too. The reservation ends when the
// outcome is known.

// searchFolders is how many folders are looked at for a message, beginning with
// the one that the plan chose.
const searchFolders = 1000

// search finds the first folder, from the planned one on, in which reserve takes
// a message.
func (w *worker) search(reserve func(f *target.FolderSet, rank int) (models.Handle, bool)) bool {
	user, at := w.op.User, w.op.Folder
	for range searchFolders {
		a := &w.live.Accounts[user]
		f := a.Folders[at]
		if live := f.Len(); live > 0 {
			w.task.rank = w.op.Choose(live)
			if h, ok := reserve(f.FolderSet, w.task.rank); ok {
				w.task.account, w.task.from, w.task.handle = a, f, h
				return true
			}
		}
		if at++; at == len(a.Folders) {
			at, user = 0, w.live.After(user)
		}
	}
	return false
}

// chooseFolder takes the planned folder, whatever is in it.
func chooseFolder(w *worker) (bool, error) {
	w.task.account = &w.live.Accounts[w.op.User]
	w.task.from = w.task.account.Folders[w.op.Folder]
	return true, nil
}

// choosePage chooses where a page begins: at the newest message, or behind a message that
// may be gone when the page is read.
func (w *worker) choosePage() (bool, error) {
	w.task.after = models.Handle{}
	w.task.account = &w.live.Accounts[w.op.User]
	w.task.from = w.task.account.Folders[w.op.Folder]
	if !w.op.Deep && w.op.Skip == 0 {
		return true, nil // the newest page begins behind no message
	}
	f := w.task.from
	live := f.Len()
	rank := min(w.op.Skip, live) - 1
	if w.op.Deep && live > 0 {
		rank = w.op.Choose(live)
	}
	if rank >= 0 {
		if h, ok := f.Read(rank); ok {
			f.Release(h)
			w.task.after = h
		}
	}
	return true, nil
}

func (w *worker) chooseToRead() (bool, error) { return w.search(readRank), nil }

// chooseToFlag reserves a message and as many older ones as the operation needs.
func (w *worker) chooseToFlag() (bool, error) {
	if !w.search(ownRank) {
		return false, nil
	}
	w.reserveMore(ownRank, 1)
	return true, nil
}

// reserveMore reserves messages behind the one chosen, until there are as many as the operation
// works on. Step is 1 if reserve leaves a message in the folder, and 0 if it takes it out.
func (w *worker) reserveMore(reserve func(f *target.FolderSet, rank int) (models.Handle, bool), step int) {
	t := &w.task
	t.many = append(t.many[:0], t.handle)
	for len(t.many) < w.op.Messages {
		h, ok := reserve(t.from.FolderSet, t.rank+step*len(t.many))
		if !ok {
			return
		}
		t.many = append(t.many, h)
	}
}

func readRank(f *target.FolderSet, rank int) (models.Handle, bool)   { return f.Read(rank) }
func ownRank(f *target.FolderSet, rank int) (models.Handle, bool)    { return f.Own(rank) }
func removeRank(f *target.FolderSet, rank int) (models.Handle, bool) { return f.Remove(rank) }

func released(w *worker, _ latency.Outcome) error {
	w.task.from.Release(w.task.handle)
	return nil
}

func flagged(w *worker, _ latency.Outcome) error {
	for _, h := range w.task.many {
		w.task.from.Disown(h)
	}
	return nil
}

func (w *worker) chooseAttachment() (bool, error) {
	return w.search(func(f *target.FolderSet, rank int) (models.Handle, bool) {
		h, name, ok := f.ReadAttached(rank)
		w.task.name = name
		return h, ok
	}), nil
}

func (w *worker) chooseSender() (ok bool, err error) {
	if ok, err = chooseFolder(w); err == nil {
		w.task.name, err = w.mail.From(w.op.Message)
	}
	return ok, err
}

func (w *worker) chooseSlice() (bool, error) {
	w.task.since, w.task.until = w.op.Window(w.target.Dataset.Began, w.phase.began)
	return chooseFolder(w)
}

// chooseToLabel puts a label on, or takes one off that was put on before.
func (w *worker) chooseToLabel() (bool, error) {
	a := &w.live.Accounts[w.op.User]
	if len(a.Folders) < 2 {
		return false, nil
	}
	t, f := &w.task, a.Folders[w.op.Folder]
	if l, ok := f.Unlabel(); ok {
		t.account, t.from, t.handle, t.to, t.off = a, f, l.Handle, l.Second, true
		return true, nil
	}
	t.off = false
	if !w.search(ownRank) {
		return false, nil
	}
	if t.to = w.other(t.account, t.from); t.to.FolderSet == nil { // the search went on to an account with one folder
		t.from.Disown(t.handle)
		return false, nil
	}
	w.record(ledger.Record{Event: ledger.Labelled, Place: t.from.Place, N: w.op.N, Handle: t.handle})
	w.record(ledger.Record{Event: ledger.Shown, Place: t.to.Place, N: w.op.N, Handle: t.handle})
	return true, w.flush()
}

// other is the folder that the plan moves to, or the next one if the message is
// already there. For an account with one folder, the result's FolderSet is nil.
func (w *worker) other(a *target.Account, from target.Folder) target.Folder {
	for i := range a.Folders {
		if f := a.Folders[(w.op.To+i)%len(a.Folders)]; f.FolderSet != from.FolderSet {
			return f
		}
	}
	return target.Folder{}
}

func (w *worker) labelled(out latency.Outcome) error {
	t := &w.task
	switch {
	case out == latency.Unknown: // the message stays owned: nobody knows what a deletion would leave
		return nil
	case out == latency.NotFound && t.off && !w.target.Caps.Discards:
		return nil // the store says that it does not have the message; the ledger still expects it
	case t.off && out != latency.OK: // the message still has both labels
		t.from.Label(target.DoubleLabelled{Handle: t.handle, Second: t.to})
	case (out == latency.OK) == t.off: // the message has no second label
		defer t.from.Disown(t.handle)
		w.record(ledger.Record{Event: ledger.Unlabelled, Place: t.from.Place, N: w.op.N, Handle: t.handle})
	case out == latency.OK:
		w.record(ledger.Record{Event: ledger.Shown, Place: t.to.Place, N: w.op.N, Handle: t.shown})
		t.from.Label(target.DoubleLabelled{Handle: t.handle, Second: t.to})
	}
	return w.flush()
}

// chooseRecipients chooses the folders of a delivery and makes its message.
func (w *worker) chooseRecipients() (bool, error) {
	t := &w.task
	t.sets, t.refs = t.sets[:0], t.refs[:0]
	for _, u := range w.op.Recipients {
		f := w.live.Accounts[u].Folders[w.op.Folder]
		t.sets, t.refs = append(t.sets, f.FolderSet), append(t.refs, f.Ref)
	}
	return true, w.makeMessage(w.op.Message, w.op.Date)
}

// makeMessage makes the message to deliver.
func (w *worker) makeMessage(n uint64, date time.Time) (err error) {
	t := &w.task
	t.handles = append(t.handles[:0], make([]models.Handle, len(t.refs))...)
	if sized, ok := w.mail.(messages.Sizer); ok && w.op.Size > 0 {
		err = sized.Sized(n, date, w.op.Size, &w.message)
	} else {
		err = w.mail.Message(n, date, &w.message)
	}
	if err == nil && w.target.Acknowledged != nil {
		t.digest, err = w.digester.Message(&w.message)
	}
	return err
}

func (w *worker) delivered(out latency.Outcome) error {
	t, held := &w.task, w.memoryNeeds()
	switch out {
	case latency.OK:
		for i, f := range t.sets {
			w.record(ledger.Record{
				Event: ledger.Delivered, Held: models.Pack(held), Place: f.Place, N: w.op.Message,
				Handle: t.handles[i], Digest: t.digest, Ahead: w.ahead,
			})
		}
	case latency.Unknown:
		for _, f := range t.sets {
			w.record(ledger.Record{Event: ledger.UnknownDelivery, Place: f.Place, N: w.op.Message})
		}
	default:
		return nil
	}
	if err := w.flush(); err != nil || out != latency.OK {
		return err
	}
	for i, f := range t.sets {
		w.live.Add(f, t.handles[i], &w.message, held)
	}
	return nil
}

// log writes one record to the ledger at once.
func (w *worker) log(e ledger.Event, p ledger.Place, h models.Handle) error {
	w.record(ledger.Record{Event: e, Place: p, N: w.op.N, Handle: h})
	return w.flush()
}

// record adds a record to those that flush writes.
func (w *worker) record(r ledger.Record) {
	if w.target.Acknowledged != nil {
		w.records = r.Append(w.records)
	}
}

func (w *worker) flush() error {
	if w.target.Acknowledged == nil {
		return nil
	}
	err := w.target.Acknowledged.Write(w.records)
	w.records = w.records[:0]
	if err != nil {
		return fmt.Errorf("operation %d: %w", w.op.N, err)
	}
	return nil
}
