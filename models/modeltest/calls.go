package modeltest

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
)

// testCalls compares the store calls of every operation, and all tables after them, with
// golden files.
func testCalls(t *testing.T, s *suite) {
	f := s.start(t, models.Options{})
	sc := newScript(f)
	sc.run()
	s.compare(t, "calls.golden", sc.out.String())
	s.compare(t, "tables.golden", f.dump())
}

// script is a fixed sequence of all operations on a metered session. The steps
// of one kind begin with its name.
type script struct {
	*fixture
	out   strings.Builder
	meter *drivers.Meter
	calls []string // patterns run since the last step
	mb    models.Mailbox

	ann, bob, cat *models.Account
	in, work      *models.Folder  // ann's inbox and Work
	hs            []models.Handle // messages of ann's inbox after all deliveries, newest first
}

func newScript(f *fixture) *script {
	sc := &script{fixture: f, meter: drivers.NewMeter(f.session())}
	sc.meter.Trace = func(st drivers.Statement, calls int64) {
		name := st.Pattern().Name
		switch p := st.Emulates(); {
		case p == st.Pattern():
			name += " (emulated)"
		case p != nil:
			name += " for " + p.Name
		}
		if calls > 1 {
			name += fmt.Sprintf(" (%d calls)", calls)
		}
		sc.calls = append(sc.calls, name)
	}
	sc.mb = f.bound.Mailbox(sc.meter)
	return sc
}

// step runs one operation and writes down what it cost.
func (sc *script) step(name string, op func() error) {
	sc.t.Helper()
	sc.clock.advance(time.Second)
	sc.calls = sc.calls[:0]
	sc.meter.Take()
	err := op()
	switch {
	case errors.Is(err, models.ErrNotOffered):
		name += " (not offered)"
	case errors.Is(err, models.ErrNotFound):
		name += " (not found)"
	case errors.Is(err, models.ErrExists):
		name += " (exists)"
	case err != nil:
		sc.t.Fatalf("%s: %v", name, err)
	}
	c := sc.meter.Take()
	fmt.Fprintf(&sc.out, "%s: calls=%d rows_examined=%d rows_read=%d rows_written=%d bytes_read=%d bytes_written=%d\n",
		name, c.Calls, c.RowsExamined, c.RowsRead, c.RowsWritten, c.BytesRead, c.BytesWritten)
	for len(sc.calls) > 0 {
		n := 1
		for n < len(sc.calls) && sc.calls[n] == sc.calls[0] {
			n++
		}
		if n > 1 {
			fmt.Fprintf(&sc.out, "\t%d × %s\n", n, sc.calls[0])
		} else {
			fmt.Fprintf(&sc.out, "\t%s\n", sc.calls[0])
		}
		sc.calls = sc.calls[n:]
	}
}

func (sc *script) deliver(name string, d Draft, to ...*models.Folder) {
	sc.t.Helper()
	hs := make([]models.Handle, len(to))
	sc.step("deliver "+name, func() error { return sc.mb.Deliver(sc.ctx, d.Message(), to, hs) })
}

func (sc *script) run() {
	sc.t.Helper()
	sc.accounts()
	sc.deliveries()
	sc.reads()
	sc.changes()
	sc.optional()
	sc.step("stats", func() error {
		_, err := sc.mb.Stats(sc.ctx, sc.in)
		return err
	})
	sc.step("folders", func() error {
		return sc.mb.Folders(sc.ctx, sc.ann, func(models.FolderInfo) error { return nil })
	})
	sc.step("audit", func() error {
		_, err := sc.mb.Audit(sc.ctx)
		return err
	})
}

func (sc *script) accounts() {
	for _, u := range []struct {
		address string
		a       **models.Account
	}{{"ann@example.org", &sc.ann}, {"bob@example.org", &sc.bob}, {"cat@example.org", &sc.cat}} {
		sc.step("create user with 2 folders", func() (err error) {
			*u.a, err = sc.mb.CreateUser(sc.ctx, u.address, []string{"INBOX", "Work"})
			return err
		})
	}
	sc.step("create user", func() error {
		_, err := sc.mb.CreateUser(sc.ctx, "ann@example.org", []string{"INBOX"})
		return err
	})
	sc.step("create folder", func() error {
		_, err := sc.mb.CreateFolder(sc.ctx, sc.ann, "Archive")
		return err
	})
	sc.step("login", func() error {
		_, err := sc.mb.Login(sc.ctx, "ann@example.org")
		return err
	})
	sc.step("login", func() error {
		_, err := sc.mb.Login(sc.ctx, "nobody@example.org")
		return err
	})
	sc.in, sc.work = sc.ann.Folders[0], sc.ann.Folder("Work")
}

func (sc *script) deliveries() {
	sc.deliver("1 recipient, no attachment", sample(0), sc.in)
	sc.deliver("3 recipients, no attachment", sample(1), sc.in, sc.bob.Folders[0], sc.cat.Folders[0])
	files := sample(2)
	files.Files = []File{
		{Name: "a.txt", Type: "text/plain", Encoding: mail.QuotedPrintable, Content: []byte("Grüße\n")},
		{Name: "b.bin", Encoding: mail.Base64, Content: noise(3000, 2)},
	}
	sc.deliver("2 recipients, 2 small attachments", files, sc.in, sc.bob.Folders[0])
	big := sample(3)
	big.Files = []File{{Name: "big.bin", Encoding: mail.Base64, Content: noise(2_416_000, 3)}}
	sc.deliver("1 recipient, attachment of 2416 KB", big, sc.in)
	for n := 4; n < 30; n++ {
		sc.clock.advance(time.Second)
		if err := sc.mb.Deliver(sc.ctx, sample(n).Message(), []*models.Folder{sc.in}, make([]models.Handle, 1)); err != nil {
			sc.t.Fatalf("deliver: %v", err)
		}
	}
	if err := sc.mb.List(sc.ctx, sc.in, models.Handle{}, 100, func(e *models.Entry) error {
		sc.hs = append(sc.hs, e.Handle)
		return nil
	}); err != nil {
		sc.t.Fatalf("list: %v", err)
	}
}

func (sc *script) reads() {
	var last models.Handle
	keep := func(e *models.Entry) error {
		last = e.Handle
		return nil
	}
	sc.step("list the first 25 of 30", func() error { return sc.mb.List(sc.ctx, sc.in, models.Handle{}, 25, keep) })
	sc.step("list the other 5", func() error { return sc.mb.List(sc.ctx, sc.in, last, 25, keep) })
	sc.step("list an empty folder", func() error { return sc.mb.List(sc.ctx, sc.work, models.Handle{}, 25, keep) })

	var o models.Opened
	var withFiles, withBig models.Handle
	for _, h := range sc.hs {
		if err := sc.mb.Open(sc.ctx, sc.in, h, &o); err != nil {
			sc.t.Fatalf("open: %v", err)
		}
		switch len(o.Attachments) {
		case 1:
			withBig = h
		case 2:
			withFiles = h
		}
	}
	plain := sc.hs[slices.IndexFunc(sc.hs, func(h models.Handle) bool { return h != withFiles && h != withBig })]
	for _, m := range []struct {
		name, file string
		h          models.Handle
	}{{"without attachments", "", plain}, {"with 2 attachments", "b.bin", withFiles}, {
		"with an attachment of 2416 KB",
		"big.bin", withBig,
	}} {
		sc.step("open "+m.name, func() error { return sc.mb.Open(sc.ctx, sc.in, m.h, &o) })
		sc.step("raw "+m.name, func() error {
			_, err := sc.mb.Raw(sc.ctx, sc.in, m.h, io.Discard)
			return err
		})
		if m.file != "" {
			sc.step("attachment "+m.file, func() error {
				_, err := sc.mb.Attachment(sc.ctx, sc.in, m.h, m.file, io.Discard)
				return err
			})
		}
	}
	if r, ok := sc.mb.(models.RangeReader); ok {
		sc.step("raw range of 1000 bytes at 2000000", func() error {
			_, err := r.RawRange(sc.ctx, sc.in, withBig, 2_000_000, 1000, io.Discard)
			return err
		})
	}
}

func (sc *script) changes() {
	h := sc.hs
	for _, flag := range []struct {
		name string
		flag models.Flag
		on   bool
	}{{"seen", models.Seen, true}, {"seen again", models.Seen, true}, {"unseen", models.Seen, false}, {
		"answered",
		models.Answered, true,
	}} {
		sc.step("flag "+flag.name, func() error { return sc.mb.Flag(sc.ctx, sc.in, h[0], flag.flag, flag.on) })
	}
	moved := make([]models.Handle, 3)
	sc.step("move 1", func() error { return sc.mb.Move(sc.ctx, sc.in, sc.work, h[1:2], moved) })
	sc.step("move 3", func() error { return sc.mb.Move(sc.ctx, sc.in, sc.work, h[2:5], moved) })
	sc.step("delete 1", func() error { return sc.mb.Delete(sc.ctx, sc.in, h[5:6]) })
	sc.step("delete 3", func() error { return sc.mb.Delete(sc.ctx, sc.in, h[6:9]) })
	var o models.Opened
	sc.step("open", func() error { return sc.mb.Open(sc.ctx, sc.in, h[5], &o) })
	sc.step("flag", func() error { return sc.mb.Flag(sc.ctx, sc.in, h[5], models.Seen, true) })
	sc.step("move", func() error { return sc.mb.Move(sc.ctx, sc.in, sc.work, h[5:6], moved) })
	sc.step("delete", func() error { return sc.mb.Delete(sc.ctx, sc.in, h[5:6]) })
}

func (sc *script) optional() {
	h := sc.hs
	if l, ok := sc.mb.(models.Labeler); ok {
		for _, step := range []struct {
			name string
			on   bool
		}{{"label", true}, {"label again", true}, {"unlabel", false}} {
			sc.step(step.name, func() error {
				_, err := l.Label(sc.ctx, sc.in, h[10], sc.work, step.on)
				return err
			})
		}
	}
	if p, ok := sc.mb.(models.Purger); ok {
		sc.step("restore", func() error { return p.Restore(sc.ctx, sc.ann, h[6]) })
		sc.step("purge 3", func() error {
			_, err := p.Purge(sc.ctx, sc.ann, sc.clock.now())
			return err
		})
	}
	if r, ok := sc.mb.(models.Recounter); ok {
		sc.step("recount", func() error { return r.Recount(sc.ctx, sc.ann) })
	}
	if l, ok := sc.mb.(models.AllMailer); ok {
		sc.step("all mail", func() error {
			return sc.mb.List(sc.ctx, l.AllMail(sc.ann), models.Handle{}, 25, func(*models.Entry) error { return nil })
		})
		sc.step("totals", func() error {
			_, err := sc.mb.Stats(sc.ctx, l.AllMail(sc.ann))
			return err
		})
	}
	if n, ok := sc.mb.(models.Nester); ok {
		sc.step("nested", func() error {
			return n.Nested(sc.ctx, sc.ann, func(string, *models.Entry) error { return nil })
		})
	}
	if u, ok := sc.mb.(models.UIDs); ok {
		sc.step("expunge 3", func() error {
			_, err := u.Expunge(sc.ctx, sc.in, u.UID(h[13]), u.UID(h[11]))
			return err
		})
		sc.step("expunge all", func() error {
			_, err := u.Expunge(sc.ctx, sc.bob.Folders[0], 0, 0)
			return err
		})
	}
	if u, ok := sc.mb.(models.UserFlagger); ok {
		sc.step("flag deleted", func() error { return sc.mb.Flag(sc.ctx, sc.in, h[16], models.Deleted, true) })
		sc.step("user flag", func() error { return u.UserFlag(sc.ctx, sc.in, h[16], "$Forwarded", true) })
	}
	if s, ok := sc.mb.(models.Subscriber); ok {
		sc.step("subscribe", func() error { return s.Subscribe(sc.ctx, sc.ann, "Work", true) })
		sc.step("subscriptions", func() error {
			return s.Subscriptions(sc.ctx, sc.ann, func(string) error { return nil })
		})
	}
	yield := func(*models.Entry) error { return nil }
	if s, ok := sc.mb.(models.SenderSearcher); ok {
		sc.step("by sender in a folder", func() error { return s.BySender(sc.ctx, sc.in, "ann1@sender.example", 25, yield) })
		sc.step("by sender everywhere", func() error { return s.BySender(sc.ctx, nil, "ann1@sender.example", 25, yield) })
	}
	if s, ok := sc.mb.(models.Slicer); ok {
		sc.step("slice", func() error { return s.Slice(sc.ctx, sc.in, start, start.Add(20*time.Second), 25, yield) })
	}
	if s, ok := sc.mb.(models.Seer); ok {
		sc.step("seen", func() error { return s.Seen(sc.ctx, sc.in, h[12], "bob@example.org") })
		sc.step("seen by", func() error { return s.SeenBy(sc.ctx, sc.in, h[12], func(string) error { return nil }) })
	}
	if p, ok := sc.mb.(models.Poster); ok {
		var joined *models.Folder
		sc.step("join", func() error {
			f, err := p.Join(sc.ctx, &models.Account{Address: "dan@example.org"}, sc.work)
			joined = f
			return err
		})
		sc.step("leave", func() error { return p.Leave(sc.ctx, joined) })
	}
}

// Patterns checks that a model asks for every pattern that its schema declares, and for no
// other. Asking for a pattern covers its parts and its fallback.
func Patterns(t testing.TB, s *schemas.Schema, asked []string) {
	t.Helper()
	reached := map[string]bool{}
	var reach func(p *schemas.Pattern)
	reach = func(p *schemas.Pattern) {
		reached[p.Name] = true
		for _, part := range p.Parts {
			reach(part.Pattern)
		}
		if p.Fallback != nil {
			reach(p.Fallback)
		}
	}
	for _, name := range asked {
		p := s.Pattern(name)
		if p == nil {
			t.Errorf("the model asks for pattern %s, which schema %s does not declare", name, s.Name)
			continue
		}
		reach(p)
	}
	for _, p := range s.Patterns {
		if !reached[p.Name] {
			t.Errorf("%s:%d: pattern %s is run by nothing", s.File, p.Pos.Line, p.Name)
		}
	}
}

var update = flag.Bool("update-contract", false, "rewrite the golden files of testdata/contract")

// compare compares text with a golden file. If they differ, it writes the text beside the file.
func (s *suite) compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(s.golden, "testdata", "contract", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -run %s -update-contract writes it", err, t.Name())
	}
	if got == string(want) {
		return
	}
	beside := path + ".new"
	if !s.faulty {
		if err := os.WriteFile(beside, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s:%d: %s\nwant: %s\nall of it is in %s; -update-contract if it is right", path, i+1, g[i], w[i], beside)
		}
	}
	t.Fatalf("%s: %d lines, want %d; all of it is in %s", path, len(g), len(w), beside)
}
