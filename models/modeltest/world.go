package modeltest

import (
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/schemas"
)

// World is a model on an embedded engine of its own, for tests of one model that know
// its tables. Its clock stands still unless a test advances it.
type World struct {
	testing.TB
	Schema *schemas.Schema
	Store  drivers.Store  // a test may put another in its place before Bind
	Meter  *drivers.Meter // counts the calls of the last Mailbox

	model models.Model
	clock *clock
}

// NewWorld applies the model's schema to a new store.
func NewWorld(t testing.TB, m models.Model) *World {
	t.Helper()
	w := &World{TB: t, model: m, clock: newClock()}
	var err error
	w.Schema, err = m.Schema()
	w.Must(err)
	w.Store = openEmbedded(t, w.Schema)
	return w
}

// Must fails the test if there is an error.
func (w *World) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Now returns the time of the model's clock.
func (w *World) Now() time.Time { return w.clock.now() }

// Advance advances the clock, or sets it back.
func (w *World) Advance(d time.Duration) { w.clock.advance(d) }

// Bind binds the model to the store, as another process would. The model has the
// world's clock.
func (w *World) Bind(o models.Options) models.Bound {
	w.Helper()
	o.Now = w.Now
	p, err := drivers.PrepareAll(w.Context(), w.Store, w.Schema)
	w.Must(err)
	b, err := w.model.Bind(w.Context(), p, o)
	w.Must(err)
	return b
}

// Session opens a session that the end of the test closes.
func (w *World) Session() drivers.Session {
	w.Helper()
	s, err := w.Store.Session()
	w.Must(err)
	w.Cleanup(func() { s.Close() })
	return s
}

// Mailbox returns the mailbox of one more worker, whose calls Meter counts.
func (w *World) Mailbox(b models.Bound) models.Mailbox {
	w.Helper()
	w.Meter = drivers.NewMeter(w.Session())
	return b.Mailbox(w.Meter)
}

// Rows reads a table without the model. The columns are those of schemas.ScanOf.
func (w *World) Rows(table string) (rows [][]drivers.Value) {
	w.Helper()
	st, err := w.Store.Prepare(w.Context(), schemas.ScanOf(w.Schema.Table(table)))
	w.Must(err)
	w.Must(w.Session().Read(w.Context(), st, nil, func(row []drivers.Value) error {
		rows = append(rows, drivers.ListOf(row).Clone().Elems())
		return nil
	}))
	return rows
}
