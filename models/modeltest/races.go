package modeltest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mailbench/mailbench/drivers/cut"
	"github.com/mailbench/mailbench/models"
)

// Anomaly is a result of two interleaved operations that neither order of the two gives.
type Anomaly string

// The anomalies.
const (
	Duplicated   Anomaly = "duplicated"        // folders show the message too often
	Revived      Anomaly = "revived"           // folders show it after an acknowledged delete
	Lost         Anomaly = "lost"              // no folder shows it, and no delete was acknowledged
	FlagLost     Anomaly = "flag lost"         // the flag was acknowledged and is not there
	BothDone     Anomaly = "both acknowledged" // one of them should have got ErrNotFound
	NoneDone     Anomaly = "both refused"      // one of them should have succeeded
	Failed       Anomaly = "failed"            // an error that is not ErrNotFound
	Dangling     Anomaly = "broken reference"  // the audit counts it; so for the next ones
	BrokenBody   Anomaly = "broken body"
	Orphaned     Anomaly = "orphaned"
	CounterDrift Anomaly = "counter drift"
)

// anomalies are all of them, the worst first.
var anomalies = []Anomaly{
	Lost, Revived, Duplicated, FlagLost, BothDone, NoneDone, Failed, BrokenBody, Dangling, CounterDrift, Orphaned,
}

// Races are the anomalies that a model's source design allows if two clients change one message
// together. All others fail the contract, and so does one that never occurs.
type Races struct {
	Always []Anomaly // on every engine
	Apart  []Anomaly // also, on an engine that is not atomic over a shard
}

// contender is one of two operations on the message race.h.
type contender struct {
	name    string
	removes bool // if it is acknowledged, folders show the message no more
	flags   bool
	run     func(r *race, c *client) error
}

// contenders returns the operations on a message, and those on a deleted one.
func contenders(offered models.Mailbox) (all, onDeleted []contender) {
	one := make([]models.Handle, 1)
	move := func(to string) func(r *race, c *client) error {
		return func(r *race, c *client) error { return c.mb.Move(r.ctx, c.in, c.a.Folder(to), r.hs(), one) }
	}
	all = []contender{
		{name: "move", run: move("Work")},
		{name: "move elsewhere", run: move("More")},
		{name: "delete", removes: true, run: func(r *race, c *client) error { return c.mb.Delete(r.ctx, c.in, r.hs()) }},
		{name: "flag", flags: true, run: func(r *race, c *client) error {
			return c.mb.Flag(r.ctx, c.in, r.h, models.Seen, true)
		}},
	}
	if has[models.Labeler](offered) {
		all = append(all, contender{name: "label", run: func(r *race, c *client) error {
			_, err := c.mb.(models.Labeler).Label(r.ctx, c.in, r.h, c.a.Folder("Work"), true)
			return err
		}})
	}
	if has[models.UIDs](offered) {
		all = append(all, contender{name: "expunge", removes: true, run: func(r *race, c *client) error {
			u := c.mb.(models.UIDs)
			n, err := u.Expunge(r.ctx, c.in, u.UID(r.h), u.UID(r.h))
			if err == nil && n == 0 {
				return models.ErrNotFound
			}
			return err
		}})
	}
	if has[models.Purger](offered) {
		onDeleted = []contender{
			{name: "restore", run: func(r *race, c *client) error { return c.mb.(models.Purger).Restore(r.ctx, c.a, r.h) }},
			{name: "purge", removes: true, run: func(r *race, c *client) error {
				n, err := c.mb.(models.Purger).Purge(r.ctx, c.a, r.clock.now().AddDate(1, 0, 0))
				if err == nil && n == 0 {
					return models.ErrNotFound
				}
				return err
			}},
		}
	}
	return all, onDeleted
}

// client is one of two processes that use a store. It waits before each call to the engine.
type client struct {
	mb    models.Mailbox
	a     *models.Account
	in    *models.Folder
	races bool      // it waits before each call
	at    chan bool // true: it waits before a call; false: its operation has ended
	next  chan struct{}
}

// race is two clients on a store, and a third process that delivers and looks.
type race struct {
	*fixture
	clients          [2]*client
	deliverer, looks models.Mailbox
	found            models.Audit // what the last audit counted
	races            int
	address          string        // of this race
	h                models.Handle // its message
	deleted          bool          // it is deleted before the race
}

func (r *race) hs() []models.Handle { return []models.Handle{r.h} }

func newRace(t *testing.T, s *suite, deleted bool) *race {
	f := s.start(t, models.Options{})
	r := &race{fixture: f, deliverer: f.mailbox(), deleted: deleted}
	process := func() models.Bound {
		f.opts.Node += 1 << 20
		return f.bind(f.opts)
	}
	r.looks = f.mailboxOf(process())
	for i := range r.clients {
		c := &client{at: make(chan bool), next: make(chan struct{})}
		c.mb = process().Mailbox(&cut.Session{Session: f.session(), After: -1, Pause: func() {
			if c.races {
				c.at <- true
				<-c.next
			}
		}})
		r.clients[i] = c
	}
	return r
}

// turns is the order of the calls of two operations: the first client makes some calls, the other
// one some, and then each comes to its end, the first one first.
type turns struct{ first, calls, others int }

const toEnd = -1

// run runs two operations. made are the calls of each.
func (r *race) run(ops [2]contender, by turns) (o result, made [2]int) {
	r.t.Helper()
	r.prepare()
	var waits [2]bool
	for i, c := range r.clients {
		c.races = true
		go func() {
			o.errs[i] = ops[i].run(r, c)
			c.at <- false
		}()
		waits[i] = <-c.at
	}
	step := func(i, calls int) {
		for ; waits[i] && calls != 0; calls-- {
			r.clients[i].next <- struct{}{}
			waits[i] = <-r.clients[i].at
			made[i]++
		}
	}
	step(by.first, by.calls)
	step(1-by.first, by.others)
	step(by.first, toEnd)
	step(1-by.first, toEnd)
	for _, c := range r.clients {
		c.races = false
	}
	r.look(&o)
	return o, made
}

// prepare makes an account with two messages in its inbox, the first of which is r.h.
func (r *race) prepare() {
	r.t.Helper()
	must := func(err error) {
		r.t.Helper()
		if err != nil {
			r.t.Fatal(err)
		}
	}
	r.races++
	r.address = r.at(fmt.Sprintf("ann%d", r.races))
	a, err := r.deliverer.CreateUser(r.ctx, r.address, []string{"INBOX", "Work", "More"})
	must(err)
	one := make([]models.Handle, 1)
	for n := range 2 {
		must(r.deliverer.Deliver(r.ctx, sample(n).Message(), a.Folders[:1], one))
		if r.clock.advance(1e9); n == 0 {
			r.h = one[0]
		}
	}
	if r.deleted {
		must(r.deliverer.Delete(r.ctx, a.Folders[0], r.hs()))
	}
	for _, c := range r.clients {
		c.a, err = c.mb.Login(r.ctx, r.address)
		must(err)
		c.in = c.a.Folder("INBOX")
	}
}

// look reads what a third process sees of the account.
func (r *race) look(o *result) {
	r.t.Helper()
	a, err := r.looks.Login(r.ctx, r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	var opened models.Opened
	var lines []string
	for _, f := range a.Folders {
		es, err := pages(r.ctx, r.looks, f, models.Handle{}, 25, 100)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, e := range es {
			body := "nothing"
			err := r.looks.Open(r.ctx, f, e.Handle, &opened)
			switch {
			case err == nil && strings.Contains(string(opened.Body), "letter 1"):
				body = "the other"
			case err == nil && strings.Contains(string(opened.Body), "letter 0"):
				body = "it"
				o.shown++
				o.unseen = o.unseen || !e.Seen
			case err != nil && !errors.Is(err, models.ErrNotFound) && !errors.Is(err, models.ErrBroken):
				r.t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%s shows %s, seen %t", f.Name, body, e.Seen))
		}
		st, err := r.looks.Stats(r.ctx, f)
		if err != nil {
			r.t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s: %+v", f.Name, st))
	}
	o.view = strings.Join(lines, "\n")
	now, err := r.looks.Audit(r.ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	o.faults = map[Anomaly]int64{
		Dangling: now.Dangling - r.found.Dangling, Duplicated: now.Duplicated - r.found.Duplicated,
		BrokenBody: now.BrokenBodies - r.found.BrokenBodies, Orphaned: now.Unreferenced - r.found.Unreferenced,
		CounterDrift: now.CounterDrift - r.found.CounterDrift,
	}
	r.found = now
}
