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
	place      int   // in the list of its folder, from 1 on
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
	all := slices.Concat(sent[:]...)
	for _, in := range a.folders {
		findPlaces(diff, in, all, unknown.Load())
	}
	takeAll(t, diff, all)
	if n := unknown.Load(); n > 0 {
		t.Logf("%d outcomes are not known", n)
		return
	}
	diff.check()
}

// findPlaces notes where a folder lists which message. It lists none twice, and besides those that are acknowledged at
// most as many as there were calls of unknown outcome.
func findPlaces(diff *differential, in *folder, all []*delivery, unknown int64) {
	c := diff.on(in)
	c.limit = 3 * workers * deliveriesEach
	items := c.do("list", the("list").run).items
	listed := map[models.Handle]int{}
	for i, e := range items {
		listed[e.entry.Handle] = i + 1
	}
	acknowledged := 0
	for _, d := range all {
		if d.in != in {
			continue
		}
		d.place = listed[d.handle]
		if !d.gone {
			acknowledged++
		}
	}
	if n := len(items); n > len(listed) || n > acknowledged+int(unknown) {
		diff.t.Fatalf("%s lists %d messages, %d different ones; %d are acknowledged, and %d outcomes are unknown", in.name, n,
			len(listed), acknowledged, unknown)
	}
}

// takeAll has the reference take the deliveries, the oldest first.
func takeAll(t *testing.T, diff *differential, all []*delivery) {
	slices.SortStableFunc(all, func(a, b *delivery) int { return b.place - a.place })
	latest := map[*folder]int64{} // begin of those that the folder lists as older
	for _, d := range all {
		if d.place == 0 && !d.gone {
			t.Errorf("acknowledged message %x of %s is not listed", d.handle, d.in.name)
		}
		if diff.Order == ByArrival && d.end < latest[d.in] && !d.gone {
			t.Errorf("message %x of %s was acknowledged before the call began that put an older one there", d.handle,
				d.in.name)
		}
		diff.arrived(d.m, []*folder{d.in}, []models.Handle{d.handle})
		e := d.in.ever[d.handle]
		if e.flags = d.flags; d.gone {
			diff.remove(d.in, e)
		} else {
			latest[d.in] = max(latest[d.in], d.begin)
		}
	}
}
