package drive

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sync/semaphore"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/target"
)

// holder is a mailbox that holds so many bytes of each message.
type holder struct {
	models.Mailbox
	bytes int64
}

func (h holder) Holds(*mail.Message) int64 { return h.bytes }

// TestLargeWaits: a delivery of a message that its model holds waits while too many large ones
// are under way, and no other operation does.
func TestLargeWaits(t *testing.T) {
	large := semaphore.NewWeighted(target.MaxLarge)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		op    workloads.Op
		mb    models.Mailbox
		waits bool
	}{
		{workloads.Deliver, holder{bytes: largeMessage + 1}, true},
		{workloads.Deliver, holder{bytes: 100 * target.MaxLarge}, true},
		{workloads.Deliver, holder{bytes: largeMessage}, false},
		{workloads.Deliver, struct{ models.Mailbox }{}, false}, // streams
		{workloads.Open, holder{bytes: largeMessage + 1}, false},
	} {
		w := &worker{mb: c.mb, target: &target.Target{Large: large}}
		w.op.Op = c.op
		free, err := w.reserve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		free()
		if !large.TryAcquire(target.MaxLarge) { // of others
			t.Fatalf("%+v was not given back", c)
		}
		free, err = w.reserve(ended)
		if waits := errors.Is(err, context.Canceled); waits != c.waits {
			t.Errorf("%v of %+v: waits %t (%v), want %t", c.op, c.mb, waits, err, c.waits)
		}
		if err == nil {
			free()
		}
		large.Release(target.MaxLarge)
	}
}
