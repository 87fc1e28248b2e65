package modeltest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// script is a fixed sequence of all operations on one session. The steps
// of one kind begin with its name.
type script struct {
	*fixture
	*call
	out   strings.Builder
	meter drivers.Session
	calls []string // patterns run since the last step

	users []*models.Account // ann, bob and cat
	sent  []models.Handle   // messages of ann's inbox after all deliveries, newest first
}

func newScript(f *fixture) *script {
	sc := &script{fixture: f, meter: f.Session()}
	sc.meter.Watch(nil, sc.ran)
	sc.call = newCall(f.ctx, f.bound.Mailbox(sc.meter), &models.Account{Address: "nobody@example.org"})
	return sc
}

// Ran names the pattern that a statement runs, and says if it emulates one.
func Ran(st drivers.Statement) string {
	name := st.Pattern().Name
	switch p := st.Emulates(); {
	case p == st.Pattern():
		name += " (emulated)"
	case p != nil:
		name += " for " + p.Name
	}
	return name
}

// ran notes a pattern that ran.
func (sc *script) ran(st drivers.Statement, _ time.Duration, calls int64) {
	name := Ran(st)
	if calls > 1 {
		name += fmt.Sprintf(" (%d calls)", calls)
	}
	sc.calls = append(sc.calls, name)
}

// do runs an operation, if the model has it, and writes down what it cost.
func (sc *script) do(name, operation string, hs ...models.Handle) {
	sc.TB.Helper()
	op := the(operation)
	if !op.in(sc.mb) {
		return
	}
	sc.clock.advance(time.Second)
	sc.calls, sc.hs = sc.calls[:0], hs
	sc.meter.Take()
	switch err := op.run(sc.call); {
	case errors.Is(err, models.ErrNotOffered):
		name += " (not offered)"
	case errors.Is(err, models.ErrNotFound):
		name += " (not found)"
	case errors.Is(err, models.ErrExists):
		name += " (exists)"
	case err != nil:
		sc.TB.Fatalf("%s: %v", name, err)
	}
	c := sc.meter.Take()
	fmt.Fprintf(&sc.out, "%s: calls=%d rows_examined=%d rows_read=%d rows_written=%d bytes_read=%d bytes_written=%d\n",
		name, c.Requests, c.RowsScanned, c.RowsRead, c.RowsWritten, c.BytesRead, c.BytesWritten)
	for n := 0; len(sc.calls) > 0; sc.calls = sc.calls[n:] {
		times := ""
		for n = 1; n < len(sc.calls) && sc.calls[n] == sc.calls[0]; n++ {
			times = fmt.Sprintf("%d × ", n+1)
		}
		fmt.Fprintf(&sc.out, "\t%s%s\n", times, sc.calls[0])
	}
}

func (sc *script) run() {
	sc.TB.Helper()
	sc.accounts()
	sc.deliveries()
	sc.reads()
	sc.changes()
	sc.optional()
	sc.in, sc.a = sc.users[0].Folders[0], sc.users[0]
	for _, op := range []string{"stats", "folders"} {
		sc.do(op, op)
	}
}

func (sc *script) accounts() {
	nobody := sc.a
	for _, sc.who = range []string{"ann@example.org", "bob@example.org", "cat@example.org"} {
		sc.do("create user with 2 folders", "create user")
		sc.users = append(sc.users, sc.account)
	}
	sc.a = sc.users[0]
	sc.in, sc.to, sc.who, sc.names = sc.a.Folders[0], sc.a.Folder("Work"), sc.a.Address, []string{"INBOX"}
	sc.do("create user", "create user")
	sc.do("create folder", "create folder")
	sc.do("login", "login")
	sc.a = nobody
	sc.do("login", "login")
	sc.a = sc.users[0]
}

func (sc *script) deliveries() {
	files, big := sample(2), sample(3)
	files.Files = []File{
		{Name: "a.txt", Type: "text/plain", Encoding: mail.QuotedPrintable, Content: []byte("Grüße\n")},
		{Name: "b.bin", Encoding: mail.Base64, Content: noise(3000, 2)},
	}
	big.Files = []File{{Name: "big.bin", Encoding: mail.Base64, Content: noise(2_416_000, 3)}}
	for _, d := range []struct {
		name string
		Draft
		recipients int
	}{
		{"1 recipient, no attachment", sample(0), 1},
		{"3 recipients, no attachment", sample(1), 3},
		{"2 recipients, 2 small attachments", files, 2},
		{"1 recipient, attachment of 2416 KB", big, 1},
	} {
		sc.m, sc.folders = d.Message(), nil
		for _, a := range sc.users[:d.recipients] {
			sc.folders = append(sc.folders, a.Folders[0])
		}
		sc.do("deliver "+d.name, "deliver")
	}
	for n := 4; n < 30; n++ {
		sc.clock.advance(time.Second)
		sc.Must(sc.mb.Deliver(sc.ctx, sample(n).Message(), []*models.Folder{sc.in}, sc.made))
	}
	list := newCall(sc.ctx, sc.mb, sc.a)
	list.limit = 100
	for _, i := range list.do("list", the("list").run).items {
		sc.sent = append(sc.sent, i.entry.Handle)
	}
}

func (sc *script) reads() {
	ann := sc.in
	sc.do("list the first 25 of 30", "list")
	sc.after = sc.sent[24]
	sc.do("list the other 5", "list")
	sc.in, sc.after = sc.to, models.Handle{}
	sc.do("list an empty folder", "list")
	sc.in = ann

	var by [3]models.Handle // the newest without attachments, and those with one and two
	for _, h := range slices.Backward(sc.sent) {
		sc.Must(sc.mb.Open(sc.ctx, sc.in, h, sc.opened))
		by[len(sc.opened.Attachments)] = h
	}
	for _, m := range []struct {
		name, file string
		h          models.Handle
	}{
		{"without attachments", "", by[0]},
		{"with 2 attachments", "b.bin", by[2]},
		{"with an attachment of 2416 KB", "big.bin", by[1]},
	} {
		sc.do("open "+m.name, "open", m.h)
		sc.do("raw "+m.name, "raw", m.h)
		if sc.file = m.file; m.file != "" {
			sc.do("attachment "+m.file, "attachment", m.h)
		}
	}
	sc.off, sc.n = 2_000_000, 1000
	sc.do("raw range of 1000 bytes at 2000000", "range", by[1])
}

func (sc *script) changes() {
	h := sc.sent
	sc.do("flag seen", "flag", h[0])
	sc.do("flag seen again", "flag", h[0])
	sc.on = false
	sc.do("flag unseen", "flag", h[0])
	sc.on, sc.flag = true, models.Answered
	sc.do("flag answered", "flag", h[0])
	sc.flag = models.Seen
	sc.do("move 1", "move", h[1])
	sc.do("move 3", "move", h[2:5]...)
	sc.do("delete 1", "delete", h[5])
	sc.do("delete 3", "delete", h[6:9]...)
	for _, op := range []string{"open", "flag", "move", "delete"} {
		sc.do(op, op, h[5])
	}
}

func (sc *script) optional() {
	h := sc.sent
	sc.do("label", "label", h[10])
	sc.do("label again", "label", h[10])
	sc.on = false
	sc.do("unlabel", "label", h[10])
	sc.on = true
	sc.do("restore", "restore", h[6])
	sc.until = sc.clock.now().Add(time.Second)
	sc.do("purge 3", "purge")
	for _, op := range []string{"recount", "all mail", "totals", "nested"} {
		sc.do(op, op)
	}
	ann := sc.in
	sc.do("expunge 3", "expunge", h[11:14]...)
	sc.in = sc.users[1].Folders[0]
	sc.do("expunge all", "expunge")
	sc.in = ann
	if has[models.UserFlagger](sc.mb) {
		sc.flag = models.Deleted
		sc.do("flag deleted", "flag", h[16])
	}
	sc.do("user flag", "user flag", h[16])
	sc.name = "Work"
	sc.do("subscribe", "subscribe")
	sc.do("subscriptions", "subscriptions")
	sc.who, sc.until = "ann1@sender.example", start.Add(20*time.Second)
	for _, op := range []string{"by sender in a folder", "by sender everywhere", "slice"} {
		sc.do(op, op)
	}
	sc.who = "bob@example.org"
	sc.do("seen", "seen", h[12])
	sc.do("seen by", "seen by", h[12])
	sc.do("join", "join")
	sc.in = sc.folder
	sc.do("leave", "leave")
}

// testSeveralAtOnce moves and deletes 1, 10 and 100 messages. Before a model changes them it
// checks that all are there, and the number of requests for that is the same for any number of
// messages: models differ in what they write, and not in how well their checks were written.
// For a delete it is one request in every model, and none if the delete has a condition.
func testSeveralAtOnce(t *testing.T, s *suite) {
	var golden string
	checks := map[string]int64{"move": -1, "delete": 1}
	if s.Traits.DeletesIf {
		checks["delete"] = 0
	}
	for _, n := range []int{1, 10, 100} {
		sc := newScript(s.start(t, models.Options{}))
		a, err := sc.mb.CreateUser(sc.ctx, sc.at("ann"), sc.names)
		must(t, err)
		sc.in, sc.to, sc.folders = a.Folders[0], a.Folders[1], a.Folders[:1]
		hs := make([]models.Handle, n)
		for i := range hs {
			sc.clock.advance(time.Second)
			must(t, sc.mb.Deliver(sc.ctx, sample(i).Message(), sc.folders, hs[i:i+1]))
		}
		reads := int64(0)
		sc.meter.Watch(nil, func(st drivers.Statement, took time.Duration, calls int64) {
			sc.ran(st, took, calls)
			if p := st.Pattern(); p.Kind.Reads() && p.Name != s.Traits.MoveReads {
				reads += calls
			}
		})
		for _, op := range []string{"move", "delete"} {
			reads = 0
			sc.do(fmt.Sprintf("%s %d", op, n), op, hs...)
			if want := checks[op]; want >= 0 && reads != want {
				t.Errorf("a %s of %d messages makes %d reads, want %d", op, n, reads, want)
			}
			checks[op], hs, sc.in = reads, slices.Clone(sc.made[:n]), sc.to
		}
		golden += sc.out.String()
	}
	s.compare(t, "several.golden", golden)
}

// testManyRecipients delivers messages from 4 KB to 1 MB to 12 folders: how their rows are divided into batches is part
// of what a delivery costs.
func testManyRecipients(t *testing.T, s *suite) {
	sc := newScript(s.start(t, models.Options{}))
	for i := range 12 {
		a, err := sc.mb.CreateUser(sc.ctx, sc.at(fmt.Sprintf("user%02d", i)), []string{"INBOX"})
		must(t, err)
		sc.folders = append(sc.folders, a.Folders[0])
	}
	for _, size := range []int{4_000, 40_000, 400_000, 1_000_000} {
		draft := sample(size)
		draft.Text = noise(size, 1)
		sc.m = draft.Message()
		sc.do(fmt.Sprintf("deliver %d KB to %d", size/1000, len(sc.folders)), "deliver")
	}
	s.compare(t, "recipients.golden", sc.out.String())
}

// Patterns checks that a model prepares every pattern that its schema declares, and for no
// other. Preparing a pattern covers its parts and its fallback.
func Patterns(t testing.TB, s *schemas.Schema, prepared []string) {
	t.Helper()
	for i := 0; i < len(prepared); i++ { // it grows
		p := s.Pattern(prepared[i])
		if p == nil {
			t.Errorf("the model prepares pattern %s, which schema %s does not declare", prepared[i], s.Name)
			continue
		}
		for _, part := range p.Parts {
			prepared = append(prepared, part.Pattern.Name)
		}
		if p.Fallback != nil {
			prepared = append(prepared, p.Fallback.Name)
		}
	}
	for _, p := range s.Patterns {
		if !slices.Contains(prepared, p.Name) {
			t.Errorf("%s:%d: pattern %s is run by nothing", s.File, p.Pos.Line, p.Name)
		}
	}
}

var update = flag.Bool("update-contract", false, "rewrite the golden files of testdata/contract")

// compare compares text with a golden file.
func (s *suite) compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(s.golden, "testdata", "contract", name)
	if *update {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -run %s -update-contract writes it", err, t.Name())
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Fatalf("%s is not what this run gives (-want, +got); -update-contract if that is right:\n%s", path, diff)
	}
}
