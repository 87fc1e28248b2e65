package drive

import (
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/subject"
)

// Delete and move take a message out of its folder, restore takes one from the deleted ones:
// no other operation can choose it until their outcome is known. They write a record to the
// ledger before the call, because a process that is killed cannot write one afterwards.

func chooseToDelete(t *task) (bool, error) {
	if !t.search(removeRank) {
		return false, nil
	}
	t.reserveMore(removeRank, 0)
	t.purges = t.account.Purges()
	return true, t.logAll(ledger.Taking)
}

// chooseToExpunge takes a message, and older ones as long as their UIDs follow each other: the range
// has no message that another operation works on.
func chooseToExpunge(t *task) (bool, error) {
	if !t.search(removeRank) {
		return false, nil
	}
	uid := t.mb.(models.UIDs).UID
	t.many = append(t.many[:0], t.handle)
	for len(t.many) < t.op.Messages {
		next, ok := t.from.Read(t.rank)
		if !ok {
			break
		}
		t.from.Release(next)
		if uid(next)+1 != uid(t.many[len(t.many)-1]) {
			break
		}
		got, ok := t.from.Remove(t.rank)
		if !ok {
			break
		}
		if got != next { // another operation has taken it
			t.from.Add(got)
			break
		}
		t.many = append(t.many, got)
	}
	t.purges = t.account.Purges()
	return true, t.logAll(ledger.Taking)
}

// logAll writes a record for each message of the operation.
func (t *task) logAll(e ledger.Event) error {
	for _, h := range t.many {
		t.record(ledger.Record{Event: e, Place: t.from.Place, N: t.op.N, Handle: h})
	}
	return t.flush()
}

func chooseToMove(t *task) (bool, error) {
	if len(t.live.Accounts[t.op.User].Folders) < 2 || !t.search(removeRank) {
		return false, nil
	}
	if t.to = t.other(t.account, t.from); t.to.FolderSet == nil { // the search went on to an account with one folder
		t.from.Add(t.handle)
		return false, nil
	}
	t.reserveMore(removeRank, 0)
	// If this process is killed during the call, the messages may be in the new folder.
	// In some models they have the same handles there.
	t.handles = t.handles[:0]
	for _, h := range t.many {
		t.handles = append(t.handles, models.Handle{})
		t.record(ledger.Record{Event: ledger.Shown, Place: t.to.Place, N: t.op.N, Handle: h})
	}
	return true, t.logAll(ledger.Taking)
}

func moved(t *task, out latency.Outcome) error {
	if out != latency.OK {
		return t.putBack(out)
	}
	for i, h := range t.many {
		t.record(ledger.Record{Event: ledger.Left, Place: t.from.Place, N: t.op.N, Handle: h})
		t.record(ledger.Record{Event: ledger.Arrived, Place: t.to.Place, N: t.op.N, Handle: t.handles[i], Ahead: t.ahead})
	}
	if err := t.flush(); err != nil {
		return err
	}
	for i, h := range t.handles {
		t.live.Add(t.to.FolderSet, h, nil, t.live.Holding(t.many[i]))
	}
	return nil
}

// putBack makes messages live again if they are known to be where they were. A message of
// unknown outcome, or one that the store says it does not have, is not chosen again. The
// ledger still expects the latter.
func (t *task) putBack(out latency.Outcome) error {
	if out == latency.Unknown {
		return nil
	}
	err := t.logAll(ledger.Kept)
	if err != nil || out == latency.NotFound && !t.target.Caps.Discards {
		return err
	}
	for _, h := range t.many {
		t.live.Add(t.from.FolderSet, h, nil, models.Holding{})
	}
	return nil
}

func removed(t *task, out latency.Outcome) error {
	if out != latency.OK {
		return t.putBack(out)
	}
	if err := t.logAll(ledger.Deleted); err != nil {
		return err
	}
	for _, h := range t.many {
		t.live.Discard(t.account, ledger.Key{Place: t.from.Place, Handle: h}, t.purges)
	}
	return nil
}

func chooseToRestore(t *task) (bool, error) {
	user := t.op.User
	for range min(searchFolders, len(t.live.Accounts)) {
		a := &t.live.Accounts[user]
		user = t.live.After(user)
		if k, ok := a.BeginRestore(); ok {
			t.account, t.from, t.handle = a, a.Folders[k.Place.Folder], k.Handle
			return true, t.log(ledger.Taking, k.Place, k.Handle)
		}
	}
	return false, nil
}

func restored(t *task, out latency.Outcome) error {
	defer t.account.EndRestore()
	event := ledger.Kept
	switch out {
	case latency.OK:
		event = ledger.Restored
	case latency.Unknown:
		return nil
	}
	if err := t.log(event, t.from.Place, t.handle); err != nil || out != latency.OK {
		return err
	}
	t.live.Add(t.from.FolderSet, t.handle, nil, models.Holding{})
	return nil
}

func chooseToPurge(t *task) (bool, error) {
	t.until = time.Now().Add(-t.op.Age)
	return t.chooseAccount((*subject.Account).BeginPurge), nil
}

func chooseToRecount(t *task) (bool, error) {
	return t.chooseAccount((*subject.Account).BeginRecount), nil
}

// chooseAccount finds the first account, from the planned one on, that begin can reserve.
func (t *task) chooseAccount(begin func(*subject.Account) bool) bool {
	user := t.op.User
	for range min(searchFolders, len(t.live.Accounts)) {
		a := &t.live.Accounts[user]
		user = t.live.After(user)
		if begin(a) {
			t.account = a
			return true
		}
	}
	return false
}

func purged(t *task, _ latency.Outcome) error {
	t.account.EndPurge()
	return nil
}

// recounted ends the reservation of the account, unless the recount may still go on.
func recounted(t *task, out latency.Outcome) error {
	if out != latency.Unknown {
		t.account.EndRecount()
	}
	return nil
}
