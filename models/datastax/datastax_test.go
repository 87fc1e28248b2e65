package datastax

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/models/modeltest"
)

// world is the model on an embedded engine of its own, and a clock that goes
// on by a second with each delivery.
type world struct {
	*modeltest.World
	mb *mailbox
}

func start(t testing.TB, o models.Options) *world {
	t.Helper()
	w := &world{World: modeltest.NewWorld(t, Model())}
	w.mb = w.bind(o)
	return w
}

// bind returns the mailbox of another process.
func (w *world) bind(o models.Options) *mailbox {
	w.Helper()
	return w.worker(w.Bind(o))
}

func (w *world) worker(b models.Bound) *mailbox {
	w.Helper()
	return w.Mailbox(b).(*mailbox)
}

func (w *world) user(address string, folders ...string) *models.Account {
	w.Helper()
	a, err := w.mb.CreateUser(w.Context(), address, folders)
	w.Must(err)
	return a
}

func (w *world) deliver(to ...*models.Folder) []models.Handle {
	w.Helper()
	return w.deliverTo(w.mb, to...)
}

func (w *world) deliverTo(mb *mailbox, to ...*models.Folder) []models.Handle {
	w.Helper()
	w.Advance(time.Second)
	hs := make([]models.Handle, len(to))
	d := modeltest.Draft{
		Date: time.Unix(0, 0), From: mail.Address{Address: "ann@sender.example"}, Subject: "s",
		Text: []byte("text"),
	}
	w.Must(mb.Deliver(w.Context(), d.Message(), to, hs))
	return hs
}

// list returns the whole folder, read in pages of n.
func (w *world) list(f *models.Folder, n int) []models.Handle {
	w.Helper()
	var hs []models.Handle
	for {
		before := len(hs)
		var after models.Handle
		if before > 0 {
			after = hs[before-1]
		}
		w.Must(w.mb.List(w.Context(), f, after, n, func(e *models.Entry) error {
			hs = append(hs, e.Handle)
			return nil
		}))
		if len(hs) < before+n {
			return hs
		}
	}
}

// labels returns how many emails each label of the one account shows.
func (w *world) labels() map[string]int {
	n := map[string]int{}
	for _, row := range w.Rows("emails_by_user_folder") {
		n[row[1].Str()]++
	}
	return n
}

// whole checks that the audit finds nothing wrong.
func (w *world) whole() models.Audit {
	w.Helper()
	a := w.Audit(w.mb)
	if a.Dangling != 0 || a.Duplicated != 0 || a.BrokenBodies != 0 || a.CounterDrift != 0 {
		w.Errorf("audit: %+v", a)
	}
	return a
}

func TestPatterns(t *testing.T) {
	s, err := Model().Schema()
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Patterns(t, s, models.PatternsOf(&statements{}))
}

// TestStoredOnce delivers to three users and shows the email under a fourth
// label; then it takes label after label away.
func TestStoredOnce(t *testing.T) {
	w := start(t, models.Options{})
	a, b := w.user("a@example.org", "inbox", "work"), w.user("b@example.org", "inbox")
	c := w.user("c@example.org", "inbox")
	hs := w.deliver(a.Folders[0], b.Folders[0], c.Folders[0])
	labeled, err := w.mb.Label(t.Context(), a.Folders[0], hs[0], a.Folders[1], true)
	w.Must(err)
	emails := len(w.Rows("emails"))
	if emails != 1 {
		t.Errorf("%d emails are stored for one delivery, want 1", emails)
	}
	if audit := w.whole(); audit.Messages != 4 || audit.Unreferenced != 0 {
		t.Errorf("audit: %d messages, %d unreferenced, want 4 and 0", audit.Messages, audit.Unreferenced)
	}
	for i, f := range []*models.Folder{a.Folders[0], b.Folders[0], c.Folders[0]} {
		w.Must(w.mb.Delete(t.Context(), f, hs[i:i+1]))
	}
	var o models.Opened
	if err := w.mb.Open(t.Context(), a.Folders[1], labeled, &o); err != nil || string(o.Body) != "text" {
		t.Errorf("open under the last label: %q, %v", o.Body, err)
	}
	if _, err := w.mb.Label(t.Context(), a.Folders[1], labeled, a.Folders[1], false); err != nil {
		t.Fatal(err)
	}
	if audit := w.whole(); audit.Messages != 0 || audit.Unreferenced != 1 {
		t.Errorf("audit without labels: %d messages, %d unreferenced, want 0 and 1", audit.Messages, audit.Unreferenced)
	}
}

func TestAttachmentsOfAnUnreferencedEmailAreWhole(t *testing.T) {
	w := start(t, modeltest.Sized(100, 0))
	in := w.user("a@example.org", "inbox").Folders[0]
	h := w.deliverFile(in, make([]byte, 250))
	w.Must(w.mb.Delete(t.Context(), in, []models.Handle{h}))
	if audit := w.whole(); audit.Unreferenced != 1 {
		t.Errorf("audit: %d unreferenced, want the email, which counts for its attachments", audit.Unreferenced)
	}
}

// TestUncounted lets the counters fail once the index is written: the caller
// must not take the message for not delivered.
func TestUncounted(t *testing.T) {
	w := start(t, models.Options{})
	in := w.user("a@example.org", "inbox").Folders[0]
	broken := errors.New("broken")
	w.mb.S = failing{w.mb.S, "counters", broken}
	d := modeltest.Draft{Text: []byte("x")}
	err := w.mb.Deliver(t.Context(), d.Message(), []*models.Folder{in}, make([]models.Handle, 1))
	if !errors.Is(err, drivers.ErrUnknown) || !strings.Contains(err.Error(), broken.Error()) {
		t.Errorf("error is %v, want %q with its cause", err, drivers.ErrUnknown)
	}
	audit := w.Audit(w.mb)
	if audit.Messages != 1 || audit.CounterDrift != 2 {
		t.Errorf("audit: %d messages, drift %d, want 1 and 2 (unread, messages)", audit.Messages, audit.CounterDrift)
	}
}
