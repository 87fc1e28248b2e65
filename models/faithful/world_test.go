package faithful

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/models/modeltest"
	"github.com/mailbench/mailbench/schemas"
)

// patience is how long a test may take, so that an engine that does not answer
// fails it and not the whole run.
const patience = 2 * time.Minute

// world is a model on a real engine, in a namespace of its own.
type world struct {
	*testing.T
	ctx       context.Context
	model     models.Model
	store     drivers.Store
	schema    *schemas.Schema
	namespace string
	now       time.Time // what the model takes for the time
	mailbox   models.Mailbox
}

// newWorld applies the model's schema to an engine, and drops it when the test ends.
func newWorld(t *testing.T, engine drivers.Engine, contact string, model models.Model, o models.Options) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	w := &world{
		T: t, ctx: ctx, model: model, namespace: newNamespace(),
		now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC),
	}
	var err error
	w.store = drivertest.OpenLive(t, engine, drivers.Options{Contact: []string{contact}, Namespace: w.namespace})
	w.schema, err = model.Schema()
	w.must(err)
	w.must(w.store.Apply(ctx, w.schema))
	w.mailbox = w.bind(o)
	return w
}

// newNamespace names a data set that no other run on the engine has.
func newNamespace() string { return fmt.Sprintf("f%08x", rand.Uint32()) }

// bind returns the mailbox of another process.
func (w *world) bind(o models.Options) models.Mailbox {
	w.Helper()
	o.Now = func() time.Time { return w.now }
	p, err := drivers.PrepareAll(w.ctx, w.store, w.schema)
	w.must(err)
	bound, err := w.model.Bind(w.ctx, p, o)
	w.must(err)
	s, err := w.store.Session()
	w.must(err)
	w.Cleanup(func() { s.Close() })
	return bound.Mailbox(s)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// part returns the world for a part of its test.
func (w *world) part(t *testing.T) *world {
	inner := *w
	inner.T = t
	return &inner
}

func (w *world) user(address string, folders ...string) *models.Account {
	w.Helper()
	a, err := w.mailbox.CreateUser(w.ctx, address, folders)
	w.must(err)
	return a
}

func (w *world) login(address string) *models.Account {
	w.Helper()
	a, err := w.mailbox.Login(w.ctx, address)
	w.must(err)
	return a
}

// deliver delivers a draft a minute after the one before.
func (w *world) deliver(d modeltest.Draft, to ...*models.Folder) (*mail.Message, []models.Handle) {
	w.Helper()
	w.now = w.now.Add(time.Minute)
	if d.Date.IsZero() {
		d.Date = w.now
	}
	m, hs := d.Message(), make([]models.Handle, len(to))
	w.must(w.mailbox.Deliver(w.ctx, m, to, hs))
	return m, hs
}

// line is a message in a list.
type line struct {
	From, Subject string
	Date          time.Time
	Size          int64
	Seen          bool
}

func lineOf(e *models.Entry) line {
	return line{string(e.From), string(e.Subject), e.Date.UTC(), e.Size, e.Seen}
}

// list returns the newest lines of a folder as the model has them, with the
// handles next to them.
func (w *world) list(f *models.Folder, limit int) (lines []line, handles []models.Handle) {
	w.Helper()
	w.must(w.mailbox.List(w.ctx, f, models.Handle{}, limit, func(e *models.Entry) error {
		lines, handles = append(lines, lineOf(e)), append(handles, e.Handle)
		return nil
	}))
	return lines, handles
}

func (w *world) open(f *models.Folder, h models.Handle) *models.Opened {
	w.Helper()
	var o models.Opened
	w.must(w.mailbox.Open(w.ctx, f, h, &o))
	return &o
}

func (w *world) attachment(f *models.Folder, h models.Handle, name string) []byte {
	w.Helper()
	var b bytes.Buffer
	_, err := w.mailbox.Attachment(w.ctx, f, h, name, &b)
	w.must(err)
	return b.Bytes()
}

func (w *world) raw(f *models.Folder, h models.Handle) []byte {
	w.Helper()
	var b bytes.Buffer
	_, err := w.mailbox.Raw(w.ctx, f, h, &b)
	w.must(err)
	return b.Bytes()
}

// rawOf returns the bytes of a message that a draft made.
func rawOf(m *mail.Message) []byte { return m.Raw.(mail.BytesContent) }

// noise returns n bytes that are not text.
func noise(n int) []byte {
	b := make([]byte, n)
	for i, r := 0, rand.New(rand.NewPCG(uint64(n), 0)); i < n; i++ {
		b[i] = byte(r.Uint32())
	}
	return b
}
