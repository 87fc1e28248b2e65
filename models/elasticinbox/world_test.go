package elasticinbox

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
	mb *mailbox
	a  *models.Account
}

func newWorld(t *testing.T, o models.Options) *world {
	t.Helper()
	w := &world{World: modeltest.NewWorld(t, Model())}
	o.Node = 1
	w.mb = w.Mailbox(w.Bind(o)).(*mailbox)
	var err error
	w.a, err = w.mb.CreateUser(t.Context(), "ann@example.org", []string{"INBOX", "Work"})
	w.Must(err)
	return w
}

func draft(n int) modeltest.Draft {
	return modeltest.Draft{
		Date:    time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC),
		From:    mail.Address{Name: "EI Test", Address: "test@elasticinbox.com"},
		To:      []mail.Address{{Name: "Ann", Address: "ann@example.org"}},
		Subject: "Hello world!",
		Text:    []byte("text"),
	}
}

func (w *world) deliver(ms ...*mail.Message) []models.Handle {
	w.Helper()
	hs := make([]models.Handle, len(ms))
	for i, m := range ms {
		w.Must(w.mb.Deliver(w.Context(), m, w.a.Folders[:1], hs[i:i+1]))
	}
	return hs
}

func (w *world) audit() models.Audit {
	w.Helper()
	return w.Audit(w.mb)
}

// run runs a statement of the model without the model.
func (w *world) run(stmt drivers.Statement, calls ...drivers.Call) {
	w.Helper()
	w.Must(w.Meter.Batch(w.Context(), stmt, calls))
}

// failing is a session in which the batch of one pattern fails that is the nth
// of its kind; all of them, if nth is 0.
type failing struct {
	drivers.Session
	pattern   string
	nth, seen int
}

var errDown = errors.New("the engine is down")

func (f *failing) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	if st.Pattern().Name == f.pattern {
		if f.seen++; f.nth == 0 || f.seen == f.nth {
			return errDown
		}
	}
	return f.Session.Batch(ctx, st, parts)
}

func content(n int) []byte {
	return bytes.Repeat([]byte("0123456789abcde\n"), n/16+1)[:n]
}
