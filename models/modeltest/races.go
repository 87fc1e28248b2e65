package modeltest

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/cut"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
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

// audited are the anomalies that an audit counts, by its words.
var audited = map[Anomaly]string{
	Dangling: "broken references", Duplicated: "duplicated", BrokenBody: "broken bodies", Orphaned: "unreferenced",
	CounterDrift: "counter drift",
}

// Races are the anomalies that a model's source design allows if two clients change one message
// together. All others fail the contract, and so does one that never occurs.
type Races struct {
	Always []Anomaly // on every engine
	Apart  []Anomaly // also, on an engine that is not atomic over a shard
}

// contender is one of two operations on the first message of a race.
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

// client is one of two processes that use a store.
type client struct {
	mb    models.Mailbox
	a     *models.Account
	pause func() // called before each call to the engine; nil if it does not race
}

// race is two clients on a scene.
type race struct {
	*scene
	clients [2]*client
	deleted bool // the message is deleted before the race
}

func newRace(t *testing.T, s *suite, deleted bool) *race {
	r := &race{scene: newScene(t, s, models.Options{}), deleted: deleted}
	for i := range r.clients {
		c := &client{}
		c.mb = r.process().Mailbox(&cut.Session{Session: r.Session(), After: -1, Pause: func() {
			if c.pause != nil {
				c.pause()
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
	r.fill([]string{"ann"}, sample(0).Message(), sample(1).Message())
	if r.deleted {
		r.Must(r.makes.Delete(r.ctx, r.accounts[0].Folders[0], r.hs[:1]))
	}
	for _, c := range r.clients {
		var err error
		c.a, err = c.mb.Login(r.ctx, r.address("ann"))
		r.Must(err)
	}
	var next [2]func() (struct{}, bool) // runs an operation to its next call or to its end
	var waits [2]bool
	for i, c := range r.clients {
		var stop func()
		next[i], stop = iter.Pull(func(yield func(struct{}) bool) {
			c.pause = func() { yield(struct{}{}) }
			x := r.callOn(c.mb, c.a, r.hs[0])
			x.to, x.m = c.a.Folder(ops[i].to), sample(2).Message()
			o.errs[i] = the(ops[i].operation).run(x)
			c.pause = nil
		})
		defer stop()
		_, waits[i] = next[i]()
	}
	step := func(i, calls int) {
		for ; waits[i] && calls != 0; calls-- {
			_, waits[i] = next[i]()
			made[i]++
		}
	}
	step(by.first, by.calls)
	step(1-by.first, by.others)
	step(by.first, toEnd)
	step(1-by.first, toEnd)
	r.look(&o, "ann", "cat") // whom a client may create
	return o, made
}

// answer reduces an error to what a caller distinguishes.
func answer(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, models.ErrNotFound):
		return "not found"
	case errors.Is(err, models.ErrExists):
		return "exists"
	}
	return "failed"
}

func (o result) answers() [2]string { return [2]string{answer(o.errs[0]), answer(o.errs[1])} }

// like reports whether the results are the same, and o has no more faults.
func (o *result) like(p *result) bool {
	for _, what := range audited {
		if o.counts.of(what) > p.counts.of(what) {
			return false
		}
	}
	return o.answers() == p.answers() && slices.Equal(o.view, p.view)
}

// anomalies says how a result differs from those of the operations one after the other.
func (o *result) anomalies(ops [2]contender, serial []result) (all []Anomaly) {
	note := func(is bool, a Anomaly) {
		if is && !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	none := func(of []result, is func(p result) bool) bool { return !slices.ContainsFunc(of, is) }
	those := func(is func(p result) bool) []result {
		return slices.DeleteFunc(slices.Clone(serial), func(p result) bool { return !is(p) })
	}
	asOften := func(p result) bool { return p.shown >= o.shown }
	same := those(func(p result) bool { return p.answers() == o.answers() })
	note(len(same) == 0 && o.answers() == [2]string{"ok", "ok"}, BothDone)
	note(len(same) == 0 && o.answers() == [2]string{"not found", "not found"}, NoneDone)
	note(none(serial, asOften), Duplicated)
	removed := false
	for i, op := range ops {
		note(answer(o.errs[i]) == "failed", Failed)
		acknowledged := those(func(p result) bool { return p.errs[i] == nil })
		if o.errs[i] != nil || len(acknowledged) == 0 {
			continue
		}
		removed = removed || op.removes
		note(op.removes && none(acknowledged, asOften), Revived)
		note(op.flags && o.unseen && none(acknowledged, func(p result) bool { return p.unseen }), FlagLost)
	}
	lost := none(same, func(p result) bool { return p.shown == 0 })
	if len(same) == 0 {
		lost = !removed && !none(serial, func(p result) bool { return p.shown > 0 })
	}
	note(o.shown == 0 && lost, Lost)
	for kind, what := range audited {
		note(none(serial, func(p result) bool { return p.counts.of(what) >= o.counts.of(what) }), kind)
	}
	return all
}

// roundsEach is how many races share tables, and roundsLive over a network: an audit after each reads the mail of all.
const (
	roundsEach = 40
	roundsLive = 5
)

// pair interleaves two operations on one message in every way with at most three changes between the
// clients, or with at most two if they are few. It counts each anomaly, and writes a line of them.
func (s *suite) pair(t *testing.T, ops [2]contender, deleted bool, counts map[Anomaly]int) string {
	t.Helper()
	r, rounds := newRace(t, s, deleted), roundsEach
	if s.shared {
		rounds = roundsLive
	}
	var serial []result
	var calls [2]int
	for first := range 2 {
		o, made := r.run(ops, turns{first, toEnd, toEnd})
		serial, calls[first] = append(serial, o), made[first]
	}
	ways, differ := 0, 0
	mine := map[Anomaly]int{}
	for first := range 2 {
		if first == 1 && ops[0].name == ops[1].name {
			break // the clients do the same
		}
		for i := 1; i < calls[first]; i++ {
			least := 1
			if s.few {
				least = calls[1-first]
			}
			for j := least; j <= calls[1-first]; j++ {
				if r.round == rounds {
					r = newRace(t, s, deleted)
				}
				o, _ := r.run(ops, turns{first, i, j})
				if ways++; slices.ContainsFunc(serial, func(p result) bool { return o.like(&p) }) {
					continue
				}
				differ++
				all := o.anomalies(ops, serial)
				if len(all) == 0 {
					t.Errorf("%s and %s, %d calls of client %d and then %d of the other: neither order gives\n%+v\nbut\n%+v",
						ops[0].name, ops[1].name, i, first, j, o, serial)
				}
				for _, a := range all {
					mine[a]++
					counts[a]++
				}
			}
		}
	}
	line := fmt.Sprintf("\t%s, %s: %d interleavings, %d with anomalies", ops[0].name, ops[1].name, ways, differ)
	sign := ": "
	for _, a := range anomalies {
		if n := mine[a]; n > 0 {
			line += fmt.Sprintf("%s%s %d", sign, a, n)
			sign = ", "
		}
	}
	return line + "\n"
}

// interleave runs all pairs of operations, and returns how often each anomaly occurred.
func (s *suite) interleave(t *testing.T, out *strings.Builder) map[Anomaly]int {
	t.Helper()
	counts := map[Anomaly]int{}
	offered := s.start(t, models.Options{}).mailbox()
	for n, ops := range contenders {
		ops = slices.DeleteFunc(slices.Clone(ops), func(op contender) bool { return !the(op.operation).in(offered) })
		for i, a := range ops {
			for _, b := range ops[i:] {
				out.WriteString(s.pair(t, [2]contender{a, b}, n == 1, counts))
			}
		}
	}
	return counts
}

// testTwoClients interleaves operations on any engine. Only anomalies that the model's Races have may occur.
func testTwoClients(t *testing.T, s *suite) {
	var out strings.Builder
	s.Races.check(t, s.start(t, models.Options{}).Store, s.interleave(t, &out))
	t.Log(out.String())
}

// testAdditions interleaves two clients that create the same account or folder, of which one gets ErrExists, and two
// that deliver to one folder.
func testAdditions(t *testing.T, s *suite) {
	counts := map[Anomaly]int{}
	for _, op := range []string{"create user", "create folder", "deliver"} {
		t.Log(s.pair(t, [2]contender{{name: op, operation: op}, {name: op, operation: op}}, false, counts))
	}
	if len(counts) > 0 {
		t.Errorf("two clients that add the same end with %v", counts)
	}
}

// testRaces interleaves operations in more ways on the embedded engine and on the limited ones. A golden
// file has the anomalies. Those of Races must occur, too.
func testRaces(t *testing.T, s Suite) {
	t.Parallel()
	var out strings.Builder
	apart := map[Anomaly]int{}
	for i, e := range inProcess() {
		on := s.on(opening(e, 0))
		fmt.Fprintf(&out, "%s\n", e.Name)
		counts := on.interleave(t, &out)
		s.Races.check(t, on.start(t, models.Options{}).Store, counts)
		if i == 0 {
			occur(t, "Always", s.Races.Always, counts)
		}
		for a, n := range counts {
			apart[a] += n
		}
	}
	occur(t, "Apart", s.Races.Apart, apart)
	s.on(openEmbedded).compare(t, "races.golden", out.String())
}

// check fails for anomalies that may not occur on the store.
func (r Races) check(t *testing.T, st drivers.Store, counts map[Anomaly]int) {
	t.Helper()
	caps, allowed := st.Capabilities(), r.Always
	if caps.Atomic < schemas.AtomicShard {
		allowed = slices.Concat(allowed, r.Apart)
	}
	for _, a := range anomalies {
		if counts[a] > 0 && !slices.Contains(allowed, a) {
			t.Errorf("%s: %d interleavings of two operations on one message end with %q, which the model's Races do not have",
				caps.Engine, counts[a], a)
		}
	}
}

// occur fails for those of the anomalies that do not occur.
func occur(t *testing.T, field string, declared []Anomaly, counts map[Anomaly]int) {
	t.Helper()
	for _, a := range declared {
		if counts[a] == 0 {
			t.Errorf("Races.%s has %q, which no interleaving ends with; take it out", field, a)
		}
	}
}

// So many workers deliver so many messages each.
const (
	workers        = 4
	deliveriesEach = 15
)

// delivery is an acknowledged delivery.
type delivery struct {
	m          *mail.Message
	handle     models.Handle
	in         *folder
	gone       bool  // it was deleted, or the outcome of its move or delete is unknown
	begin, end int64 // logical times of the call that put it there
	flags      models.Flag
}

// testWorkersOneFolder has all workers deliver to one folder at the same time. Each of them moves, deletes or flags its
// own messages meanwhile. The reference then gets the mail that was acknowledged, in the order that lists have, since
// calls at one time have none. By arrival, a message is newer than those that were there before its call began. Over a
// network outcomes may be unknown, for example after many compare-and-sets at once. Then each acknowledged message is
// listed, and no more than may be there.
func testWorkersOneFolder(t *testing.T, s *suite) {
	f := s.start(t, Sized(0, 9))
	diff := f.differential()
	a := diff.user(diff.at("ann"), "INBOX", "Work")
	var moment, unknown atomic.Int64
	var sent [workers][]*delivery
	var group sync.WaitGroup
	for w := range workers {
		x := newCall(f.ctx, f.mailbox(), a.got)
		done := func(op string) bool {
			err := the(op).run(x)
			if errors.Is(err, drivers.ErrUnknown) && !f.Store.Capabilities().InProcess {
				unknown.Add(1)
			} else if err != nil {
				t.Errorf("%s: %v", op, err)
			}
			return err == nil
		}
		group.Go(func() {
			for n := range deliveriesEach {
				x.m = sample(w*deliveriesEach + n).Message()
				d := &delivery{m: x.m, in: a.folders[0], begin: moment.Add(1)}
				if !done("deliver") {
					continue
				}
				d.handle, d.end = x.made[0], moment.Add(1)
				x.hs = []models.Handle{d.handle}
				switch sent[w] = append(sent[w], d); n % 4 {
				case 0:
					d.begin = moment.Add(1)
					if d.gone = !done("move"); !d.gone {
						d.handle, d.in, d.end = x.made[0], a.folders[1], moment.Add(1)
					}
				case 1:
					done("delete")
					d.gone = true
				case 2:
					if done("flag") {
						d.flags = models.Seen
					}
				}
			}
		})
	}
	group.Wait()
	acknowledged := map[models.Handle]*delivery{}
	for _, d := range slices.Concat(sent[:]...) {
		if d.gone {
			diff.remove(d.in, diff.arrived(d))
		} else {
			acknowledged[d.handle] = d
		}
	}
	others := int64(0)
	for _, in := range a.folders {
		others += takeListed(t, diff, in, acknowledged)
	}
	for _, d := range acknowledged {
		t.Errorf("acknowledged message %x of %s is not listed", d.handle, d.in.name)
	}
	n := unknown.Load()
	if others > n {
		t.Errorf("folders list %d messages that are not acknowledged, or twice; %d outcomes are unknown", others, n)
	}
	if n > 0 {
		t.Logf("%d outcomes are not known", n)
		return
	}
	diff.check()
}

// takeListed has the reference take the acknowledged deliveries that a folder lists, the oldest first. It returns how
// many others the folder lists.
func takeListed(t *testing.T, diff *differential, in *folder, acknowledged map[models.Handle]*delivery) (others int64) {
	c := diff.on(in)
	c.limit = 3 * workers * deliveriesEach
	latest := int64(0) // begin of those that are older
	for _, e := range slices.Backward(c.do("list", the("list").run).items) {
		d := acknowledged[e.entry.Handle]
		if d == nil || d.in != in {
			others++
			continue
		}
		delete(acknowledged, d.handle)
		if diff.Order == ByArrival && d.end < latest {
			t.Errorf("message %x of %s was acknowledged before the call began that put an older one there", d.handle, in.name)
		}
		latest = max(latest, d.begin)
		diff.arrived(d).flags = d.flags
	}
	return others
}

// arrived has the reference take a delivery.
func (diff *differential) arrived(d *delivery) *entry {
	c := diff.of(d.in.in)
	c.m, c.folders, c.made = d.m, modelsOf([]*folder{d.in}), []models.Handle{d.handle}
	diff.must(diff.reference.run("deliver", c), "deliver")
	return d.in.ever[d.handle]
}
