package modeltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
	now, err := sc.looks.Audit(sc.ctx)
	sc.Must(err)
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
