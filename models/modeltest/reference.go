package modeltest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
)

// Order is what a model sorts a folder by, newest first.
type Order uint8

// The orders.
const (
	ByDelivery Order = 1 + iota // time of delivery, kept by a move; then order of delivery
	ByDate                      // the message's own date
	ByArrival                   // arrival in the folder: a move makes it the newest
)

// Traits are the properties of a model that its document states and no method tells.
type Traits struct {
	Order Order
	// OneMessage: several folders can show one message. They share its flags, and Delete
	// removes it from all of them.
	OneMessage bool
	// KeepsBodies: a delivery is one email, whatever folders show it. A folder shows it once.
	// An email that no folder shows any more stays, and the audit counts it. Such a model is a
	// models.Keeper.
	KeepsBodies bool
	// WholeRows: a message is one row with its attachments, which the client holds while it
	// writes the row.
	WholeRows bool
	// DeletesIf: a delete is one write that is applied only if the messages are there. It reads nothing first.
	DeletesIf bool
	// MoveReads is the pattern by which a move reads, piece by piece, the bytes that it writes
	// again; "" if there is none.
	MoveReads string
}

// reference is the simplest mailbox that keeps every rule: slices in memory, searched
// from end to end. It implements the operations of all models.
type reference struct {
	Traits
	now      func() time.Time
	mu       sync.Mutex // held by every method: one reference serves all workers
	accounts []*refAccount
	mails    []*refMail
	all      []*refEntry // all entries, also those no longer in a folder
	last     uint64      // last number given to a state or an entry
	posts    bool        // it is used as a models.Poster
}

type refAccount struct {
	address string
	folders []*refFolder
	subs    []string
	deleted []refDeleted
	mail    []*refEntry // all that is not deleted, whichever folders show it: as it came
}

type refFolder struct {
	name    string
	entries []*refEntry
	uid     uint64 // last UID given
}

// refEntry is a message in a folder. Handles are never used twice.
type refEntry struct {
	number uint64
	uid    uint64
	state  *refState
}

// refState has the flags and viewers of a message: of one entry, or of all entries of the
// message.
type refState struct {
	mail   *refMail
	number uint64 // ascends in the order of delivery
	flags  models.Flag
	named  []string // flags that users name
	seenBy []string
}

// refMail is one delivery, however many folders took it.
type refMail struct {
	*mail.Message
	at time.Time
}

type refDeleted struct {
	state   *refState
	came    *refEntry // of the account's mail
	at      time.Time
	folders []*refFolder
	entries []*refEntry
}

func newReference(tr Traits, now func() time.Time) *reference {
	return &reference{Traits: tr, now: now}
}

var _ models.Mailbox = (*reference)(nil)

func (r *reference) number() uint64 {
	r.last++
	return r.last
}

func (e *refEntry) handle() (h models.Handle) {
	binary.BigEndian.PutUint64(h[:], e.number)
	return h
}

func (r *reference) account(a *models.Account) *refAccount { return a.Ref.(*refAccount) }
func (r *reference) folder(f *models.Folder) *refFolder    { return f.Ref.(*refFolder) }

func (r *reference) find(f *models.Folder, h models.Handle) (*refEntry, error) {
	for _, e := range r.folder(f).entries {
		if e.handle() == h {
			return e, nil
		}
	}
	return nil, fmt.Errorf("message %x in folder %s: %w", h[:8], f.Name, models.ErrNotFound)
}

func (r *reference) findAll(f *models.Folder, hs []models.Handle) ([]*refEntry, error) {
	es := make([]*refEntry, len(hs))
	for i, h := range hs {
		var err error
		if es[i], err = r.find(f, h); err != nil {
			return nil, err
		}
		if slices.Contains(es[:i], es[i]) {
			return nil, fmt.Errorf("message %x is named twice: %w", h[:8], models.ErrNotFound)
		}
	}
	return es, nil
}

// put adds an entry to a folder. If the folder shows the same message already, put returns
// that entry.
func (r *reference) put(f *refFolder, st *refState) *refEntry {
	if e := f.entry(st); e != nil {
		return e
	}
	f.uid++
	e := &refEntry{number: r.number(), uid: f.uid, state: st}
	f.entries = append(f.entries, e)
	r.all = append(r.all, e)
	return e
}

// entry returns the folder's entry of the same message, or nil.
func (f *refFolder) entry(st *refState) *refEntry {
	for _, e := range f.entries {
		if e.state == st || e.state.number == st.number {
			return e
		}
	}
	return nil
}

func (f *refFolder) drop(e *refEntry) {
	f.entries = slices.DeleteFunc(f.entries, func(x *refEntry) bool { return x == e })
}

// sorted returns the folder's entries in the model's own order.
func (r *reference) sorted(f *refFolder) []*refEntry {
	es := slices.Clone(f.entries)
	slices.SortFunc(es, r.compare)
	return es
}

func (r *reference) compare(a, b *refEntry) int {
	switch r.Order {
	case ByDate:
		if c := b.state.mail.Date.Compare(a.state.mail.Date); c != 0 {
			return c
		}
	case ByArrival:
		return int(int64(b.uid) - int64(a.uid))
	default:
		if c := b.state.mail.at.Compare(a.state.mail.at); c != 0 {
			return c
		}
	}
	return int(int64(b.state.number) - int64(a.state.number))
}

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

// dump writes down every row of every table, sorted. Long values are shown by
// length and digest.
func (f *fixture) dump() string {
	var b strings.Builder
	for _, table := range f.schema.Tables {
		if !table.Header() {
			f.dumpRows(&b, table, schemas.ScanOf(table))
		}
		if len(table.Static) > 0 {
			f.dumpRows(&b, table, schemas.StaticScanOf(table))
		}
	}
	return b.String()
}

func (f *fixture) dumpRows(b *strings.Builder, table *schemas.Table, p *schemas.Pattern) {
	f.t.Helper()
	var rows []string
	err := f.session().Read(f.ctx, f.prepare(p), nil, func(row []drivers.Value) error {
		var cells []string
		for i, c := range p.Columns {
			if !row[i].IsNull() {
				cells = append(cells, c.Name+"="+show(row[i]))
			}
		}
		rows = append(rows, strings.Join(cells, " "))
		return nil
	})
	if err != nil {
		f.t.Fatalf("scan %s: %v", table.Name, err)
	}
	slices.Sort(rows)
	static := ""
	if p.Static {
		static = " (static)"
	}
	fmt.Fprintf(b, "%s%s: %d rows\n", table.Name, static, len(rows))
	for _, r := range rows {
		fmt.Fprintf(b, "\t%s\n", r)
	}
}

// show writes a value for people. Texts and blobs of more than 60 bytes become length and
// digest.
func show(v drivers.Value) string {
	const most = 60
	switch v.Kind() {
	case schemas.Text, schemas.Blob:
		switch raw := v.Raw(); {
		case len(raw) > most:
			return fmt.Sprintf("%d bytes %.4x", len(raw), sha256.Sum256(raw))
		case v.Kind() == schemas.Blob:
			return fmt.Sprintf("0x%x", raw)
		default:
			return fmt.Sprintf("%q", raw)
		}
	case schemas.UUID, schemas.TimeUUID:
		u := v.UUIDBytes()
		return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
	case schemas.Boolean:
		return fmt.Sprint(v.Bool())
	case schemas.Timestamp:
		return v.Time().Format("2006-01-02T15:04:05.000000Z")
	case schemas.Set, schemas.List, schemas.Map:
		var elems []string
		for _, e := range v.Elems() {
			elems = append(elems, show(e))
		}
		return "[" + strings.Join(elems, ", ") + "]"
	default:
		return fmt.Sprint(v.Int64())
	}
}
