package modeltest

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// workers is how many mailboxes the concurrent rules use at once.
const workers = 4

// boxes returns the mailboxes of all workers.
func (f *fixture) boxes() (all [workers]models.Mailbox) {
	for i := range all {
		all[i] = f.mailbox()
	}
	return all
}

// parallel runs work in as many goroutines as there are workers.
func parallel(work func(worker int)) {
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { work(i) })
	}
	wg.Wait()
}

// delivery is an acknowledged delivery. begin and end are logical times.
type delivery struct {
	m          *mail.Message
	begin, end int64
	handle     models.Handle
	message    message // in the reference
	change     string  // that was acknowledged after it
}

// deliveriesEach is how many messages each worker delivers.
const deliveriesEach = 15

// testWorkersOneFolder lets all workers deliver to one folder. Then each worker moves, deletes and flags its own
// messages there. The reference does the same in the order that lists have, since calls at one time have none. Over a
// network outcomes may be unknown, for example after many compare-and-sets at once. Then lists may differ by as many
// messages, and nothing else is compared.
func testWorkersOneFolder(t *testing.T, s *suite) {
	f := s.start(t, Sized(0, 9))
	diff, boxes := f.differential(), f.boxes()
	a := diff.user(diff.at("ann"), "INBOX", "Work")
	in, work := a.folders[0], a.folders[1]
	var moment, unknown atomic.Int64
	done := func(what string, err error) bool {
		switch {
		case errors.Is(err, drivers.ErrUnknown) && !f.Store.Capabilities().InProcess:
			unknown.Add(1)
		case err != nil:
			t.Errorf("%s: %v", what, err)
		}
		return err == nil
	}
	var sent [workers][]*delivery
	parallel(func(w int) {
		x := newCall(f.ctx, boxes[w], a.got)
		for n := range deliveriesEach {
			x.m = sample(w*deliveriesEach + n).Message()
			d := &delivery{m: x.m, begin: moment.Add(1)}
			if done("deliver", the("deliver").run(x)) {
				d.end, d.handle = moment.Add(1), x.made[0]
				sent[w] = append(sent[w], d)
			}
		}
	})
	all := diff.listed(in, slices.Concat(sent[:]...), &unknown)
	var latest int64 // begin of those that the folder lists as older
	for _, d := range all {
		d.message = diff.arrived(d.m, []*folder{in}, []models.Handle{d.handle})[0]
		if diff.Order == ByArrival && d.end < latest {
			t.Errorf("message %x was acknowledged before the delivery of one began that is older", d.handle)
		}
		latest = max(latest, d.begin)
	}

	changes := [...]string{"move", "delete", "flag", ""}
	parallel(func(w int) {
		x := newCall(f.ctx, boxes[w], a.got)
		for n, d := range sent[w] {
			x.hs = []models.Handle{d.handle}
			change := changes[n%len(changes)]
			if change == "" || !done(change, the(change).run(x)) {
				continue
			}
			if d.change = change; change == "move" {
				d.handle = x.made[0]
			}
		}
	})
	var moved []*delivery
	for _, d := range all {
		switch d.change {
		case "move":
			in.drop(d.message.entry)
			moved = append(moved, d)
		case "delete":
			diff.reference.delete(d.message, diff.clock.now())
		case "flag":
			d.message.flags |= models.Seen
		}
	}
	for _, d := range diff.listed(work, moved, &unknown) {
		diff.learn(work, work.put(d.message.state), d.handle, true)
	}
	if n := unknown.Load(); n > 0 {
		t.Logf("%d outcomes are not known", n)
		return
	}
	diff.check()
}

// listed returns the messages of a folder in the order in which it lists them, the oldest first. Besides it may list as
// many as there were calls of unknown outcome.
func (diff *differential) listed(f *folder, all []*delivery, unknown *atomic.Int64) (listed []*delivery) {
	diff.t.Helper()
	es, err := pages(diff.ctx, diff.got, f.got, models.Handle{}, 25, 2*workers*deliveriesEach)
	diff.must(err, "list %s", f.name)
	for _, e := range slices.Backward(es) {
		if i := slices.IndexFunc(all, func(d *delivery) bool { return d.handle == e.Handle }); i >= 0 {
			listed = append(listed, all[i])
		}
	}
	if n := len(es); len(listed) != len(all) || n > len(all)+int(unknown.Load()) {
		diff.t.Fatalf("%s lists %d of %d acknowledged messages, %d in all, and %d outcomes are unknown", f.name, len(listed),
			len(all), n, unknown.Load())
	}
	return listed
}
