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
	mb        models.Mailbox
	ann, bob  *models.Account
	in, work  *models.Folder  // ann's inbox and Work
	hs        []models.Handle // messages of in
	operating models.Mailbox  // mailbox on the session that is killed
}

func (v *victim) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

func newVictim(t *testing.T, s *suite) *victim {
	f := s.start(t, Sized(1000, 2))
	v := &victim{fixture: f, mb: f.mailbox()}
	var err error
	v.ann, err = v.mb.CreateUser(f.ctx, f.at("ann"), []string{"INBOX", "Work"})
	v.must(err)
	v.bob, err = v.mb.CreateUser(f.ctx, f.at("bob"), []string{"INBOX", "Work"})
	v.must(err)
	v.in, v.work = v.ann.Folders[0], v.ann.Folders[1]
	for n := range 3 {
		h := make([]models.Handle, 2)
		v.must(v.mb.Deliver(f.ctx, bulky(n), []*models.Folder{v.in, v.bob.Folders[0]}, h))
		v.hs = append(v.hs, h[0])
		f.clock.advance(1e9)
	}
	return v
}

// bulky is a message of several chunks.
func bulky(n int) *mail.Message {
	d := sample(n)
	d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(1500, n)}}
	return d.Message()
}

// interruptions returns the operations to kill, in the order of the golden file. Their
// preparation is not killed.
func interruptions(offered models.Mailbox) []interruption {
	moved := make([]models.Handle, 3)
	ops := []interruption{
		{"create user", nil, func(v *victim) error {
			_, err := v.operating.CreateUser(v.ctx, v.at("cat"), []string{"INBOX", "Work"})
			return err
		}},
		{"create folder", nil, func(v *victim) error {
			_, err := v.operating.CreateFolder(v.ctx, v.ann, "More")
			return err
		}},
		{"deliver to 1", nil, func(v *victim) error {
			return v.operating.Deliver(v.ctx, bulky(3), []*models.Folder{v.in}, moved)
		}},
		{"deliver to 2", nil, func(v *victim) error {
			return v.operating.Deliver(v.ctx, bulky(3), []*models.Folder{v.in, v.bob.Folders[0]}, moved)
		}},
		{"flag", nil, func(v *victim) error { return v.operating.Flag(v.ctx, v.in, v.hs[1], models.Seen, true) }},
		{"move 1", nil, func(v *victim) error { return v.operating.Move(v.ctx, v.in, v.work, v.hs[1:2], moved) }},
		{"move 2", nil, func(v *victim) error { return v.operating.Move(v.ctx, v.in, v.work, v.hs[1:], moved) }},
		{"delete 1", nil, func(v *victim) error { return v.operating.Delete(v.ctx, v.in, v.hs[1:2]) }},
		{"delete 2", nil, func(v *victim) error { return v.operating.Delete(v.ctx, v.in, v.hs[1:]) }},
	}
	if has[models.Labeler](offered) {
		label := func(on bool) func(*victim, models.Mailbox) error {
			return func(v *victim, mb models.Mailbox) error {
				_, err := mb.(models.Labeler).Label(v.ctx, v.in, v.hs[1], v.work, on)
				return err
			}
		}
		ops = append(ops, interruption{"label", nil, func(v *victim) error { return label(true)(v, v.operating) }},
			interruption{
				"unlabel", func(v *victim) error { return label(true)(v, v.mb) },
				func(v *victim) error { return label(false)(v, v.operating) },
			})
	}
	if has[models.Purger](offered) {
		discard := func(v *victim) error { return v.mb.Delete(v.ctx, v.in, v.hs[1:2]) }
		ops = append(ops, interruption{"restore", discard, func(v *victim) error {
			return v.operating.(models.Purger).Restore(v.ctx, v.ann, v.hs[1])
		}}, interruption{"purge", discard, func(v *victim) error {
			_, err := v.operating.(models.Purger).Purge(v.ctx, v.ann, v.clock.now().AddDate(1, 0, 0))
			return err
		}})
	}
	if has[models.UIDs](offered) {
		ops = append(ops, interruption{"expunge 2", nil, func(v *victim) error {
			u := v.operating.(models.UIDs)
			_, err := u.Expunge(v.ctx, v.in, u.UID(v.hs[1]), u.UID(v.hs[2]))
			return err
		}})
	}
	return ops
}

type interruption struct {
	name    string
	prepare func(*victim) error
	run     func(*victim) error
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
	if op.prepare != nil {
		v.must(op.prepare(v))
	}
	k := &cut.Session{Session: v.session(), After: after, Refuses: refuses}
	v.operating = v.bound.Mailbox(k)
	if o.err = op.run(v); after < 0 {
		v.must(o.err)
	}
	// Another process reads the state.
	v.opts.Node++
	mb := v.mailboxOf(v.bind(v.opts))
	o.made, o.view = k.Made, v.view(mb)
	var err error
	o.audit, err = mb.Audit(v.ctx)
	v.must(err)
	return o
}

// view returns everything that the owners of the accounts see.
func (v *victim) view(mb models.Mailbox) (lines []string) {
	v.t.Helper()
	var o models.Opened
	for _, name := range []string{"ann", "bob", "cat"} {
		a, err := mb.Login(v.ctx, v.at(name))
		if errors.Is(err, models.ErrNotFound) {
			continue
		}
		v.must(err)
		lines = append(lines, name)
		for _, f := range a.Folders {
			where := name + "'s " + f.Name
			st, err := mb.Stats(v.ctx, f)
			v.must(err)
			lines = append(lines, fmt.Sprintf("%s: %+v", where, st))
			es, err := pages(v.ctx, mb, f, models.Handle{}, 25, 100)
			v.must(err)
			for _, e := range es {
				v.must(mb.Open(v.ctx, f, e.Handle, &o))
				file := crc32.NewIEEE()
				_, err := mb.Attachment(v.ctx, f, e.Handle, "f", file)
				v.must(err)
				raw := crc32.NewIEEE()
				if _, err := mb.Raw(v.ctx, f, e.Handle, raw); !errors.Is(err, models.ErrNotOffered) {
					v.must(err)
				}
				lines = append(lines, fmt.Sprintf("%s shows %q, flags %b, seen %t, attachment %x, raw %x", where, o.Body,
					o.Flags, e.Seen, file.Sum32(), raw.Sum32()))
			}
		}
	}
	return lines
}

// wrong returns the faults that an audit counts beyond another, or "".
func wrong(a, before models.Audit) string {
	var words []string
	for _, c := range []count{
		{"accounts", a.Accounts, before.Accounts},
		{"folders", a.Folders, before.Folders},
		{"messages", a.Messages, before.Messages},
		{"deleted", a.Deleted, before.Deleted},
		{"unreferenced", a.Unreferenced, before.Unreferenced},
		{"broken references", a.Dangling, before.Dangling},
		{"duplicated", a.Duplicated, before.Duplicated},
		{"broken bodies", a.BrokenBodies, before.BrokenBodies},
		{"counter drift", a.CounterDrift, before.CounterDrift},
	} {
		if c.got != c.want {
			words = append(words, fmt.Sprintf("%s %+d", c.what, c.got-c.want))
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
	embedded := limitedEngine{"embedded", func(st drivers.Store) drivers.Store { return st }}
	for _, e := range append(limitedEngines(), embedded) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			st, err := pebble.Engine().Open(t.Context(), drivers.Options{
				Dir:        t.TempDir() + "/data",
				Durability: drivers.Process,
			})
			if err != nil {
				t.Fatalf("open the embedded engine: %v", err)
			}
			t.Cleanup(func() { st.Close() })
			s := s.onShared(t, e.as(st))
			var out strings.Builder
			for _, op := range interruptions(s.start(t, models.Options{}).mailbox()) {
				killEverywhere(t, s, op, &out)
			}
			s.compare(t, "interrupted-"+e.name+".golden", out.String())
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
		if !op.several() && whole(got.audit, before.audit) && !slices.Equal(got.view, before.view) &&
			!slices.Equal(got.view, after.view) {
			t.Errorf("%s killed after %d writes (%s): the audit finds nothing wrong with\n%s", op.name, n, got.made[n-1],
				strings.Join(got.view, "\n"))
		}
	}
	if w := wrong(after.audit, before.audit); w != "" {
		fmt.Fprintf(out, "\tafter all: %s\n", w)
	}
}

// whole reports whether an audit finds nothing wrong that another did not.
func whole(a, before models.Audit) bool {
	return a.Unreferenced == before.Unreferenced && !slices.ContainsFunc(broken(a),
		func(c count) bool { return c.got != 0 })
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
	for _, c := range broken(got.audit) {
		if c.got != 0 && !errors.Is(got.err, drivers.ErrUnknown) {
			t.Errorf("%s with write %d (%s) refused: %v, which is not unknown; and yet %d %s", op.name, n, after.made[n],
				got.err, c.got, c.what)
		}
	}
}
