package modeltest

import (
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
	name, operation string
	to              string // where it moves the message or shows it
	removes         bool   // if it is acknowledged, folders show the message no more
	flags           bool
}

// contenders are the operations on a message, and then those on a deleted one.
var contenders = [2][]contender{
	{
		{name: "move", operation: "move", to: "Work"},
		{name: "move elsewhere", operation: "move", to: "More"},
		{name: "delete", operation: "delete", removes: true},
		{name: "flag", operation: "flag", flags: true},
		{name: "label", operation: "label", to: "Work"},
		{name: "expunge", operation: "expunge", removes: true},
	},
	{
		{name: "restore", operation: "restore"},
		{name: "purge", operation: "purge", removes: true},
	},
}

func (op contender) run(r *race, c *client) error {
	x := newCall(r.ctx, c.mb, c.a)
	x.to, x.hs, x.until = c.a.Folder(op.to), []models.Handle{r.h}, r.clock.now().AddDate(1, 0, 0)
	return the(op.operation).run(x)
}

// client is one of two processes that use a store. It waits before each call to the engine.
type client struct {
	mb    models.Mailbox
	a     *models.Account
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
	h                models.Handle // its message
	deleted          bool          // it is deleted before the race
}

func newRace(t *testing.T, s *suite, deleted bool) *race {
	f := s.start(t, models.Options{})
	r := &race{fixture: f, deliverer: f.mailbox(), deleted: deleted}
	process := func() models.Bound {
		f.opts.Node += 1 << 20
		return f.Bind(f.opts)
	}
	r.looks = process().Mailbox(f.Session())
	for i := range r.clients {
		c := &client{at: make(chan bool), next: make(chan struct{})}
		c.mb = process().Mailbox(&cut.Session{Session: f.Session(), After: -1, Pause: func() {
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
	r.TB.Helper()
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
	r.TB.Helper()
	r.races++
	a, err := r.deliverer.CreateUser(r.ctx, r.at(r.name()), []string{"INBOX", "Work", "More"})
	r.Must(err)
	one := make([]models.Handle, 1)
	for n := range 2 {
		r.Must(r.deliverer.Deliver(r.ctx, sample(n).Message(), a.Folders[:1], one))
		if r.clock.advance(1e9); n == 0 {
			r.h = one[0]
		}
	}
	if r.deleted {
		r.Must(r.deliverer.Delete(r.ctx, a.Folders[0], []models.Handle{r.h}))
	}
	for _, c := range r.clients {
		c.a, err = c.mb.Login(r.ctx, r.at(r.name()))
		r.Must(err)
	}
}

// look reads what a third process sees of the account.
func (r *race) look(o *result) {
	r.TB.Helper()
	lines := r.view(r.looks, r.name())
	for _, line := range lines {
		if strings.Contains(line, "letter 0") {
			o.shown++
			o.unseen = o.unseen || strings.Contains(line, "seen false")
		}
	}
	o.view = strings.Join(lines, "\n")
	now, err := r.looks.Audit(r.ctx)
	r.Must(err)
	o.faults = map[Anomaly]int64{
		Dangling: now.Dangling - r.found.Dangling, Duplicated: now.Duplicated - r.found.Duplicated,
		BrokenBody: now.BrokenBodies - r.found.BrokenBodies, Orphaned: now.Unreferenced - r.found.Unreferenced,
		CounterDrift: now.CounterDrift - r.found.CounterDrift,
	}
	r.found = now
}

// name is whose account the race is in.
func (r *race) name() string { return fmt.Sprintf("ann%d", r.races) }
