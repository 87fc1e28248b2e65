package conversation

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/models/modeltest"
)

// world is the model on an embedded engine of its own, with a clock that
// does not run unless a test moves it, and a record of the patterns run.
type world struct {
	*modeltest.World
	patterns []string
	mb       *mailbox
}

func start(t testing.TB) *world {
	t.Helper()
	w := &world{World: modeltest.NewWorld(t, Model())}
	w.setClock(time.Date(2013, 4, 3, 7, 3, 20, 0, time.UTC))
	w.mb = w.Mailbox(w.Bind(models.Options{})).(*mailbox)
	w.Meter.Watch(nil, func(st drivers.Statement, _ time.Duration, _ int64) {
		w.patterns = append(w.patterns, modeltest.Ran(st))
	})
	return w
}

func (w *world) setClock(to time.Time) { w.Advance(to.Sub(w.Now())) }

func (w *world) user(address string, folders ...string) *models.Account {
	w.Helper()
	a, err := w.mb.CreateUser(w.Context(), address, folders)
	w.Must(err)
	return a
}

func (w *world) post(from, text string, to *models.Folder) models.Handle {
	w.Helper()
	h := make([]models.Handle, 1)
	d := modeltest.Draft{From: mail.Address{Address: from}, Text: []byte(text)}
	w.Must(w.mb.Deliver(w.Context(), d.Message(), []*models.Folder{to}, h))
	return h[0]
}

// ran checks which patterns were run since the last call.
func (w *world) ran(what string, want ...string) {
	w.Helper()
	if !slices.Equal(w.patterns, want) {
		w.Errorf("%s runs %q, want %q", what, w.patterns, want)
	}
	w.patterns = nil
}

func (w *world) entries(list func(yield func(*models.Entry) error) error) []models.Handle {
	w.Helper()
	var hs []models.Handle
	w.Must(list(func(e *models.Entry) error {
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
	// The model uses one more, which an engine may not support.
	modeltest.Patterns(t, s, append(models.PatternsOf(&statements{}), "by_sender_in"))
}

// TestSlice is the source design's: its conversation, and its query.
func TestSlice(t *testing.T) {
	w := start(t)
	f := w.user("tom@example.org", "inbox").Folders[0]
	at := func(s string) time.Time {
		v, err := time.Parse("15:04:05.999", s)
		w.Must(err)
		return time.Date(2013, 4, 3, v.Hour(), v.Minute(), v.Second(), v.Nanosecond(), time.UTC)
	}
	posts := map[string]models.Handle{}
	for _, p := range []struct{ at, text string }{
		{"07:03:20", "Hi!"},
		{"07:04:52", "Hello!"},
		{"07:05:01", "Where are you?"},
		{"07:06:32", "in Istanbul"},
		{"07:10:00", "wow! how come"},
	} {
		w.setClock(at(p.at))
		posts[p.at] = w.post("tom@example.org", p.text, f)
	}
	for _, x := range []struct {
		from, to string
		limit    int
		want     []string
	}{
		{"07:04:00", "07:10:00", 100, []string{"07:10:00", "07:06:32", "07:05:01", "07:04:52"}},
		{"07:04:00", "07:09:59.999", 100, []string{"07:06:32", "07:05:01", "07:04:52"}},
		{"07:04:52", "07:04:52", 100, []string{"07:04:52"}}, // the whole millisecond, at either end
		{"07:04:52.001", "07:05:01", 100, []string{"07:05:01"}},
		{"07:04:00", "07:10:00", 2, []string{"07:10:00", "07:06:32"}},
		{"07:10:00", "07:04:00", 100, nil},
		{"00:00:00", "07:03:19.999", 100, nil},
	} {
		w.patterns = nil
		got := w.entries(func(y func(*models.Entry) error) error {
			return w.mb.Slice(t.Context(), f, at(x.from), at(x.to), x.limit, y)
		})
		w.ran("slice", "between")
		var want []models.Handle
		for _, p := range x.want {
			want = append(want, posts[p])
		}
		if !slices.Equal(got, want) {
			t.Errorf("slice from %s to %s, at most %d: %d messages, want those of %v", x.from, x.to, x.limit, len(got), x.want)
		}
	}
	// Times that no TimeUUID holds are no bounds.
	if got := w.entries(func(y func(*models.Entry) error) error {
		return w.mb.Slice(t.Context(), f, time.Time{}, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), 100, y)
	}); len(got) != 5 {
		t.Errorf("slice of all times: %d messages, want 5", len(got))
	}
}

// TestSeenBy keeps the order of seeing within one instant. Appending does not
// read the list; flagging does.
func TestSeenBy(t *testing.T) {
	w := start(t)
	a := w.user("tom@example.org", "inbox", "work")
	f := a.Folders[0]
	h := w.post("ann@example.org", "Hi!", f)
	people := []string{"zoe", "bob", "yan", "amy", "bob"}
	w.patterns = nil
	for _, who := range people {
		w.Must(w.mb.Seen(t.Context(), f, h, who))
	}
	w.ran("seen", slices.Repeat([]string{"exists", "seen"}, len(people))...)
	seenBy := func(f *models.Folder, h models.Handle) []string {
		t.Helper()
		var got []string
		w.Must(w.mb.SeenBy(t.Context(), f, h, func(who string) error {
			got = append(got, who)
			return nil
		}))
		return got
	}
	if got := seenBy(f, h); !slices.Equal(got, people) {
		t.Errorf("seen by %q, want %q", got, people)
	}
	unread := func(want int64) {
		t.Helper()
		if st, err := w.mb.Stats(t.Context(), f); err != nil || st.Unread != want {
			t.Errorf("%d unread, %v, want %d", st.Unread, err, want)
		}
	}
	unread(1) // tom has not
	w.patterns = nil
	w.Must(w.mb.Flag(t.Context(), f, h, models.Seen, true))
	w.ran("flag", "seen_by", "seen")
	w.Must(w.mb.Flag(t.Context(), f, h, models.Seen, true))
	w.ran("flag again", "seen_by")
	unread(0)
	// A move takes the list along; the owner's having seen it can be taken back.
	w.Must(w.mb.Move(t.Context(), f, a.Folders[1], []models.Handle{h}, []models.Handle{{}}))
	if got := seenBy(a.Folders[1], h); !slices.Equal(got, append(people, "tom@example.org")) {
		t.Errorf("after a move, seen by %q", got)
	}
	w.patterns = nil
	w.Must(w.mb.Flag(t.Context(), a.Folders[1], h, models.Seen, false))
	w.ran("flag off", "seen_by", "unseen")
	if got := seenBy(a.Folders[1], h); !slices.Equal(got, people) {
		t.Errorf("after the flag was taken back, seen by %q, want %q", got, people)
	}
	if err := w.mb.Seen(t.Context(), f, h, "bob"); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("seen where the message is no longer: error is %v", err)
	}
	if a := w.Audit(w.mb); a.Messages != 1 || a.BrokenBodies != 0 {
		t.Errorf("audit: %+v, want one message and no row without content", a)
	}
}

// TestJoin shares a conversation under its title, and no name twice.
func TestJoin(t *testing.T) {
	w := start(t)
	a, b := w.user("tom@example.org", "inbox", "Istanbul"), w.user("ann@example.org", "inbox")
	shared := a.Folder("Istanbul")
	joined, err := w.mb.Join(t.Context(), b, shared)
	w.Must(err)
	if joined.Name != "Istanbul" || joined.Account != b {
		t.Errorf("joined %q of %s, want the conversation's title", joined.Name, joined.Account.Address)
	}
	h := w.post("ann@example.org", "wow!", joined)
	w.Must(w.mb.Flag(t.Context(), joined, h, models.Seen, true))
	var o models.Opened
	w.Must(w.mb.Open(t.Context(), shared, h, &o))
	if o.Seen || string(o.Body) != "wow!" {
		t.Errorf("tom sees %q, seen: %v, want what ann posted, not yet seen", o.Body, o.Seen)
	}
	for _, f := range []*models.Folder{shared, a.Folders[0]} { // both names are taken
		if _, err := w.mb.Join(t.Context(), b, f); !errors.Is(err, models.ErrExists) {
			t.Errorf("join %q: error is %v, want %q", f.Name, err, models.ErrExists)
		}
	}
	if _, err := w.mb.Join(t.Context(), b, newFolder(a, "none", conversationOf("nobody",
		"none"))); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("join what is not there: error is %v", err)
	}
}

// TestLargeMove moves more than a batch holds: each batch has messages of KeepBuffer bytes, or one.
func TestLargeMove(t *testing.T) {
	w := start(t)
	a := w.user("tom@example.org", "inbox", "work")
	var hs []models.Handle
	for _, size := range []int{100, 200, 100, 100, 400, 10} {
		hs = append(hs, w.post("ann@example.org", strings.Repeat("x", size<<10), a.Folders[0]))
	}
	w.patterns = nil
	moved := make([]models.Handle, len(hs))
	w.Must(w.mb.Move(t.Context(), a.Folders[0], a.Folders[1], hs, moved))
	w.ran("move of 100, 200, 100, 100, 400 and 10 KiB", "whole_messages", "reposts", "reposts", "reposts", "reposts",
		"reposts", "delete_messages")
	if !slices.Equal(moved, hs) {
		t.Errorf("move: handles are %v, want %v", moved, hs)
	}
	if audit := w.Audit(w.mb); audit.Messages != int64(len(hs)) || audit.Duplicated != 0 {
		t.Errorf("audit: %d messages, %d duplicated, want %d and none", audit.Messages, audit.Duplicated, len(hs))
	}
}
