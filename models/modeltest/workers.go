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
	in         *folder // where it is; nil: it was deleted, or the outcome of its move is unknown
	begin, end int64   // logical times of the call that put it there
	flags      models.Flag
}

// testWorkersOneFolder has all workers deliver to one folder at the same time. Each of them moves, deletes or flags its
// own messages meanwhile. The reference then has the mail that was acknowledged, in the order that lists have, since
// calls at one time have none. By arrival, a message is newer than those that were there before its call began. Over a
// network outcomes may be unknown, for example after many compare-and-sets at once. Then lists may differ by as many
// messages, and nothing else is compared.
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
					d.in, d.begin = nil, moment.Add(1)
					if done("move") {
						d.handle, d.in, d.end = x.made[0], a.folders[1], moment.Add(1)
					}
				case 1:
					d.in = nil
					done("delete")
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
		var latest int64 // begin of those that the folder lists as older
		for _, d := range diff.listed(in, all, unknown.Load()) {
			if diff.Order == ByArrival && d.end < latest {
				t.Errorf("message %x of %s was acknowledged before the call began that put an older one there", d.handle,
					in.name)
			}
			latest = max(latest, d.begin)
			diff.arrived(d.m, []*folder{in}, []models.Handle{d.handle})[0].flags = d.flags
		}
	}
	for _, d := range all {
		if d.in == nil { // its place in the inbox is not known
			gone := diff.arrived(d.m, []*folder{{box: &box{}, in: a}}, []models.Handle{d.handle})[0]
			diff.reference.delete(gone, diff.clock.now())
		}
	}
	if n := unknown.Load(); n > 0 {
		t.Logf("%d outcomes are not known", n)
		return
	}
	diff.check()
}

// listed returns the messages of a folder in the order in which it lists them, the oldest first. Besides it may list as
// many as there were calls of unknown outcome.
func (diff *differential) listed(f *folder, all []*delivery, unknown int64) (listed []*delivery) {
	es, err := pages(diff.ctx, diff.got, f.got, models.Handle{}, 25, 2*workers*deliveriesEach)
	diff.must(err, "list %s", f.name)
	for _, e := range slices.Backward(es) {
		if i := slices.IndexFunc(all, func(d *delivery) bool { return d.in == f && d.handle == e.Handle }); i >= 0 {
			listed = append(listed, all[i])
		}
	}
	want := 0
	for _, d := range all {
		if d.in == f {
			want++
		}
	}
	if n := len(es); len(listed) != want || n > want+int(unknown) {
		diff.t.Fatalf("%s lists %d of %d acknowledged messages, %d in all, and %d outcomes are unknown", f.name, len(listed),
			want, n, unknown)
	}
	return listed
}
