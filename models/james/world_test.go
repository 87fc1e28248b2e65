package james

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
	bound  models.Bound
	meter  *drivers.Meter
	mb     *mailbox
	a      *models.Account
}

// newWorld binds the model to what wrap makes of the store; nil is the store.
func newWorld(t *testing.T, o models.Options, wrap func(drivers.Store) drivers.Store) *world {
	t.Helper()
	w := &world{T: t}
	st, err := pebble.Engine().Open(t.Context(), drivers.Options{Dir: t.TempDir(), Durability: drivers.Process})
	w.must(err)
	t.Cleanup(func() { st.Close() })
	if w.store = st; wrap != nil {
		w.store = wrap(st)
	}
	w.schema, err = Model().Schema()
	w.must(err)
	w.must(w.store.Apply(t.Context(), w.schema))
	o.Node = 1
	o.Now = func() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC) }
	w.bound = w.bind(o)
	w.meter = drivers.NewMeter(w.session())
	w.mb = w.bound.Mailbox(w.meter).(*mailbox)
	w.a, err = w.mb.CreateUser(t.Context(), "ann@example.org", []string{"INBOX", "Work", "Archive"})
	w.must(err)
	return w
}

func (w *world) bind(o models.Options) models.Bound {
	w.Helper()
	p, err := drivers.PrepareAll(w.Context(), w.store, w.schema)
	w.must(err)
	b, err := Model().Bind(w.Context(), p, o)
	w.must(err)
	return b
}

func (w *world) session() drivers.Session {
	w.Helper()
	s, err := w.store.Session()
	w.must(err)
	w.Cleanup(func() { s.Close() })
	return s
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
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
	w.must(w.mb.Deliver(w.Context(), m, to, hs))
	return hs
}

func (w *world) list(f *models.Folder) (hs []models.Handle) {
	w.Helper()
	w.must(w.mb.List(w.Context(), f, models.Handle{}, 1000, func(e *models.Entry) error {
		hs = append(hs, e.Handle)
		return nil
	}))
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

// rows reads a table behind the model's back.
func (w *world) rows(table string) (rows [][]drivers.Value) {
	w.Helper()
	st, err := w.store.Prepare(w.Context(), schemas.ScanOf(w.schema.Table(table)))
	w.must(err)
	w.must(w.session().Read(w.Context(), st, nil, func(row []drivers.Value) error {
		var r []drivers.Value
		for _, v := range row {
			r = append(r, v.Clone())
		}
		rows = append(rows, r)
		return nil
	}))
	return rows
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
