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
