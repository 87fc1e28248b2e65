package drive

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/subject"
)

// Before an operation is scheduled, its worker chooses the message or account that it works on and
// reserves it, so that no operation in conflict chooses it too. The reservation ends when the
// outcome is known.

// searchFolders is how many folders are looked at for a message, beginning with
// the one that the plan chose.
const searchFolders = 1000

// search finds the first folder, from the planned one on, in which reserve takes
// a message. It passes over accounts with one folder if the operation needs another one.
func (t *task) search(reserve func(f *subject.FolderSet, rank int) (models.Handle, bool)) bool {
	user, at := t.op.User, t.op.Folder
	needs := 1
	if t.op.Op == workloads.Move || t.op.Op == workloads.Label {
		needs = 2
	}
	for range searchFolders {
		a := &t.live.Accounts[user]
		f := a.Folders[at]
		if live := f.Len(); live > 0 && len(a.Folders) >= needs {
			t.rank = t.op.Choose(live)
			if h, ok := reserve(f.FolderSet, t.rank); ok {
				t.account, t.from, t.handle = a, f, h
				return true
			}
		}
		if at++; at == len(a.Folders) {
			at, user = 0, t.live.After(user)
		}
	}
	return false
}

// choosePage chooses where a page begins: at the newest message, or after a message that
// may be gone when the page is read.
func (t *task) choosePage() {
	t.after = models.Handle{} // the newest page begins after no message
	if t.op.Deep || t.op.Skip > 0 {
		live := t.from.Len()
		rank := min(t.op.Skip, live) - 1
		if t.op.Deep && live > 0 {
			rank = t.op.Choose(live)
		}
		if rank >= 0 {
			if h, ok := t.from.Read(rank); ok {
				t.from.Release(h)
				t.after = h
			}
		}
	}
}

// searchMany searches for a message and reserves those after it, until there are as many as the operation
// works on. Step is 1 if reserve leaves a message in the folder, and 0 if it takes it out.
func (t *task) searchMany(reserve func(f *subject.FolderSet, rank int) (models.Handle, bool), step int) bool {
	if !t.search(reserve) {
		return false
	}
	t.many = append(t.many[:0], t.handle)
	for len(t.many) < t.op.Messages {
		h, ok := reserve(t.from.FolderSet, t.rank+step*len(t.many))
		if !ok {
			break
		}
		t.many = append(t.many, h)
	}
	return true
}

// chooseNewUser names an account that no other operation makes, with folders like those of the planned user.
func (t *task) chooseNewUser() {
	t.name = fmt.Sprintf("new.%d.%d.%s", time.Now().UnixNano(), t.op.N, t.account.Ref.Address)
	t.names = t.names[:0]
	for i := range t.account.Folders {
		t.names = append(t.names, plan.FolderName(i))
	}
}

// chooseToLabel puts a label on, or takes one off that was put on before.
func (t *task) chooseToLabel() (bool, error) {
	if len(t.account.Folders) < 2 {
		return false, nil
	}
	l, off := t.from.Unlabel()
	if t.off = off; off {
		t.handle, t.to = l.Handle, l.Second
		return true, nil
	}
	if !t.search((*subject.FolderSet).Own) {
		return false, nil
	}
	t.to = t.other()
	t.record(ledger.Record{Event: ledger.Labeled, Place: t.from.Place, N: t.op.N, Handle: t.handle})
	t.record(ledger.Record{Event: ledger.Shown, Place: t.to.Place, N: t.op.N, Handle: t.handle})
	return true, t.flush()
}

// other is the folder that the plan moves to, or the next one if the message is
// already there. The account has several.
func (t *task) other() subject.Folder {
	all := t.account.Folders
	f := all[t.op.To%len(all)]
	if f.FolderSet == t.from.FolderSet {
		f = all[(t.op.To+1)%len(all)]
	}
	return f
}

func (t *task) labeled(out latency.Outcome) error {
	switch {
	case out == latency.Unknown: // the message stays owned: the effect of a deletion would be unknown
		return nil
	case out == latency.NotFound && t.off && !t.target.Caps.Discards:
		return nil // the store says that it does not have the message; the ledger still expects it
	case t.off && out != latency.OK: // the message still has both labels
		t.from.Label(subject.DoubleLabeled{Handle: t.handle, Second: t.to})
	case (out == latency.OK) == t.off: // the message has no second label
		defer t.from.Release(t.handle)
		t.record(ledger.Record{Event: ledger.Unlabeled, Place: t.from.Place, N: t.op.N, Handle: t.handle})
	case out == latency.OK:
		t.record(ledger.Record{Event: ledger.Shown, Place: t.to.Place, N: t.op.N, Handle: t.shown})
		if err := t.flush(); err != nil { // before Label: another worker may choose the message at once
			return err
		}
		t.from.Label(subject.DoubleLabeled{Handle: t.handle, Second: t.to})
	}
	return t.flush()
}

// chooseRecipients chooses the folders of a delivery and makes its message. Users who share a folder
// have one message there.
func (t *task) chooseRecipients() (err error) {
	t.sets, t.refs = t.sets[:0], t.refs[:0]
	for _, u := range t.op.Recipients {
		f := t.live.Accounts[u].Folders[t.op.Folder]
		if len(t.sets) > 0 && f.FolderSet == t.sets[0] {
			break
		}
		t.sets, t.refs = append(t.sets, f.FolderSet), append(t.refs, f.Ref)
	}
	t.handles = append(t.handles[:0], make([]models.Handle, len(t.refs))...)
	if sized, ok := t.mail.(messages.Sizer); ok && t.op.Size > 0 {
		err = sized.Sized(t.op.Message, t.op.Date, t.op.Size, &t.message)
	} else {
		err = t.mail.Message(t.op.Message, t.op.Date, &t.message)
	}
	t.message.Arrived = t.op.Date
	if err == nil && t.target.Acknowledged != nil {
		t.digest, err = t.digester.Message(&t.message)
	}
	return err
}

func (t *task) delivered(out latency.Outcome) error {
	held := t.memoryNeeds()
	for i, f := range t.sets {
		switch out {
		case latency.OK:
			t.record(ledger.Record{
				Event: ledger.Delivered, Held: models.Pack(held), Place: f.Place, N: t.op.Message,
				Handle: t.handles[i], Digest: t.digest, Ahead: t.ahead,
			})
		case latency.Unknown:
			t.record(ledger.Record{Event: ledger.UnknownDelivery, Place: f.Place, N: t.op.Message})
		}
	}
	if err := t.flush(); err != nil || out != latency.OK {
		return err
	}
	for i, f := range t.sets {
		t.live.Add(f, t.handles[i], &t.message, held)
	}
	return nil
}

// record adds a record to those that flush writes.
func (t *task) record(r ledger.Record) {
	if t.target.Acknowledged != nil {
		t.records = r.Append(t.records)
	}
}

func (t *task) flush() error {
	if len(t.records) == 0 {
		return nil
	}
	err := t.target.Acknowledged.Write(t.records)
	t.records = t.records[:0]
	if err != nil {
		return fmt.Errorf("operation %d: %w", t.op.N, err)
	}
	return nil
}

// reserve waits until an operation may keep so many bytes of large messages in memory. It waits
// before the clock is read, so the wait is the client's own time and no service time. It
// returns how many bytes to release.
func (w *worker) reserve(ctx context.Context, size int64) (held int64, err error) {
	large := w.target.Large
	if size = min(size, large.Most); size <= models.LargeMessage {
		return 0, nil
	}
	if !large.TryAcquire(size) {
		w.tally().LargeWaits++
		err = large.Acquire(ctx, size)
	}
	return size, err
}

// bytes is how many bytes of messages the operation may keep in memory.
func (t *task) bytes() (n int64) {
	switch t.op.Op {
	case workloads.Deliver:
		n = t.memoryNeeds().Deliver
	case workloads.Open:
		n = t.live.Holding(t.handle).Open
	case workloads.Attachment:
		n = t.live.Holding(t.handle).Attachment
	case workloads.Move:
		for _, h := range t.many { // a model may read all of them before it writes
			n += t.live.Holding(h).Move
		}
	case workloads.Flag, workloads.Delete:
		for _, h := range t.many {
			n = max(n, t.live.Holding(h).Row)
		}
	case workloads.Seen, workloads.SeenBy:
		n = t.live.Holding(t.handle).Row
	case workloads.List, workloads.SearchSender, workloads.Slice, workloads.Counters, workloads.SearchAll:
		n = t.from.LargestRow.Load()
	case workloads.Folders, workloads.AllMail:
		for _, f := range t.account.Folders {
			n = max(n, f.LargestRow.Load())
		}
	}
	return n
}

// memoryNeeds is how many bytes of the message each kind of call keeps in memory.
func (t *task) memoryNeeds() models.Holding {
	if h, ok := t.mb.(models.Holder); ok {
		return h.Holds(&t.message)
	}
	return models.Holding{}
}

// A recount adds to a counter the difference from its index. An operation that has changed the index
// and not yet the counter would be counted twice. So a recount has its account alone: it waits for
// changes of the account that are under way, and those that come wait for it. That wait is before
// the call: it is in response times and not in service times.

// changes calls alone for the account of a recount, and shared for each one that another operation
// changes.
func (t *task) changes(alone, shared func(*sync.RWMutex)) {
	switch t.op.Op {
	case workloads.Recount:
		alone(&t.account.Changes)
	case workloads.Deliver:
		// All deliveries take accounts in one order. Else two of them would wait for recounts that
		// wait for the other.
		slices.Sort(t.op.Recipients)
		for _, u := range t.op.Recipients {
			shared(&t.live.Accounts[u].Changes)
		}
	default:
		shared(&t.account.Changes)
	}
}
