package drive

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/target"
)

// task is what choose found for one operation, before it is due. A worker has one task and
// uses it again.
type task struct {
	account *target.Account
	from    target.Folder // where the message is
	to      target.Folder // where a move or a label puts it
	handle  models.Handle // the message
	rank    int           // rank of the message in its folder when it was chosen
	after   models.Handle // the message behind which a page begins; zero: the newest page
	off     bool          // the label is taken away
	shown   models.Handle // the message under its second label
	name    string        // name of an attachment or sender
	since   time.Time     // a slice begins here
	until   time.Time     // a slice or purge ends here

	digest  uint64              // digest of the message to deliver
	sets    []*target.FolderSet // folders of a delivery
	refs    []*models.Folder    // the same, as the model knows them
	handles []models.Handle     // results of a delivery or move
	many    []models.Handle     // messages of a move, delete or flag
}

// operation is how one operation of the language is carried out.
type operation struct {
	// choose fills in the task and reserves what the operation works on. It returns
	// false if there is nothing to work on.
	choose func(*worker) (bool, error)
	// run is what is timed.
	run func(context.Context, *worker) error
	// done ends the reservation and enters the outcome in live set and ledger.
	done func(*worker, latency.Outcome) error
}

// operations are the operations of the language, by workloads.Op.
var operations = [workloads.NumOps]operation{
	workloads.Deliver:      {choose: (*worker).chooseRecipients, run: deliver, done: (*worker).delivered},
	workloads.List:         {choose: (*worker).choosePage, run: list},
	workloads.Open:         {choose: (*worker).chooseToRead, run: open, done: released},
	workloads.Raw:          {choose: (*worker).chooseToRead, run: raw, done: released},
	workloads.Attachment:   {choose: (*worker).chooseAttachment, run: attachment, done: released},
	workloads.Flag:         {choose: (*worker).chooseToFlag, run: flag, done: flagged},
	workloads.Label:        {choose: (*worker).chooseToLabel, run: label, done: (*worker).labelled},
	workloads.Move:         {choose: (*worker).chooseToMove, run: move, done: (*worker).moved},
	workloads.Delete:       {choose: (*worker).chooseToDelete, run: remove, done: (*worker).removed},
	workloads.Restore:      {choose: (*worker).chooseToRestore, run: restore, done: (*worker).restored},
	workloads.Purge:        {choose: (*worker).chooseToPurge, run: purge, done: purged},
	workloads.Folders:      {choose: chooseFolder, run: folders},
	workloads.Counters:     {choose: chooseFolder, run: counters},
	workloads.Recount:      {choose: (*worker).chooseToRecount, run: recount, done: recounted},
	workloads.SearchSender: {choose: (*worker).chooseSender, run: searchSender},
	workloads.Slice:        {choose: (*worker).chooseSlice, run: slice},
	workloads.Seen:         {choose: (*worker).chooseToRead, run: seen, done: released},
	workloads.Subscribe:    {choose: chooseFolder, run: subscribe},
	workloads.Login:        {choose: chooseFolder, run: login},
}

// outcome returns how an operation ended, by its error. A call that is cancelled because
// the phase is stopped has an unknown outcome.
func outcome(err error) latency.Outcome {
	if err == nil {
		return latency.OK
	}
	return trouble(err)
}

func trouble(err error) latency.Outcome {
	switch {
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

// marks are the flags of a model, by workloads.Mark.
var marks = [...]models.Flag{
	workloads.FlagSeen: models.Seen, workloads.FlagAnswered: models.Answered,
	workloads.FlagFlagged: models.Flagged,
}

// The calls. Each is one mail operation and nothing else.

func deliver(ctx context.Context, w *worker) error {
	return w.mb.Deliver(ctx, &w.message, w.task.refs, w.task.handles)
}

func list(ctx context.Context, w *worker) error {
	return w.mb.List(ctx, w.task.from.Ref, w.task.after, w.op.Page, w.entry)
}

func open(ctx context.Context, w *worker) error {
	return w.mb.Open(ctx, w.task.from.Ref, w.task.handle, &w.opened)
}

func raw(ctx context.Context, w *worker) error {
	_, err := w.mb.Raw(ctx, w.task.from.Ref, w.task.handle, io.Discard)
	return err
}

func attachment(ctx context.Context, w *worker) error {
	_, err := w.mb.Attachment(ctx, w.task.from.Ref, w.task.handle, w.task.name, io.Discard)
	return err
}

func flag(ctx context.Context, w *worker) error {
	for _, h := range w.task.many { // no model flags several at once
		if err := w.mb.Flag(ctx, w.task.from.Ref, h, marks[w.op.Flag], w.op.On); err != nil {
			return err
		}
	}
	return nil
}

func label(ctx context.Context, w *worker) (err error) {
	t := &w.task
	t.shown, err = w.mb.(models.Labeler).Label(ctx, t.from.Ref, t.handle, t.to.Ref, !t.off)
	return err
}

func move(ctx context.Context, w *worker) error {
	return w.mb.Move(ctx, w.task.from.Ref, w.task.to.Ref, w.task.many, w.task.handles)
}

func remove(ctx context.Context, w *worker) error {
	return w.mb.Delete(ctx, w.task.from.Ref, w.task.many)
}

func restore(ctx context.Context, w *worker) error {
	return w.mb.(models.Purger).Restore(ctx, w.task.account.Ref, w.task.handle)
}

func purge(ctx context.Context, w *worker) error {
	_, err := w.mb.(models.Purger).Purge(ctx, w.task.account.Ref, w.task.until)
	return err
}

func folders(ctx context.Context, w *worker) error {
	return w.mb.Folders(ctx, w.task.account.Ref, w.info)
}

func counters(ctx context.Context, w *worker) error {
	s, err := w.mb.Stats(ctx, w.task.from.Ref)
	if err == nil {
		w.noteMissing(s.Known, models.KnowMessages|models.KnowUnread|models.KnowBytes)
	}
	return err
}

func recount(ctx context.Context, w *worker) error {
	return w.mb.(models.Recounter).Recount(ctx, w.task.account.Ref)
}

func searchSender(ctx context.Context, w *worker) error {
	return w.mb.(models.SenderSearcher).BySender(ctx, w.task.from.Ref, w.task.name, w.op.Page, w.entry)
}

func slice(ctx context.Context, w *worker) error {
	return w.mb.(models.Slicer).Slice(ctx, w.task.from.Ref, w.task.since, w.task.until, w.op.Page, w.entry)
}

func seen(ctx context.Context, w *worker) error {
	return w.mb.(models.Seer).Seen(ctx, w.task.from.Ref, w.task.handle, w.task.account.Ref.Address)
}

func subscribe(ctx context.Context, w *worker) error {
	return w.mb.(models.Subscriber).Subscribe(ctx, w.task.account.Ref, w.task.from.Ref.Name, w.op.On)
}

func login(ctx context.Context, w *worker) error {
	_, err := w.mb.Login(ctx, w.task.account.Ref.Address)
	return err
}
