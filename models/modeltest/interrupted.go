package modeltest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cut"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// scene is a store on which operations are interrupted or interleaved, each time on new accounts. One process makes
// the accounts, and another one looks at them afterwards.
type scene struct {
	*fixture
	makes, looks models.Mailbox
	last         models.Audit // what the last look has counted
	round        int
	accounts     []*models.Account // of this round
	hs           []models.Handle   // messages of the first one's inbox
}

func newScene(t *testing.T, s *suite, o models.Options) *scene {
	t.Helper()
	f := s.start(t, o)
	sc := &scene{fixture: f, makes: f.mailbox()}
	sc.looks = sc.process().Mailbox(f.Session())
	return sc
}

// process binds the model as another process does.
func (sc *scene) process() models.Bound {
	sc.opts.Node += 1 << 20
	return sc.Bind(sc.opts)
}

// address is that of an account of this round.
func (sc *scene) address(name string) string { return sc.at(fmt.Sprintf("%s%d", name, sc.round)) }

// fill makes new accounts, and delivers messages to their inboxes.
func (sc *scene) fill(names []string, messages ...*mail.Message) {
	sc.TB.Helper()
	sc.round++
	sc.accounts, sc.hs = nil, nil
	var inboxes []*models.Folder
	for _, name := range names {
		a, err := sc.makes.CreateUser(sc.ctx, sc.address(name), []string{"INBOX", "Work", "More"})
		sc.Must(err)
		sc.accounts, inboxes = append(sc.accounts, a), append(inboxes, a.Folders[0])
	}
	hs := make([]models.Handle, len(inboxes))
	for _, m := range messages {
		sc.Must(sc.makes.Deliver(sc.ctx, m, inboxes, hs))
		sc.hs = append(sc.hs, hs[0])
		sc.clock.advance(time.Second)
	}
}

// callOn is what operations are run with, on messages of the first account.
func (sc *scene) callOn(mb models.Mailbox, a *models.Account, hs ...models.Handle) *call {
	c := newCall(sc.ctx, mb, a)
	c.who, c.hs, c.until = sc.address("cat"), hs, sc.clock.now().AddDate(1, 0, 0)
	return c
}

// result is what operations have returned and left.
type result struct {
	errs   [2]error
	view   []string // what the owners of accounts see, line by line
	shown  int      // how often folders show the first message
	unseen bool     // one of them shows it as unread
	counts counts   // what the audit counts more than before the round
}

// look reads what owners of accounts see, as another process, and what an audit counts.
func (sc *scene) look(o *result, names ...string) {
	sc.TB.Helper()
	for i, name := range names {
		sc.view(o, fmt.Sprintf("account %d", i), sc.address(name))
	}
	for _, line := range o.view {
		if strings.Contains(line, "letter 0") {
			o.shown++
			o.unseen = o.unseen || strings.Contains(line, "seen false")
		}
	}
	now := sc.Audit(sc.looks)
	o.counts = countsOf(now).since(countsOf(sc.last))
	sc.last = now
}

// unreadable is in a line of a view for a message that a folder shows and that cannot be opened.
const unreadable = "unreadable"

// view adds what the owner of an account sees: numbers of folders, and all that can be read of each message.
func (sc *scene) view(o *result, name, address string) {
	sc.TB.Helper()
	see := func(format string, args ...any) { o.view = append(o.view, name+fmt.Sprintf(format, args...)) }
	a, err := sc.looks.Login(sc.ctx, address)
	if errors.Is(err, models.ErrNotFound) {
		return
	}
	sc.Must(err)
	see("")
	c := newCall(sc.ctx, sc.looks, a)
	c.limit = 100
	read := func(op string, accepted ...error) outcome {
		got := c.do(op, the(op).run)
		if !slices.ContainsFunc(accepted, func(e error) bool { return errors.Is(got.err, e) }) {
			sc.Must(got.err)
		}
		return got
	}
	for _, c.in = range a.Folders {
		see("'s %s: %+v", c.in.Name, read("stats").items[0].stats)
		for _, e := range read("list").items {
			c.hs = []models.Handle{e.entry.Handle}
			if read("open", models.ErrNotFound, models.ErrBroken).err != nil {
				see("'s %s shows, seen %t: %s", c.in.Name, e.entry.Seen, unreadable)
				continue
			}
			sums := []digest{read("raw", models.ErrNotOffered).bytes}
			for _, a := range c.opened.Attachments {
				c.file = a.Name
				sums = append(sums, read("attachment").bytes)
			}
			see("'s %s shows, seen %t: %q, flags %b, bytes %x", c.in.Name, e.entry.Seen, c.opened.Body, c.opened.Flags, sums)
		}
	}
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

// interrupt runs an operation on the data of ann and bob, three messages in the inbox of each, and kills it after some
// writes, or refuses the next write. With -1 it runs the operation to its end. made are the patterns of the writes.
func (sc *scene) interrupt(op interruption, after int, refuses bool) (o result, made []string) {
	sc.TB.Helper()
	sc.fill([]string{"ann", "bob"}, bulky(0), bulky(1), bulky(2))
	k := &cut.Session{Session: sc.Session(), After: after, Refuses: refuses}
	c := sc.callOn(sc.makes, sc.accounts[0], sc.hs[1:1+op.messages]...)
	c.m = bulky(3)
	if op.name == "deliver to 2" {
		c.folders = append(slices.Clone(c.folders), sc.accounts[1].Folders[0])
	}
	if op.prepare != "" {
		sc.Must(the(op.prepare).run(c))
	}
	c.mb, c.on = sc.bound.Mailbox(k), op.name != "unlabel"
	if o.errs[0] = the(op.operation).run(c); after < 0 {
		sc.Must(o.errs[0])
	}
	sc.look(&o, "ann", "bob", "cat")
	for _, line := range o.view {
		if strings.Contains(line, unreadable) {
			sc.TB.Errorf("%s killed after %d writes: %s", op.name, after, line)
		}
	}
	return o, k.Made
}

// testInterrupted kills every operation after each of its writes, on the embedded engine and
// on the limited ones. A golden file has the faults that the audit then counts. The package
// comment of the model explains them. Users who take no part in the operation must see no
// difference. If the audit finds no fault, the operation must be complete or have changed
// nothing.
func testInterrupted(t *testing.T, s Suite) {
	t.Parallel()
	for _, e := range inProcess() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			schema, err := s.Model.Schema()
			must(t, err)
			s := s.onShared(t, opening(e, 0)(t, schema))
			var out strings.Builder
			offered := s.start(t, models.Options{}).mailbox()
			for _, op := range interruptions {
				if the(op.operation).in(offered) {
					killEverywhere(t, newScene(t, s, Sized(1000, 2)), op, &out)
				}
			}
			s.compare(t, "interrupted-"+e.Name+".golden", out.String())
		})
	}
}

func killEverywhere(t *testing.T, sc *scene, op interruption, out io.Writer) {
	t.Helper()
	before, _ := sc.interrupt(op, 0, false)
	after, writes := sc.interrupt(op, -1, false)
	fmt.Fprintf(out, "%s: %d writes\n", op.name, len(writes))
	for n := range writes {
		if n == 0 || writes[n] != writes[n-1] { // of several equal writes, it is enough to refuse one
			got, _ := sc.interrupt(op, n, true)
			switch err, fs := got.errs[0], got.counts.faults(); {
			case err == nil:
				t.Errorf("%s with write %d refused returned no error", op.name, n)
			case errors.Is(err, drivers.ErrUnknown):
			case !slices.Equal(got.view, before.view) || fs != "":
				t.Errorf("%s with write %d refused: %v, which is not unknown; and yet there is %q and\n%s", op.name, n, err, fs,
					strings.Join(got.view, "\n"))
			}
		}
		if n == 0 {
			continue
		}
		got, made := sc.interrupt(op, n, false)
		if got.errs[0] == nil {
			t.Errorf("%s killed after %d writes returned no error", op.name, n)
		}
		fmt.Fprintf(out, "\tafter %s: %s\n", made[n-1], cmp.Or(got.counts.since(before.counts).changes(), "as before"))
		for _, line := range before.view {
			if slices.Contains(after.view, line) && !slices.Contains(got.view, line) {
				t.Errorf("%s killed after %d writes: %s: not so any more", op.name, n, line)
			}
		}
		whole := got.counts.faults() == "" && got.counts.of("unreferenced") == before.counts.of("unreferenced")
		several := op.name == "create user" || strings.HasSuffix(op.name, " 2") // some of them may have changed
		if !several && whole && !slices.Equal(got.view, before.view) && !slices.Equal(got.view, after.view) {
			t.Errorf("%s killed after %d writes (%s): the audit finds nothing wrong with\n%s", op.name, n, made[n-1],
				strings.Join(got.view, "\n"))
		}
	}
	if w := after.counts.since(before.counts).changes(); w != "" {
		fmt.Fprintf(out, "\tafter all: %s\n", w)
	}
}
