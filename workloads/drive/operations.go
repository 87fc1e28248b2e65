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
	purges  int                  // purges of the account before the messages of a delete were deleted

	message mail.Message
	opened  models.Opened
	entry   func(*models.Entry) error     // notes missing fields; made once: a new one would allocate
	info    func(models.FolderInfo) error // the same, of a folder
	pick    func(int) int                 // t.op.Choose
	word    func(string) error            // takes the name of a folder or of a viewer
	names   []string                      // folders of a new account
	records []byte                        // for the ledger
	ahead   uint32                        // records that were in the ledger when the call began
	missing models.Known                  // fields that answers should have had and did not
}

// operation is how one operation of the language is executed.
type operation struct {
	// choose fills in the task and reserves what the operation works on. It returns
	// false if there is nothing to work on.
	choose func(*task) (bool, error)
	// run is what is timed.
	run func(context.Context, *task) error
	// done ends the reservation and enters the outcome in live set and ledger.
	done func(*task, latency.Outcome) error
}

func (o *operation) finish(t *task, out latency.Outcome) error {
	if o.done == nil {
		return nil
	}
	return o.done(t, out)
}

// operations are the operations of the language, by workloads.Op. Only one mail operation is timed, and nothing else.
// The last one runs an access pattern of a schema.
var operations = [workloads.NumOps + 1]operation{
	workloads.Deliver: {chooseRecipients, func(ctx context.Context, t *task) error {
		return t.mb.Deliver(ctx, &t.message, t.refs, t.handles)
	}, delivered},
	workloads.List: {choosePage, func(ctx context.Context, t *task) error {
		return t.mb.List(ctx, t.from.Ref, t.after, t.op.Page, t.entry)
	}, nil},
	workloads.Open: {chooseToRead, func(ctx context.Context, t *task) error {
		return t.mb.Open(ctx, t.from.Ref, t.handle, &t.opened)
	}, released},
	workloads.Raw: {chooseToRead, func(ctx context.Context, t *task) error {
		_, err := t.mb.Raw(ctx, t.from.Ref, t.handle, io.Discard)
		return err
	}, released},
	workloads.Attachment: {chooseAttachment, func(ctx context.Context, t *task) error {
		_, err := t.mb.Attachment(ctx, t.from.Ref, t.handle, t.name, io.Discard)
		return err
	}, released},
	workloads.Flag: {chooseToFlag, func(ctx context.Context, t *task) error {
		for _, h := range t.many { // no model flags several at once
			if err := subject.Flag(ctx, t.mb, t.from.Ref, h, t.op.Flag, t.op.On); err != nil {
				return err
			}
		}
		return nil
	}, flagged},
	workloads.Label: {chooseToLabel, func(ctx context.Context, t *task) (err error) {
		t.shown, err = t.mb.(models.Labeler).Label(ctx, t.from.Ref, t.handle, t.to.Ref, !t.off)
		return err
	}, labeled},
	workloads.Move: {chooseToMove, func(ctx context.Context, t *task) error {
		return t.mb.Move(ctx, t.from.Ref, t.to.Ref, t.many, t.handles)
	}, moved},
	workloads.Delete: {chooseToDelete, func(ctx context.Context, t *task) error {
		return t.mb.Delete(ctx, t.from.Ref, t.many)
	}, removed},
	workloads.Restore: {chooseToRestore, func(ctx context.Context, t *task) error {
		return t.mb.(models.Purger).Restore(ctx, t.account.Ref, t.handle)
	}, restored},
	workloads.Purge: {chooseToPurge, func(ctx context.Context, t *task) error {
		_, err := t.mb.(models.Purger).Purge(ctx, t.account.Ref, t.until)
		return err
	}, purged},
	workloads.Folders: {chooseFolder, func(ctx context.Context, t *task) error {
		return t.mb.Folders(ctx, t.account.Ref, t.info)
	}, nil},
	workloads.Counters: {chooseFolder, func(ctx context.Context, t *task) error {
		s, err := t.mb.Stats(ctx, t.from.Ref)
		if err == nil {
			t.missing |= (models.KnowMessages | models.KnowUnread | models.KnowBytes) &^ s.Known
		}
		return err
	}, nil},
	workloads.Recount: {chooseToRecount, func(ctx context.Context, t *task) error {
		return t.mb.(models.Recounter).Recount(ctx, t.account.Ref)
	}, recounted},
	workloads.SearchSender: {chooseSender, func(ctx context.Context, t *task) error {
		return t.mb.(models.SenderSearcher).BySender(ctx, t.from.Ref, t.name, t.op.Page, t.entry)
	}, nil},
	workloads.Slice: {chooseSlice, func(ctx context.Context, t *task) error {
		return t.mb.(models.Slicer).Slice(ctx, t.from.Ref, t.since, t.until, t.op.Page, t.entry)
	}, nil},
	workloads.Seen: {chooseToRead, func(ctx context.Context, t *task) error {
		return t.mb.(models.Seer).Seen(ctx, t.from.Ref, t.handle, t.account.Ref.Address)
	}, released},
	workloads.Subscribe: {chooseFolder, func(ctx context.Context, t *task) error {
		return t.mb.(models.Subscriber).Subscribe(ctx, t.account.Ref, t.from.Ref.Name, t.op.On)
	}, nil},
	workloads.Login: {chooseFolder, func(ctx context.Context, t *task) error {
		_, err := t.mb.Login(ctx, t.account.Ref.Address)
		return err
	}, nil},
	workloads.Range: {chooseToRead, func(ctx context.Context, t *task) error {
		_, err := t.mb.(models.RangeReader).RawRange(ctx, t.from.Ref, t.handle, t.op.From, t.op.Bytes, io.Discard)
		return err
	}, released},
	// expunge removes the messages from the lowest UID, which is that of the last, to the highest.
	workloads.Expunge: {chooseToExpunge, func(ctx context.Context, t *task) error {
		u := t.mb.(models.UIDs)
		gone, err := u.Expunge(ctx, t.from.Ref, u.UID(t.many[len(t.many)-1]), u.UID(t.many[0]))
		if err == nil && gone < len(t.many) && !t.target.Caps.Discards {
			return models.ErrNotFound
		}
		return err
	}, removed},
	workloads.Subscriptions: {chooseFolder, func(ctx context.Context, t *task) error {
		return t.mb.(models.Subscriber).Subscriptions(ctx, t.account.Ref, t.word)
	}, nil},
	workloads.SeenBy: {chooseToRead, func(ctx context.Context, t *task) error {
		return t.mb.(models.Seer).SeenBy(ctx, t.from.Ref, t.handle, t.word)
	}, released},
	workloads.SearchAll: {chooseSender, func(ctx context.Context, t *task) error {
		return t.mb.(models.SenderSearcher).BySender(ctx, nil, t.name, t.op.Page, t.entry)
	}, nil},
	workloads.AllMail: {chooseFolder, func(ctx context.Context, t *task) error {
		return t.mb.List(ctx, t.mb.(models.AllMailer).AllMail(t.account.Ref), models.Handle{}, t.op.Page, t.entry)
	}, nil},
	workloads.Totals: {chooseFolder, func(ctx context.Context, t *task) error {
		_, err := t.mb.Stats(ctx, t.mb.(models.AllMailer).AllMail(t.account.Ref))
		return err
	}, nil},
	workloads.CreateUser: {chooseNewUser, func(ctx context.Context, t *task) error {
		_, err := t.mb.CreateUser(ctx, t.name, t.names)
		return err
	}, nil},
	// join adds an account that takes part in nothing else to the folder.
	workloads.Join: {chooseToJoin, func(ctx context.Context, t *task) (err error) {
		t.shared, err = t.mb.(models.Poster).Join(ctx, &models.Account{Address: t.name}, t.from.Ref)
		return err
	}, joined},
	workloads.Leave: {chooseToLeave, func(ctx context.Context, t *task) error {
		return t.mb.(models.Poster).Leave(ctx, t.shared)
	}, nil},
	workloads.Nested: {chooseFolder, func(ctx context.Context, t *task) error {
		return t.mb.(models.Nester).Nested(ctx, t.account.Ref, func(_ string, e *models.Entry) error {
			if e == nil {
				return nil
			}
			return t.entry(e)
		})
	}, nil},
	workloads.NumOps: {func(t *task) (bool, error) {
		return t.mb.(models.Runner).Prepare(int(t.op.Op)-workloads.NumOps, t.pick, t.op.Page, t.op.Messages), nil
	}, func(ctx context.Context, t *task) error { return t.mb.(models.Runner).Run(ctx) }, nil},
}

// operationOf is how an operation is executed.
func operationOf(op workloads.Op) *operation { return &operations[min(int(op), workloads.NumOps)] }

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

func chooseToDelete(t *task) (bool, error) {
	if !t.searchMany((*subject.FolderSet).Remove, 0) {
		return false, nil
	}
	t.purges = t.account.Purges()
	return true, t.logAll(ledger.Taking)
}

// chooseToExpunge takes a message, and older ones as long as their UIDs follow each other: the range
// has no message that another operation works on.
func chooseToExpunge(t *task) (bool, error) {
	if !t.search((*subject.FolderSet).Remove) {
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
	if len(t.live.Accounts[t.op.User].Folders) < 2 || !t.searchMany((*subject.FolderSet).Remove, 0) {
		return false, nil
	}
	t.to = t.other(t.account, t.from)
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
	var k ledger.Key
	if !t.chooseAccount(func(a *subject.Account) (ok bool) {
		k, ok = a.BeginRestore()
		return ok
	}) {
		return false, nil
	}
	t.from, t.handle, t.many = t.account.Folders[k.Place.Folder], k.Handle, append(t.many[:0], k.Handle)
	return true, t.logAll(ledger.Taking)
}

func restored(t *task, out latency.Outcome) error {
	defer t.account.Purge.RUnlock()
	event := ledger.Kept
	switch out {
	case latency.OK:
		event = ledger.Restored
	case latency.Unknown:
		return nil
	}
	if err := t.logAll(event); err != nil || out != latency.OK {
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
	return t.chooseAccount(func(a *subject.Account) bool { return a.Recount.TryLock() }), nil
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
	t.account.Purge.Unlock()
	return nil
}

// recounted ends the reservation of the account, unless the recount may still go on.
func recounted(t *task, out latency.Outcome) error {
	if out != latency.Unknown {
		t.account.Recount.Unlock()
	}
	return nil
}
