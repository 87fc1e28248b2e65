package drive

import (
	"context"
	"errors"
	"testing"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/target"
)

// holder is a mailbox whose calls hold so much of each message.
type holder struct {
	models.Mailbox
	held models.Holding
}

func (h holder) Holds(*mail.Message) models.Holding { return h.held }

// TestLargeWaits: an operation that holds much of a message waits while too many such are
// under way, and no other operation does.
func TestLargeWaits(t *testing.T) {
	const most, least = target.LargeMessage, target.LargeMessage + 1
	of := func(d, o, a, m int64) holder {
		return holder{held: models.Holding{Deliver: d, Open: o, Attachment: a, Move: m}}
	}
	row := func(n int64) holder { return holder{held: models.Holding{Open: 2 * least, Row: n}} }
	for _, c := range []struct {
		op    workloads.Op
		mb    models.Mailbox
		waits bool
	}{
		{workloads.Deliver, of(least, 0, 0, 0), true},
		{workloads.Deliver, of(100<<30, 0, 0, 0), true},
		{workloads.Deliver, of(most, least, least, least), false},
		{workloads.Deliver, struct{ models.Mailbox }{}, false}, // says nothing
		{workloads.Open, of(least, least, 0, 0), true},
		{workloads.Open, of(least, most, least, least), false},
		{workloads.Attachment, of(least, 0, least, 0), true},
		{workloads.Attachment, of(least, least, most, least), false},
		{workloads.Move, of(least, least, least, most/2+1), true}, // two of them
		{workloads.Move, of(least, least, least, most/2), false},
		{workloads.Flag, of(least, least, least, least), false},
		{workloads.Flag, row(least), true},
		{workloads.Delete, row(least), true},
		{workloads.Seen, row(least), true},
		{workloads.List, row(least), true},
		{workloads.List, row(most), false},
		{workloads.Counters, row(least), true},
		{workloads.Folders, row(least), true},
		{workloads.Label, row(least), false},
	} {
		w := &worker{mb: c.mb, live: &target.Live{}, target: &target.Target{Large: target.NewBudget(32 << 20)}}
		h, f := models.Handle{1}, target.Folder{FolderSet: &target.FolderSet{}}
		w.live.Add(f.FolderSet, h, nil, w.holds())
		w.op.Op, w.task.handle, w.task.many = c.op, h, []models.Handle{h, h}
		w.task.from, w.task.account = f, &target.Account{Folders: []target.Folder{f}}
		held, err := w.reserve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.release(held)
		large := w.target.Large
		if !large.TryAcquire(large.Most) { // of others
			t.Fatalf("%+v was not given back", c)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err = w.reserve(ended); errors.Is(err, context.Canceled) != c.waits || w.stats.largeWaits > 0 != c.waits {
			t.Errorf("%v of %+v: waits %t (%v, %d noted), want %t", c.op, c.mb, !c.waits, err, w.stats.largeWaits, c.waits)
		}
	}
}
