package run

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/reports/latency"
	"github.com/mailbench/mailbench/workloads"
)

// task is one operation with everything that it needs, made before its due
// time. A worker has one and uses it again.
type task struct {
	account *account
	from    folder         // where its target is
	to      *models.Folder // of a move or label
	arrive  *shelf         // of a move or restore
	handle  models.Handle  // of the target
	after   models.Handle  // where a page begins
	off     bool           // a label is taken away
	name    string         // of an attachment or sender
	since   time.Time
	until   time.Time

	// A delivery, and the results of it or of a move.
	digest  uint64
	shelves []*shelf
	refs    []*models.Folder
	handles []models.Handle
	one     [1]models.Handle // the argument of a move or delete
}

// operation is how one operation of the language is carried out.
type operation struct {
	// offered says whether a model has it; nil: every Mailbox does.
	offered func(models.Mailbox) bool
	// target completes the task that the plan began and takes hold of what it
	// works on; false if there is nothing that it could work on.
	target func(*worker) bool
	// run is what is timed.
	run func(context.Context, *worker) error
	// done lets go of the target, enters the outcome in directory and ledger.
	done func(*worker, latency.Outcome) error
}

// operations are all of them, by workloads.Op.
var operations = [workloads.NumOps]operation{
	workloads.Deliver:      {target: (*worker).address, run: deliver, done: (*worker).delivered},
	workloads.List:         {target: (*worker).paging, run: list},
	workloads.Open:         {target: (*worker).reading, run: open, done: released},
	workloads.Raw:          {target: (*worker).reading, run: raw, done: released},
	workloads.Attachment:   {target: (*worker).readingAttached, run: attachment, done: released},
	workloads.Flag:         {target: (*worker).owning, run: flag, done: disowned},
	workloads.Label:        {offered: is[models.Labeler], target: (*worker).labelling, run: label, done: (*worker).labelled},
	workloads.Move:         {target: (*worker).moving, run: move, done: (*worker).moved},
	workloads.Delete:       {target: (*worker).taking, run: remove, done: (*worker).removed},
	workloads.Restore:      {offered: is[models.Purger], target: (*worker).restoring, run: restore, done: (*worker).restored},
	workloads.Purge:        {offered: is[models.Purger], target: (*worker).purging, run: purge, done: purged},
	workloads.Folders:      {target: anyFolder, run: folders},
	workloads.Counters:     {target: anyFolder, run: counters},
	workloads.Recount:      {offered: is[models.Recounter], target: anyFolder, run: recount},
	workloads.SearchSender: {offered: is[models.SenderSearcher], target: (*worker).searching, run: searchSender},
	workloads.Slice:        {offered: is[models.Slicer], target: (*worker).slicing, run: slice},
	workloads.Seen:         {offered: is[models.Seer], target: (*worker).reading, run: seen, done: released},
	workloads.Subscribe:    {offered: is[models.Subscriber], target: anyFolder, run: subscribe},
	workloads.Login:        {target: anyFolder, run: login},
}

func is[T any](mb models.Mailbox) bool {
	_, ok := mb.(T)
	return ok
}

// outcome tells the ends of an operation apart. What was asked for by a phase
// that is being broken off has an unknown outcome.
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

// pageSize is how many entries a page has: what the documents show at once.
const pageSize = 25

// The calls. Each is one mail operation and nothing else.

func deliver(ctx context.Context, w *worker) error {
	return w.mb.Deliver(ctx, &w.message, w.task.refs, w.task.handles)
}

func list(ctx context.Context, w *worker) error {
	return w.mb.List(ctx, w.task.from.ref, w.task.after, pageSize, w.entry)
}

func open(ctx context.Context, w *worker) error {
	return w.mb.Open(ctx, w.task.from.ref, w.task.handle, &w.opened)
}

func raw(ctx context.Context, w *worker) error {
	_, err := w.mb.Raw(ctx, w.task.from.ref, w.task.handle, io.Discard)
	return err
}

func attachment(ctx context.Context, w *worker) error {
	_, err := w.mb.Attachment(ctx, w.task.from.ref, w.task.handle, w.task.name, io.Discard)
	return err
}

func flag(ctx context.Context, w *worker) error {
	return w.mb.Flag(ctx, w.task.from.ref, w.task.handle, models.Seen, w.op.On)
}

func label(ctx context.Context, w *worker) (err error) {
	t := &w.task
	t.one[0], err = w.mb.(models.Labeler).Label(ctx, t.from.ref, t.handle, t.to, !t.off)
	return err
}

func move(ctx context.Context, w *worker) error {
	return w.mb.Move(ctx, w.task.from.ref, w.task.to, w.task.one[:], w.task.handles[:1])
}

func remove(ctx context.Context, w *worker) error {
	return w.mb.Delete(ctx, w.task.from.ref, w.task.one[:])
}

func restore(ctx context.Context, w *worker) error {
	return w.mb.(models.Purger).Restore(ctx, w.task.account.ref, w.task.handle)
}

func purge(ctx context.Context, w *worker) error {
	_, err := w.mb.(models.Purger).Purge(ctx, w.task.account.ref, w.task.until)
	return err
}

func folders(ctx context.Context, w *worker) error {
	return w.mb.Folders(ctx, w.task.account.ref, w.info)
}

func counters(ctx context.Context, w *worker) error {
	s, err := w.mb.Stats(ctx, w.task.from.ref)
	if err == nil {
		w.lacks(s.Known, models.KnowMessages|models.KnowUnread|models.KnowBytes)
	}
	return err
}

func recount(ctx context.Context, w *worker) error {
	return w.mb.(models.Recounter).Recount(ctx, w.task.account.ref)
}

func searchSender(ctx context.Context, w *worker) error {
	return w.mb.(models.SenderSearcher).BySender(ctx, w.task.from.ref, w.task.name, pageSize, w.entry)
}

func slice(ctx context.Context, w *worker) error {
	return w.mb.(models.Slicer).Slice(ctx, w.task.from.ref, w.task.since, w.task.until, pageSize, w.entry)
}

func seen(ctx context.Context, w *worker) error {
	return w.mb.(models.Seer).Seen(ctx, w.task.from.ref, w.task.handle, w.task.account.ref.Address)
}

func subscribe(ctx context.Context, w *worker) error {
	return w.mb.(models.Subscriber).Subscribe(ctx, w.task.account.ref, w.task.from.ref.Name, w.op.On)
}

func login(ctx context.Context, w *worker) error {
	_, err := w.mb.Login(ctx, w.task.account.ref.Address)
	return err
}
