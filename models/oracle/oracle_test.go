package oracle

import (
	"bytes"
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

func TestPatterns(t *testing.T) {
	s, err := Model().Schema()
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Patterns(t, s, models.PatternsOf(&statements{}))
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
