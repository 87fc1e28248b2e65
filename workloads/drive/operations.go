package drive

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/ledger"
	"github.com/mailbench/mailbench/workloads/messages"
	"github.com/mailbench/mailbench/workloads/plan"
	"github.com/mailbench/mailbench/workloads/subject"
)

// task is one operation: what the plan says of it, what choose found for it before it is
// due, and what it takes to execute it. A worker has one task and uses it again.
type task struct {
	op       plan.Operation
	target   *subject.Target
	live     *subject.Live
	mb       models.Mailbox
	mail     messages.Reader
	digester *models.Digester

	account *subject.Account
	from    subject.Folder // where the message is
	to      subject.Folder // where a move or a label puts it
	handle  models.Handle  // the message
	rank    int            // rank of the message in its folder when it was chosen
	after   models.Handle  // the message after which a page begins; zero: the newest page
	shared  *models.Folder // a folder that an account joins or leaves
	off     bool           // the label is taken away
	shown   models.Handle  // the message under its second label
	name    string         // name of an attachment or sender
	since   time.Time      // a slice begins here
	until   time.Time      // a slice or purge ends here

	digest  uint64               // digest of the message to deliver
	sets    []*subject.FolderSet // folders of a delivery
	refs    []*models.Folder     // the same, as the model knows them
	handles []models.Handle      // results of a delivery or move
	many    []models.Handle      // messages of a move, delete or flag
	purges  int64                // purges of the account before the messages of a delete were deleted

	message mail.Message
	opened  models.Opened
	entry   func(*models.Entry) error     // notes missing fields; made once: a new one would allocate
	info    func(models.FolderInfo) error // the same, of a folder
	pick    func(int) int                 // t.op.Choose
	names   []string                      // folders of a new account
	records []byte                        // for the ledger
	ahead   uint32                        // records that were in the ledger when the call began
	missing models.Known                  // fields that answers should have had and did not
}

// choose fills in the task and reserves what the operation works on. It returns
// false if there is nothing to work on.
func (t *task) choose() (ok bool, err error) {
	if int(t.op.Op) >= workloads.NumOps { // an access pattern of a schema
		return t.mb.(models.Runner).Prepare(int(t.op.Op)-workloads.NumOps, t.pick, t.op.Page, t.op.Messages), nil
	}
	t.account = &t.live.Accounts[t.op.User]
	t.from = t.account.Folders[t.op.Folder] // whatever is in it
	switch t.op.Op {
	case workloads.Deliver:
		err = t.chooseRecipients()
	case workloads.List:
		t.choosePage()
	case workloads.Open, workloads.Raw, workloads.Range, workloads.Seen, workloads.SeenBy:
		return t.search((*subject.FolderSet).Read), nil
	case workloads.Attachment:
		return t.search(func(f *subject.FolderSet, rank int) (models.Handle, bool) {
			h, name, ok := f.ReadAttached(rank)
			t.name = name
			return h, ok
		}), nil
	case workloads.Flag:
		return t.searchMany((*subject.FolderSet).Own, 1), nil
	case workloads.Label:
		return t.chooseToLabel()
	case workloads.Move:
		return t.taking(t.chooseToMove())
	case workloads.Delete:
		return t.taking(t.searchMany((*subject.FolderSet).Remove, 0))
	case workloads.Expunge:
		t.many = t.many[:0] // removeNext begins with any message
		return t.taking(t.searchMany(t.removeNext, 0))
	case workloads.Restore:
		return t.taking(t.chooseToRestore())
	case workloads.Purge:
		t.until = time.Now().Add(-t.op.Age)
		return t.chooseAccount((*subject.Account).BeginPurge), nil
	case workloads.Recount:
		return t.chooseAccount(func(a *subject.Account) bool { return a.Recount.TryLock() }), nil
	case workloads.SearchSender, workloads.SearchAll:
		t.name, err = t.mail.From(t.op.Message)
	case workloads.Slice:
		t.since, t.until = t.op.Window()
	case workloads.CreateUser, workloads.Join: // no other operation works on the new account
		t.chooseNewUser()
	case workloads.Leave: // users of the data set stay, since others' operations work in their folders
		t.shared = t.live.Leave()
		return t.shared != nil, nil
	}
	return true, err
}

// run makes the call of the operation. Only this is timed.
func (t *task) run(ctx context.Context) (err error) {
	switch t.op.Op {
	case workloads.Deliver:
		return t.mb.Deliver(ctx, &t.message, t.refs, t.handles)
	case workloads.List:
		return t.mb.List(ctx, t.from.Ref, t.after, t.op.Page, t.entry)
	case workloads.Open:
		return t.mb.Open(ctx, t.from.Ref, t.handle, &t.opened)
	case workloads.Raw:
		_, err = t.mb.Raw(ctx, t.from.Ref, t.handle, io.Discard)
	case workloads.Attachment:
		_, err = t.mb.Attachment(ctx, t.from.Ref, t.handle, t.name, io.Discard)
	case workloads.Flag:
		for _, h := range t.many { // no model flags several at once
			if err := subject.Flag(ctx, t.mb, t.from.Ref, h, t.op.Flag, t.op.On); err != nil {
				return err
			}
		}
	case workloads.Move:
		return t.mb.Move(ctx, t.from.Ref, t.to.Ref, t.many, t.handles)
	case workloads.Delete:
		return t.mb.Delete(ctx, t.from.Ref, t.many)
	case workloads.Folders:
		return t.mb.Folders(ctx, t.account.Ref, t.info)
	case workloads.Counters:
		var s models.Stats
		if s, err = t.mb.Stats(ctx, t.from.Ref); err == nil {
			t.missing |= (models.KnowMessages | models.KnowUnread | models.KnowBytes) &^ s.Known
		}
	case workloads.Login:
		_, err = t.mb.Login(ctx, t.account.Ref.Address)
	case workloads.CreateUser:
		_, err = t.mb.CreateUser(ctx, t.name, t.names)
	default:
		return t.runOptional(ctx)
	}
	return err
}

// runOptional makes the call of an operation that only some models have.
func (t *task) runOptional(ctx context.Context) (err error) {
	switch t.op.Op {
	case workloads.Label:
		t.shown, err = t.mb.(models.Labeler).Label(ctx, t.from.Ref, t.handle, t.to.Ref, !t.off)
	case workloads.Restore:
		return t.mb.(models.Purger).Restore(ctx, t.account.Ref, t.handle)
	case workloads.Purge:
		_, err = t.mb.(models.Purger).Purge(ctx, t.account.Ref, t.until)
	case workloads.Recount:
		return t.mb.(models.Recounter).Recount(ctx, t.account.Ref)
	case workloads.SearchSender:
		return t.mb.(models.SenderSearcher).BySender(ctx, t.from.Ref, t.name, t.op.Page, t.entry)
	case workloads.SearchAll:
		return t.mb.(models.SenderSearcher).BySender(ctx, nil, t.name, t.op.Page, t.entry)
	case workloads.Slice:
		return t.mb.(models.Slicer).Slice(ctx, t.from.Ref, t.since, t.until, t.op.Page, t.entry)
	case workloads.Seen:
		return t.mb.(models.Seer).Seen(ctx, t.from.Ref, t.handle, t.account.Ref.Address)
	case workloads.SeenBy:
		return t.mb.(models.Seer).SeenBy(ctx, t.from.Ref, t.handle, func(string) error { return nil })
	case workloads.Subscribe:
		return t.mb.(models.Subscriber).Subscribe(ctx, t.account.Ref, t.from.Ref.Name, t.op.On)
	case workloads.Subscriptions:
		return t.mb.(models.Subscriber).Subscriptions(ctx, t.account.Ref, func(string) error { return nil })
	case workloads.Range:
		_, err = t.mb.(models.RangeReader).RawRange(ctx, t.from.Ref, t.handle, t.op.From, t.op.Bytes, io.Discard)
	case workloads.Expunge: // from the lowest UID, which is that of the last, to the highest
		u := t.mb.(models.UIDs)
		gone, err := u.Expunge(ctx, t.from.Ref, u.UID(t.many[len(t.many)-1]), u.UID(t.many[0]))
		if err == nil && gone < len(t.many) && !t.target.Caps.Discards {
			return models.ErrNotFound
		}
		return err
	case workloads.AllMail:
		return t.mb.List(ctx, t.mb.(models.AllMailer).AllMail(t.account.Ref), models.Handle{}, t.op.Page, t.entry)
	case workloads.Totals:
		_, err = t.mb.Stats(ctx, t.mb.(models.AllMailer).AllMail(t.account.Ref))
	case workloads.Join:
		t.shared, err = t.mb.(models.Poster).Join(ctx, &models.Account{Address: t.name}, t.from.Ref)
	case workloads.Leave:
		return t.mb.(models.Poster).Leave(ctx, t.shared)
	case workloads.Nested:
		return t.mb.(models.Nester).Nested(ctx, t.account.Ref, func(_ string, e *models.Entry) error {
			if e == nil {
				return nil
			}
			return t.entry(e)
		})
	default: // an access pattern of a schema
		return t.mb.(models.Runner).Run(ctx)
	}
	return err
}

// done ends the reservation and enters the outcome in live set and ledger.
func (t *task) done(out latency.Outcome) error {
	switch t.op.Op {
	case workloads.Deliver:
		return t.delivered(out)
	case workloads.Open, workloads.Raw, workloads.Range, workloads.Attachment, workloads.Seen, workloads.SeenBy:
		t.from.Release(t.handle)
	case workloads.Flag:
		for _, h := range t.many {
			t.from.Release(h)
		}
	case workloads.Label:
		return t.labeled(out)
	case workloads.Move, workloads.Delete, workloads.Expunge:
		switch {
		case out != latency.OK:
			return t.putBack(out)
		case t.op.Op == workloads.Move:
			return t.moved()
		}
		if err := t.logAll(ledger.Deleted); err != nil {
			return err
		}
		for _, h := range t.many {
			t.live.Discard(t.account, ledger.Key{Place: t.from.Place, Handle: h}, t.purges)
		}
	case workloads.Restore:
		defer t.account.Purge.RUnlock()
		switch out {
		case latency.OK:
			if err := t.logAll(ledger.Restored); err != nil {
				return err
			}
			t.live.Add(t.from.FolderSet, t.handle, nil, models.Holding{})
		case latency.Unknown:
		default:
			return t.logAll(ledger.Kept)
		}
	case workloads.Purge:
		t.account.Purge.Unlock()
	case workloads.Recount:
		if out != latency.Unknown { // it may still go on
			t.account.Recount.Unlock()
		}
	case workloads.Join:
		if out == latency.OK {
			t.live.Join(t.shared)
		}
	}
	return nil
}

// outcome returns how an operation ended, by its error. A call that is canceled because
// the phase is stopped has an unknown outcome.
func outcome(err error) latency.Outcome {
	switch {
	case err == nil:
		return latency.OK
	case errors.Is(err, models.ErrNotFound):
		return latency.NotFound
	case errors.Is(err, drivers.ErrTooLarge):
		return latency.TooLarge
	case errors.Is(err, drivers.ErrUnknown), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return latency.Unknown
	default:
		return latency.Failed
	}
}

// Delete and move take a message out of its folder, restore takes one from the deleted ones:
// no other operation can choose it until their outcome is known. They write a record to the
// ledger before the call, because a process that is killed cannot write one afterwards.

// taking writes that record if the operation's messages are chosen.
func (t *task) taking(chosen bool) (bool, error) {
	if !chosen {
		return false, nil
	}
	t.purges = t.account.Purges.Load()
	return true, t.logAll(ledger.Taking)
}

// logAll writes a record for each message of the operation.
func (t *task) logAll(e ledger.Event) error {
	for _, h := range t.many {
		t.record(ledger.Record{Event: e, Place: t.from.Place, N: t.op.N, Handle: h})
	}
	return t.flush()
}

// removeNext removes a message if its UID is the next below those that the operation has: the range has no message that
// another operation works on.
func (t *task) removeNext(f *subject.FolderSet, rank int) (models.Handle, bool) {
	if len(t.many) == 0 {
		return f.Remove(rank)
	}
	next, ok := f.Read(rank)
	if !ok {
		return next, false
	}
	f.Release(next)
	if uid := t.mb.(models.UIDs).UID; uid(next)+1 != uid(t.many[len(t.many)-1]) {
		return next, false
	}
	got, ok := f.Remove(rank)
	if ok && got != next { // another operation has taken it
		f.Add(got)
		ok = false
	}
	return got, ok
}

func (t *task) chooseToMove() bool {
	if len(t.account.Folders) < 2 || !t.searchMany((*subject.FolderSet).Remove, 0) {
		return false
	}
	t.to = t.other()
	// If this process is killed during the call, the messages may be in the new folder.
	// In some models they have the same handles there.
	t.handles = t.handles[:0]
	for _, h := range t.many {
		t.handles = append(t.handles, models.Handle{})
		t.record(ledger.Record{Event: ledger.Shown, Place: t.to.Place, N: t.op.N, Handle: h})
	}
	return true
}

func (t *task) moved() error {
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

func (t *task) chooseToRestore() bool {
	return t.chooseAccount(func(a *subject.Account) bool {
		k, ok := a.BeginRestore()
		if ok {
			t.from, t.handle, t.many = a.Folders[k.Place.Folder], k.Handle, append(t.many[:0], k.Handle)
		}
		return ok
	})
}

// chooseAccount finds the first account, from the planned one on, that begin can reserve.
func (t *task) chooseAccount(begin func(*subject.Account) bool) bool {
	user := t.op.User
	for range min(searchFolders, len(t.live.Accounts)) {
		t.account = &t.live.Accounts[user]
		if begin(t.account) {
			return true
		}
		user = t.live.After(user)
	}
	return false
}
