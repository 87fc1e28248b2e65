package modeltest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/validate"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/audit"
	"github.com/mailbench/mailbench/schemas"
)

// World is a model on an engine of its own. Tests of one model that know its tables use it too. Its clock
// stands still unless a test advances it.
type World struct {
	testing.TB
	Schema *schemas.Schema
	Store  drivers.Store   // a test may put another in its place before Bind
	Meter  drivers.Session // counts the calls of the last Mailbox

	ctx   context.Context
	model models.Model
	clock *clock
}

// ruleTimeout bounds a rule, so that a call that never ends fails its rule and not the
// whole run. Every engine needs far less.
const ruleTimeout = 10 * time.Minute

// NewWorld applies the model's schema to a new store of the embedded engine.
func NewWorld(t testing.TB, m models.Model) *World {
	t.Helper()
	return newWorld(t, m, openEmbedded)
}

func newWorld(t testing.TB, m models.Model, open drivertest.Open) *World {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ruleTimeout)
	t.Cleanup(cancel)
	w := &World{TB: t, ctx: ctx, model: m, clock: &clock{}}
	w.clock.nanos.Store(start.UnixNano())
	var err error
	w.Schema, err = m.Schema()
	w.Must(err)
	w.Store = open(t, w.Schema)
	return w
}

// Must fails the test if there is an error.
func (w *World) Must(err error) {
	w.Helper()
	must(w, err)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Now returns the time of the model's clock.
func (w *World) Now() time.Time { return w.clock.now() }

// Advance advances the clock, or sets it back.
func (w *World) Advance(d time.Duration) { w.clock.advance(d) }

// Bind binds the model to the store, as another process would. The model has the
// world's clock, unless it has one.
func (w *World) Bind(o models.Options) models.Bound {
	w.Helper()
	if o.Now == nil {
		o.Now = w.Now
	}
	p, err := drivers.PrepareAll(w.ctx, w.Store, w.Schema)
	w.Must(err)
	b, err := w.model.Bind(w.ctx, p, o)
	w.Must(err)
	return b
}

// Audit verifies the store.
func (w *World) Audit(mb models.Mailbox) models.Audit {
	w.Helper()
	a, err := w.audit(mb)
	w.Must(err)
	return a
}

func (w *World) audit(mb models.Mailbox) (models.Audit, error) {
	return audit.Run(w.ctx, w.Store, w.Schema, mb, validate.Config{Workers: 1})
}

// Session opens a session that the end of the test closes.
func (w *World) Session() drivers.Session {
	w.Helper()
	s, err := w.Store.Session()
	w.Must(err)
	w.Cleanup(func() {
		if err := s.Close(); err != nil {
			w.Errorf("close session: %v", err)
		}
	})
	return s
}

// Mailbox returns the mailbox of one more worker, whose calls Meter counts.
func (w *World) Mailbox(b models.Bound) models.Mailbox {
	w.Helper()
	w.Meter = w.Session()
	return b.Mailbox(w.Meter)
}

// Rows reads a table without the model. The columns are those of schemas.ScanOf.
func (w *World) Rows(table string) [][]drivers.Value {
	w.Helper()
	return w.read(schemas.ScanOf(w.Schema.Table(table)))
}

// read returns copies of the rows of a pattern without arguments.
func (w *World) read(p *schemas.Pattern) (rows [][]drivers.Value) {
	w.Helper()
	st, err := w.Store.Prepare(w.ctx, p)
	w.Must(err)
	w.Must(w.Session().Read(w.ctx, st, nil, func(row []drivers.Value) error {
		rows = append(rows, drivers.ListOf(row).Clone().Elems())
		return nil
	}))
	return rows
}

// dump writes down every row of every table, sorted. Long values are shown by
// length and digest.
func (w *World) dump() string {
	var b strings.Builder
	for _, table := range w.Schema.Tables {
		for _, p := range []*schemas.Pattern{schemas.ScanOf(table), schemas.StaticScanOf(table)} {
			name := table.Name
			switch {
			case p.Static && len(table.Static) > 0:
				name += " (static)"
			case p.Static || table.Header():
				continue
			}
			var rows []string
			for _, row := range w.read(p) {
				var cells []string
				for i, c := range p.Columns {
					if !row[i].IsNull() {
						cells = append(cells, c.Name+"="+drivertest.Show(row[i]))
					}
				}
				rows = append(rows, "\t"+strings.Join(cells, " ")+"\n")
			}
			slices.Sort(rows)
			fmt.Fprintf(&b, "%s: %d rows\n%s", name, len(rows), strings.Join(rows, ""))
		}
	}
	return b.String()
}
