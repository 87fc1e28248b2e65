package elasticinbox

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/models/modeltest"
	"github.com/mailbench/mailbench/schemas"
)

// world is the model on an embedded engine with one account, whose calls to
// the store are counted.
type world struct {
	*testing.T
	store  drivers.Store
	schema *schemas.Schema
	meter  *drivers.Meter
	mb     *mailbox
	now    time.Time
	a      *models.Account
}

func newWorld(t *testing.T, o models.Options) *world {
	t.Helper()
	w := &world{T: t, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	var err error
	w.store, err = pebble.Engine().Open(t.Context(), drivers.Options{Dir: t.TempDir(), Durability: drivers.Process})
	w.must(err)
	t.Cleanup(func() { w.store.Close() })
	w.schema, err = Model().Schema()
	w.must(err)
	w.must(w.store.Apply(t.Context(), w.schema))
	session, err := w.store.Session()
	w.must(err)
	t.Cleanup(func() { session.Close() })
	w.meter = drivers.NewMeter(session)
	o.Node = 1
	o.Now = func() time.Time { return w.now }
	p, err := drivers.PrepareAll(t.Context(), w.store, w.schema)
	w.must(err)
	b, err := Model().Bind(t.Context(), p, o)
	w.must(err)
	w.mb = b.Mailbox(w.meter).(*mailbox)
	w.a, err = w.mb.CreateUser(t.Context(), "ann@example.org", []string{"INBOX", "Work"})
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
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
		w.must(w.mb.Deliver(w.Context(), m, w.a.Folders[:1], hs[i:i+1]))
	}
	return hs
}

func (w *world) stats(f *models.Folder) [2]int64 {
	w.Helper()
	st, err := w.mb.Stats(w.Context(), f)
	w.must(err)
	return [2]int64{st.Messages, st.Unread}
}

func (w *world) audit() models.Audit {
	w.Helper()
	a, err := w.mb.Audit(w.Context())
	w.must(err)
	return a
}

// rows reads a table behind the model's back: each row's values as they print.
func (w *world) rows(table string) [][]drivers.Value {
	w.Helper()
	st, err := w.store.Prepare(w.Context(), schemas.ScanOf(w.schema.Table(table)))
	w.must(err)
	var rows [][]drivers.Value
	w.must(w.meter.Session.Read(w.Context(), st, nil, func(row []drivers.Value) error {
		var r []drivers.Value
		for _, v := range row {
			r = append(r, v.Clone())
		}
		rows = append(rows, r)
		return nil
	}))
	return rows
}

// run runs a statement of the model behind its back.
func (w *world) run(stmt drivers.Statement, calls ...drivers.Call) {
	w.Helper()
	w.must(w.meter.Session.Batch(w.Context(), stmt, calls))
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
