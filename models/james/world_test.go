package james

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/models/modeltest"
)

// world is the model on an embedded engine with one account.
type world struct {
	*modeltest.World
	bound models.Bound
	mb    *mailbox
	a     *models.Account
}

// newWorld binds the model to the wrapped store; nil is the store.
func newWorld(t *testing.T, o models.Options, wrap func(drivers.Store) drivers.Store) *world {
	t.Helper()
	w := &world{World: modeltest.NewWorld(t, Model())}
	if wrap != nil {
		w.Store = wrap(w.Store)
	}
	o.Node = 1
	w.bound = w.Bind(o)
	w.mb = w.Mailbox(w.bound).(*mailbox)
	var err error
	w.a, err = w.mb.CreateUser(t.Context(), "ann@example.org", []string{"INBOX", "Work", "Archive"})
	w.Must(err)
	return w
}

// message returns a message whose text has n bytes.
func message(n int) *mail.Message {
	return modeltest.Draft{
		Date:    time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		From:    mail.Address{Address: "bob@example.org"},
		Subject: "hello",
		Text:    bytes.Repeat([]byte("0123456789abcde\n"), n/16+1)[:n],
	}.Message()
}

func (w *world) deliver(m *mail.Message, to ...*models.Folder) []models.Handle {
	w.Helper()
	hs := make([]models.Handle, len(to))
	w.Must(w.mb.Deliver(w.Context(), m, to, hs))
	return hs
}

func (w *world) list(f *models.Folder) (hs []models.Handle) {
	w.Helper()
	w.Must(w.mb.List(w.Context(), f, models.Handle{}, 1000, func(e *models.Entry) error {
		hs = append(hs, e.Handle)
		return nil
	}))
	return hs
}

func (w *world) stats(f *models.Folder) [2]int64 {
	w.Helper()
	st, err := w.mb.Stats(w.Context(), f)
	w.Must(err)
	return [2]int64{st.Messages, st.Unread}
}

func (w *world) audit() models.Audit {
	w.Helper()
	return w.Audit(w.mb)
}

// failing is a session in which the write or batch of one pattern fails that
// is the nth of its kind; all of them, if nth is 0.
type failing struct {
	drivers.Session
	pattern   string
	nth, seen int
}

var errDown = errors.New("the engine is down")

func (f *failing) fails(st drivers.Statement) bool {
	if st.Pattern().Name != f.pattern {
		return false
	}
	f.seen++
	return f.nth == 0 || f.seen == f.nth
}

func (f *failing) Write(ctx context.Context, st drivers.Statement, args []drivers.Value) (drivers.Result, error) {
	if f.fails(st) {
		return drivers.Result{}, errDown
	}
	return f.Session.Write(ctx, st, args)
}

func (f *failing) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	if f.fails(st) {
		return errDown
	}
	return f.Session.Batch(ctx, st, parts)
}
