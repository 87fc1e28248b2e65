package modeltest

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cut"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// victim is the data on which an operation is killed: three messages in the inboxes of ann
// and bob.
type victim struct {
	*fixture
	mb       models.Mailbox
	ann, bob *models.Account
	hs       []models.Handle // messages of ann's inbox
}

func newVictim(t *testing.T, s *suite) *victim {
	f := s.start(t, Sized(1000, 2))
	v := &victim{fixture: f, mb: f.mailbox()}
	var err error
	v.ann, err = v.mb.CreateUser(f.ctx, f.at("ann"), []string{"INBOX", "Work"})
	v.Must(err)
	v.bob, err = v.mb.CreateUser(f.ctx, f.at("bob"), []string{"INBOX", "Work"})
	v.Must(err)
	for n := range 3 {
		h := make([]models.Handle, 2)
		v.Must(v.mb.Deliver(f.ctx, bulky(n), []*models.Folder{v.ann.Folders[0], v.bob.Folders[0]}, h))
		v.hs = append(v.hs, h[0])
		f.clock.advance(1e9)
	}
	return v
}

// call is what the operation is run with, on a mailbox.
func (v *victim) call(op interruption, mb models.Mailbox) *call {
	c := newCall(v.ctx, mb, v.ann)
	c.who, c.m, c.hs = v.at("cat"), bulky(3), v.hs[1:1+op.messages]
	c.on, c.until = op.name != "unlabel" || mb == v.mb, v.clock.now().AddDate(1, 0, 0)
	if op.name == "deliver to 2" {
		c.folders = append(slices.Clone(c.folders), v.bob.Folders[0])
	}
	return c
}

// bulky is a message of several chunks.
func bulky(n int) *mail.Message {
	d := sample(n)
	d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(1500, n)}}
	return d.Message()
}

// interruption is an operation that is killed, on up to two of the messages.
type interruption struct {
	name      string
	operation string
	messages  int
	prepare   string // another operation, which is not killed
}

// interruptions are the operations to kill, in the order of the golden file.
var interruptions = []interruption{
	{"create user", "create user", 0, ""},
	{"create folder", "create folder", 0, ""},
	{"deliver to 1", "deliver", 0, ""},
	{"deliver to 2", "deliver", 0, ""},
	{"flag", "flag", 1, ""},
	{"move 1", "move", 1, ""},
	{"move 2", "move", 2, ""},
	{"delete 1", "delete", 1, ""},
	{"delete 2", "delete", 2, ""},
	{"label", "label", 1, ""},
	{"unlabel", "label", 1, "label"},
	{"restore", "restore", 1, "delete"},
	{"purge", "purge", 1, "delete"},
	{"expunge 2", "expunge", 2, ""},
}

// several reports whether the operation changes several messages. It is no fault if it
// has changed some of them.
func (op interruption) several() bool {
	return op.name == "create user" || strings.HasSuffix(op.name, " 2")
}

// outcome is the state of a victim after an operation: what its owners see, line by
// line, and what the audit counts.
type outcome struct {
	view  []string
	audit models.Audit
	made  []string // patterns of the writes
	err   error    // the operation's error
}

// interrupt runs an operation and kills it after some writes, or refuses the next
// write. With -1 it runs the operation to its end.
func interrupt(t *testing.T, s *suite, op interruption, after int, refuses bool) (o outcome) {
	t.Helper()
	v := newVictim(t, s)
	if op.prepare != "" {
		v.Must(the(op.prepare).run(v.call(op, v.mb)))
	}
	k := &cut.Session{Session: v.Session(), After: after, Refuses: refuses}
	if o.err = the(op.operation).run(v.call(op, v.bound.Mailbox(k))); after < 0 {
		v.Must(o.err)
	}
	// Another process reads the state.
	v.opts.Node++
	mb := v.Bind(v.opts).Mailbox(v.Session())
	o.made, o.view = k.Made, v.view(mb, "ann", "bob", "cat")
	for _, line := range o.view {
		if strings.Contains(line, unreadable) {
			t.Errorf("%s killed after %d writes: %s", op.name, after, line)
		}
	}
	var err error
	o.audit, err = mb.Audit(v.ctx)
	v.Must(err)
	return o
}

// unreadable is in a line of a view for a message that a folder shows and that cannot be opened.
const unreadable = "unreadable"

// view returns what the owners of accounts see: numbers of folders, and all that can be read of each message.
func (f *fixture) view(mb models.Mailbox, names ...string) (lines []string) {
	f.TB.Helper()
	var o models.Opened
	for i, name := range names {
		a, err := mb.Login(f.ctx, f.at(name))
		if errors.Is(err, models.ErrNotFound) {
			continue
		}
		f.Must(err)
		lines = append(lines, fmt.Sprintf("account %d", i))
		for _, in := range a.Folders {
			st, err := mb.Stats(f.ctx, in)
			f.Must(err)
			lines = append(lines, fmt.Sprintf("account %d's %s: %+v", i, in.Name, st))
			es, err := pages(f.ctx, mb, in, models.Handle{}, 25, 100)
			f.Must(err)
			for _, e := range es {
				line := fmt.Sprintf("account %d's %s shows, seen %t: ", i, in.Name, e.Seen)
				err := mb.Open(f.ctx, in, e.Handle, &o)
				if errors.Is(err, models.ErrNotFound) || errors.Is(err, models.ErrBroken) {
					lines = append(lines, line+unreadable)
					continue
				}
				f.Must(err)
				raw := crc32.NewIEEE()
				for _, a := range o.Attachments {
					_, err := mb.Attachment(f.ctx, in, e.Handle, a.Name, raw)
					f.Must(err)
				}
				if _, err := mb.Raw(f.ctx, in, e.Handle, raw); !errors.Is(err, models.ErrNotOffered) {
					f.Must(err)
				}
				lines = append(lines, fmt.Sprintf("%s%q, flags %b, bytes %x", line, o.Body, o.Flags, raw.Sum32()))
			}
		}
	}
	return lines
}

// wrong returns what an audit counts beyond another, or "".
func wrong(a, before models.Audit) string {
	var words []string
	was := countsOf(before)
	for i, c := range countsOf(a) {
		if c != was[i] {
			words = append(words, fmt.Sprintf("%s %+d", c.what, c.n-was[i].n))
		}
	}
	return strings.Join(words, ", ")
}

// testInterrupted kills every operation after each of its writes, on the embedded engine and
// on the limited ones. A golden file has the faults that the audit then counts. The package
// comment of the model explains them. Users who take no part in the operation must see no
// difference. If the audit finds no fault, the operation must be complete or have changed
// nothing.
func testInterrupted(t *testing.T, s Suite) {
	for _, e := range append(limitedEngines, limitedEngine{Engine: pebble.Engine()}) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			schema, err := s.Model.Schema()
			must(t, err)
			st := openEmbedded(t, schema)
			if e.limits != nil {
				st = e.as(t, st, schema)
			}
			s := s.onShared(t, st)
			var out strings.Builder
			offered := s.start(t, models.Options{}).mailbox()
			for _, op := range interruptions {
				if the(op.operation).in(offered) {
					killEverywhere(t, s, op, &out)
				}
			}
			s.compare(t, "interrupted-"+e.Name+".golden", out.String())
		})
	}
}

func killEverywhere(t *testing.T, s *suite, op interruption, out io.Writer) {
	t.Helper()
	before, after := interrupt(t, s, op, 0, false), interrupt(t, s, op, -1, false)
	fmt.Fprintf(out, "%s: %d writes\n", op.name, len(after.made))
	for n := range after.made {
		if n == 0 || after.made[n] != after.made[n-1] { // of several equal writes, one is enough
			refuse(t, s, op, n, before, after)
		}
		if n == 0 {
			continue
		}
		got := interrupt(t, s, op, n, false)
		if got.err == nil {
			t.Errorf("%s killed after %d writes returned no error", op.name, n)
		}
		w := wrong(got.audit, before.audit)
		if w == "" {
			w = "as before"
		}
		fmt.Fprintf(out, "\tafter %s: %s\n", got.made[n-1], w)
		for _, line := range before.view {
			if slices.Contains(after.view, line) && !slices.Contains(got.view, line) {
				t.Errorf("%s killed after %d writes: %s: not so any more", op.name, n, line)
			}
		}
		whole := len(faults(got.audit)) == 0 && got.audit.Unreferenced == before.audit.Unreferenced
		if !op.several() && whole && !slices.Equal(got.view, before.view) && !slices.Equal(got.view, after.view) {
			t.Errorf("%s killed after %d writes (%s): the audit finds nothing wrong with\n%s", op.name, n, got.made[n-1],
				strings.Join(got.view, "\n"))
		}
	}
	if w := wrong(after.audit, before.audit); w != "" {
		fmt.Fprintf(out, "\tafter all: %s\n", w)
	}
}

// refuse refuses one write. If the operation does not return ErrUnknown, it must have
// changed nothing.
func refuse(t *testing.T, s *suite, op interruption, n int, before, after outcome) {
	t.Helper()
	got := interrupt(t, s, op, n, true)
	switch {
	case got.err == nil:
		t.Errorf("%s with write %d (%s) refused returned no error", op.name, n, after.made[n])
	case errors.Is(got.err, drivers.ErrUnknown):
	case !slices.Equal(got.view, before.view):
		t.Errorf("%s with write %d (%s) refused: %v, which is not unknown; and yet there is\n%s",
			op.name, n, after.made[n], got.err, strings.Join(got.view, "\n"))
	}
	for _, f := range faults(got.audit) {
		if !errors.Is(got.err, drivers.ErrUnknown) {
			t.Errorf("%s with write %d (%s) refused: %v, which is not unknown; and yet %s",
				op.name, n, after.made[n], got.err, f)
		}
	}
}
