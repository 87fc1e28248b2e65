package oracle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
	"github.com/mailbench/mailbench/schemas"
)

// world is the model on an embedded engine of its own, with a clock that
// does not run unless a test moves it.
type world struct {
	*modeltest.World
	mb *mailbox
}

func start(t testing.TB) *world {
	t.Helper()
	w := &world{World: modeltest.NewWorld(t, Model())}
	w.mb = w.Mailbox(w.Bind(models.Options{})).(*mailbox)
	return w
}

func (w *world) user(address string, folders ...string) *models.Account {
	w.Helper()
	a, err := w.mb.CreateUser(w.Context(), address, folders)
	w.Must(err)
	return a
}

func (w *world) deliver(f *models.Folder, d modeltest.Draft) models.Handle {
	w.Helper()
	h := make([]models.Handle, 1)
	w.Must(w.mb.Deliver(w.Context(), d.Message(), []*models.Folder{f}, h))
	return h[0]
}

func (w *world) list(f *models.Folder, after models.Handle, limit int) []models.Handle {
	w.Helper()
	var hs []models.Handle
	w.Must(w.mb.List(w.Context(), f, after, limit, func(e *models.Entry) error {
		hs = append(hs, e.Handle)
		return nil
	}))
	return hs
}

// rows counts the rows of the message table.
func (w *world) rows() int {
	w.Helper()
	return len(w.Rows("users.folder.message"))
}

func TestPatterns(t *testing.T) {
	s, err := Model().Schema()
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Patterns(t, s, models.PatternsOf(&statements{}))
}

// TestPageReadsBodies pins what the source design's inbox costs: one call, which
// reads 25 whole rows, but not the attachments, which the source design has not.
func TestPageReadsBodies(t *testing.T) {
	const body, file = 2000, 5000
	w := start(t)
	in := w.user("a@example.org", "inbox").Folders[0]
	for range 30 {
		w.deliver(in, modeltest.Draft{
			Text:  bytes.Repeat([]byte("x"), body),
			Files: []modeltest.File{{Name: "f", Content: make([]byte, file)}},
		})
	}
	w.Meter.Take()
	w.list(in, models.Handle{}, 25)
	c := w.Meter.Take()
	if c.Requests != 1 || c.RowsRead != 25 || c.BytesRead < 25*body || c.BytesRead > 25*(body+500) {
		t.Errorf("a page takes %d calls, %d rows and %d bytes; want 1 call, 25 rows with their bodies of %d bytes", c.Requests,
			c.RowsRead, c.BytesRead, body)
	}
	// Opening reads no attachment either.
	w.Must(w.mb.Open(t.Context(), in, w.list(in, models.Handle{}, 1)[0], &models.Opened{}))
	if c := w.Meter.Take(); c.BytesRead > 26*(body+500) {
		t.Errorf("open reads %d bytes", c.BytesRead)
	}
}

// TestPageVariants pins what a page costs that reads headers only, and one that must sort: the
// index saves reading the whole folder. Ids of the latter are in no order.
func TestPageVariants(t *testing.T) {
	const messages, body = 60, 2000
	for _, x := range []struct {
		variant     string
		rows, bytes int64 // at least, and at most 500 a row more
	}{{"oracle", 25, 25 * body}, {"oracle@headers", 25, 0}, {"oracle@sort", messages, messages * body}} {
		v, err := Model().Variant(func() (*schemas.Schema, error) { return schemas.Bundled(x.variant) })
		if x.variant == "oracle" {
			v, err = Model(), nil
		}
		if err != nil {
			t.Fatal(err)
		}
		w := &world{World: modeltest.NewWorld(t, v)}
		w.mb = w.Mailbox(w.Bind(models.Options{})).(*mailbox)
		in := w.user("a@example.org", "inbox").Folders[0]
		var want []models.Handle
		for range messages { // the clock does not run
			want = append(want, w.deliver(in, modeltest.Draft{Text: bytes.Repeat([]byte("x"), body)}))
		}
		slices.Reverse(want)
		w.Meter.Take()
		got := w.list(in, models.Handle{}, 25)
		c := w.Meter.Take()
		if c.Requests != 1 || c.RowsRead != x.rows || c.BytesRead < x.bytes || c.BytesRead > x.bytes+x.rows*500 {
			t.Errorf("a page of %s takes %d calls, %d rows and %d bytes; want 1, %d and about %d", x.variant, c.Requests, c.RowsRead,
				c.BytesRead, x.rows, x.bytes)
		}
		for len(got)%25 == 0 {
			got = append(got, w.list(in, got[len(got)-1], 25)...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s lists %d messages, want the %d delivered, newest first", x.variant, len(got), messages)
		}
		ascend := slices.IsSortedFunc(want, func(a, b models.Handle) int { return bytes.Compare(b[:16], a[:16]) })
		if ascend != (x.variant != "oracle@sort") {
			t.Errorf("%s: ids in the order of arrival: %t", x.variant, ascend)
		}
	}
}

// TestTies delivers in one microsecond: the order of delivery decides, in
// pages that end within it, and a move keeps it.
func TestTies(t *testing.T) {
	w := start(t)
	a := w.user("a@example.org", "inbox", "work")
	in, work := a.Folders[0], a.Folders[1]
	var want []models.Handle
	for range 20 {
		want = append(want, w.deliver(in, modeltest.Draft{}))
	}
	slices.Reverse(want)
	got := w.list(in, models.Handle{}, 7)
	for len(got)%7 == 0 {
		got = append(got, w.list(in, got[len(got)-1], 7)...)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d messages in pages of 7, want the 20 delivered, newest first", len(got))
	}
	moved := make([]models.Handle, 3)
	hs := []models.Handle{want[9], want[2], want[15]}
	w.Must(w.mb.Move(t.Context(), in, work, hs, moved))
	if got, want := w.list(work, models.Handle{}, 25), []models.Handle{
		moved[1], moved[0],
		moved[2],
	}; !slices.Equal(got, want) {
		t.Errorf("moved messages are listed as %x, want %x", got, want)
	}
}

// TestIDs sorts messageIds as text: they are in order of time, over centuries,
// and of delivery within one time.
func TestIDs(t *testing.T) {
	b := &bound{ids: models.NewTimeUUIDs(1)}
	at := time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
	var last [16]byte
	for i := range 2000 {
		if i%3 == 0 {
			at = at.Add(time.Duration(i) * 17 * time.Hour)
		}
		id := b.newID(at)
		if bytes.Compare(last[:], id[:]) >= 0 {
			t.Fatalf("id %x of %v sorts before %x, which was made earlier", id, at, last)
		}
		last = id
	}
}

// batches records the batches of a session, and can refuse them.
type batches struct {
	drivers.Session
	patterns []*schemas.Pattern
	parts    []int
	err      error
}

func (b *batches) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	b.patterns, b.parts = append(b.patterns, st.Pattern()), append(b.parts, len(parts))
	if b.err != nil {
		return b.err
	}
	return b.Session.Batch(ctx, st, parts)
}

// TestAtomic moves and deletes several messages: each is one batch that is all
// or nothing on the user's shard, and where that fails nothing has changed.
func TestAtomic(t *testing.T) {
	w := start(t)
	a := w.user("a@example.org", "inbox", "work")
	in, work := a.Folders[0], a.Folders[1]
	for range 5 {
		w.deliver(in, modeltest.Draft{Files: []modeltest.File{{Name: "f", Content: []byte("file")}}})
	}
	before := w.list(in, models.Handle{}, 25)
	b := &batches{Session: w.mb.S, err: drivers.ErrTooLarge}
	w.mb.S = b
	moved := make([]models.Handle, 3)
	if err := w.mb.Move(t.Context(), in, work, before[:3], moved); !errors.Is(err, drivers.ErrTooLarge) {
		t.Errorf("move: error is %v, want %q", err, drivers.ErrTooLarge)
	}
	if err := w.mb.Delete(t.Context(), in, before[:3]); !errors.Is(err, drivers.ErrTooLarge) {
		t.Errorf("delete: error is %v, want %q", err, drivers.ErrTooLarge)
	}
	if got := w.list(in, models.Handle{}, 25); !slices.Equal(got, before) || w.rows() != 5 {
		t.Errorf("after a move and a delete that failed %d messages are listed of %d, want 5", len(got), w.rows())
	}
	b.err = nil
	w.Must(w.mb.Move(t.Context(), in, work, before[:3], moved))
	w.Must(w.mb.Delete(t.Context(), work, moved[:2]))
	var parts []int
	for i, p := range b.patterns {
		parts = append(parts, b.parts[i])
		if p.Atomic != schemas.AtomicShard {
			t.Errorf("batch %s is atomic %s, want %s", p.Name, p.Atomic, schemas.AtomicShard)
		}
	}
	if want := []int{6, 3, 6, 2}; !slices.Equal(parts, want) {
		t.Errorf("batches of %v parts, want %v: a put and a delete for each message moved", parts, want)
	}
	var out bytes.Buffer
	if _, err := w.mb.Attachment(t.Context(), work, moved[2], "f", &out); err != nil || out.String() != "file" {
		t.Errorf("attachment of a moved message: %q, %v", out.String(), err)
	}
	if w.rows() != 3 {
		t.Errorf("%d rows, want 3", w.rows())
	}
}

// TestTooLarge lets the engine's refusal of a message come through.
func TestTooLarge(t *testing.T) {
	w := start(t)
	in := w.user("a@example.org", "inbox").Folders[0]
	w.mb.S = &batches{Session: w.mb.S, err: fmt.Errorf("row of 17 MB: %w", drivers.ErrTooLarge)}
	err := w.mb.Deliver(t.Context(), modeltest.Draft{}.Message(), []*models.Folder{in}, make([]models.Handle, 1))
	if !errors.Is(err, drivers.ErrTooLarge) {
		t.Errorf("error is %v, want %q", err, drivers.ErrTooLarge)
	}
}

// TestFlagMakesNoRow: a flag is one call; that of a message that is gone makes no row.
func TestFlagMakesNoRow(t *testing.T) {
	w := start(t)
	in := w.user("a@example.org", "inbox").Folders[0]
	h := w.deliver(in, modeltest.Draft{})
	w.Meter.Take()
	w.Must(w.mb.Flag(t.Context(), in, h, models.Seen, true))
	if c := w.Meter.Take(); c.Requests != 1 {
		t.Errorf("a flag that changes takes %d calls, want 1", c.Requests)
	}
	w.Must(w.mb.Flag(t.Context(), in, h, models.Seen, true))
	if c := w.Meter.Take(); c.Requests != 1 {
		t.Errorf("a flag that is set already takes %d calls, want 1", c.Requests)
	}
	w.Must(w.mb.Delete(t.Context(), in, []models.Handle{h}))
	if err := w.mb.Flag(t.Context(), in, h, models.Seen, false); !errors.Is(err, models.ErrNotFound) || w.rows() != 0 {
		t.Errorf("flag a message that is gone: error is %v, %d rows; want %q and none", err, w.rows(), models.ErrNotFound)
	}
}

// TestLogin finds a user by address through the declared fallback, and more
// than nine folders in the order they were created in.
func TestLogin(t *testing.T) {
	w := start(t)
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("folder %c", 'z'-i))
	}
	a := w.user("a@example.org", names[:11]...)
	w.user("b@example.org", "inbox")
	if _, err := w.mb.CreateFolder(t.Context(), a, names[11]); err != nil {
		t.Fatal(err)
	}
	var calls, emulated int64
	w.Meter.Watch(nil, func(st drivers.Statement, _ time.Duration, n int64) {
		if calls += n; st.Emulates() != nil {
			emulated += n
		}
	})
	a, err := w.mb.Login(t.Context(), "a@example.org")
	w.Must(err)
	if calls != 2 || emulated != 0 {
		t.Errorf("login takes %d calls, %d emulated; want 2 and 0: the engine keeps emailIndex", calls, emulated)
	}
	var got []string
	for _, f := range a.Folders {
		got = append(got, f.Name)
	}
	if !slices.Equal(got, names) {
		t.Errorf("folders are %q, want %q", got, names)
	}
	h := w.deliver(a.Folders[11], modeltest.Draft{})
	w.Meter.Take()
	if err := w.mb.Open(t.Context(), a.Folders[1], h, &models.Opened{}); !errors.Is(err, models.ErrNotFound) ||
		w.Meter.Take().Requests != 0 {
		t.Errorf("open a handle in another folder: error is %v; want %q, and no call: the handle says so", err,
			models.ErrNotFound)
	}
}

// TestDuplicated leaves what an interrupted move would on an engine that is not
// atomic: the audit counts it.
func TestDuplicated(t *testing.T) {
	w := start(t)
	a := w.user("a@example.org", "inbox", "work")
	for range 3 {
		w.deliver(a.Folders[0], modeltest.Draft{})
	}
	hs := w.list(a.Folders[0], models.Handle{}, 25)
	w.mb.S = halfway{w.mb.S}
	w.Must(w.mb.Move(t.Context(), a.Folders[0], a.Folders[1], hs[:2], make([]models.Handle, 2)))
	audit, err := w.mb.Audit(t.Context())
	w.Must(err)
	if audit.Duplicated != 1 || audit.Messages != 4 {
		t.Errorf("audit: %d duplicated of %d, want 1 of 4", audit.Duplicated, audit.Messages)
	}
}

// halfway is a session that loses the last part of each batch.
type halfway struct{ drivers.Session }

func (h halfway) Batch(ctx context.Context, st drivers.Statement, parts []drivers.Call) error {
	return h.Session.Batch(ctx, st, parts[:len(parts)-1])
}
