package modeltest

import (
	"errors"
	"fmt"
	"runtime"
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

// workerT is a *testing.T for a goroutine. Fatalf reports the failure and ends the
// goroutine.
type workerT struct{ *testing.T }

func (w workerT) Fatalf(format string, args ...any) {
	w.Helper()
	w.Errorf(format, args...)
	runtime.Goexit()
}

// parallel runs work in as many goroutines as there are workers.
func parallel(work func(worker int)) {
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { work(i) })
	}
	wg.Wait()
}

// testWorkers gives each worker an account of its own and lets all work at once. No worker may
// see anything of the others.
func testWorkers(t *testing.T, s *suite) {
	f := s.start(t, Sized(1000, 5))
	ref := newReference(s.Traits, f.clock.now)
	diffs := make([]*differential, workers)
	for i := range diffs {
		diffs[i] = f.differentialOf(ref, f.mailbox())
		diffs[i].t, diffs[i].tick = workerT{t}, 0 // all workers share the clock
	}
	parallel(func(w int) {
		diff := diffs[w]
		a := diff.user(diff.at(fmt.Sprintf("user%d", w)), "INBOX", "Work")
		in, work := a.folders[0], a.folders[1]
		for n := range 12 {
			d := sample(n)
			d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(n*300, w*100+n)}}
			m := diff.deliver(d.Message(), in)[0]
			if n%2 == 0 {
				diff.flag(m, models.Seen, true)
			}
			if n%3 == 0 {
				diff.move(in, work, m)
			}
			if n%5 == 4 {
				diff.delete(in, diff.live(in)[0])
			}
			diff.checkFolder(in, 4)
		}
	})
	if t.Failed() {
		return
	}
	all := f.differentialOf(ref, f.mailbox())
	for _, diff := range diffs {
		all.accounts = append(all.accounts, diff.accounts...)
		for r, g := range diff.handles {
			all.handles[r] = g
		}
	}
	all.check()
}

// oneFolder is several workers that use one folder.
type oneFolder struct {
	*testing.T
	f        *fixture
	boxes    []models.Mailbox
	in, work *models.Folder
	byWorker [][]delivery
	unknown  atomic.Int64 // calls of unknown outcome
}

// delivery is an acknowledged delivery. begin and end are logical times.
type delivery struct {
	begin, end int64
	handle     models.Handle
}

// testWorkersOneFolder lets all workers deliver to one folder. Then each worker flags, moves
// and deletes its own messages there. Over a network outcomes may be unknown, for example
// after many compare-and-sets at once. Then lists may differ by as many messages, and the test
// only logs the audit.
func testWorkersOneFolder(t *testing.T, s *suite) {
	f := s.start(t, Sized(0, 9))
	c := &oneFolder{T: t, f: f, byWorker: make([][]delivery, workers)}
	for range workers {
		c.boxes = append(c.boxes, f.mailbox())
	}
	a, err := c.boxes[0].CreateUser(f.ctx, f.at("ann"), []string{"INBOX", "Work"})
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.work = a.Folders[0], a.Folders[1]
	c.deliver()
	c.checkDelivered()
	moved, deleted, seen := c.change()
	audit, err := c.boxes[0].Audit(f.ctx)
	if err != nil {
		t.Fatalf("audit: %v", err)
	}
	left := workers*deliveriesEach - moved - deleted
	c.checkNumbers(c.in, models.Stats{Messages: left, Unread: left - seen})
	c.checkNumbers(c.work, models.Stats{Messages: moved, Unread: moved})
	if n := c.unknown.Load(); n > 0 {
		t.Logf("%d outcomes are not known; audit is %+v", n, audit)
		return
	}
	for _, n := range broken(audit) {
		if n.got != 0 {
			t.Errorf("audit: %d %s", n.got, n.what)
		}
	}
}

// deliveriesEach is how many messages each worker of a oneFolder delivers.
const deliveriesEach = 15

// done reports whether a call succeeded. It counts unknown outcomes.
func (c *oneFolder) done(what string, err error) bool {
	switch {
	case errors.Is(err, drivers.ErrUnknown) && !c.f.store.Capabilities().InProcess:
		c.unknown.Add(1)
	case err != nil:
		c.Errorf("%s: %v", what, err)
	}
	return err == nil
}

func (c *oneFolder) deliver() {
	var moment atomic.Int64
	parallel(func(w int) {
		for n := range deliveriesEach {
			h := make([]models.Handle, 1)
			d := delivery{begin: moment.Add(1)}
			err := c.boxes[w].Deliver(c.f.ctx, sample(w*deliveriesEach+n).Message(), []*models.Folder{c.in}, h)
			if c.done("deliver", err) {
				d.end, d.handle = moment.Add(1), h[0]
				c.byWorker[w] = append(c.byWorker[w], d)
			}
		}
	})
}

// checkDelivered checks that each acknowledged message is listed, and that its UID is
// below those of deliveries that began after it.
func (c *oneFolder) checkDelivered() {
	c.Helper()
	all := slices.Concat(c.byWorker...)
	es, err := pages(c.f.ctx, c.boxes[0], c.in, models.Handle{}, 25, 2*workers*deliveriesEach)
	if err != nil {
		c.Fatalf("list: %v", err)
	}
	listed := map[models.Handle]bool{}
	for _, e := range es {
		listed[e.Handle] = true
	}
	for _, d := range all {
		if !listed[d.handle] {
			c.Errorf("an acknowledged message is not listed: %x", d.handle)
		}
	}
	if n := len(es); len(listed) != n || n < len(all) || n > len(all)+int(c.unknown.Load()) {
		c.Errorf("%d entries, %d different ones, after %d deliveries and %d of unknown outcome", n, len(listed), len(all),
			c.unknown.Load())
	}
	u, ok := c.boxes[0].(models.UIDs)
	if !ok {
		return
	}
	for _, x := range all {
		for _, y := range all {
			if x.end < y.begin && u.UID(x.handle) >= u.UID(y.handle) {
				c.Errorf("UID %d was acknowledged before a delivery began that got UID %d", u.UID(x.handle), u.UID(y.handle))
			}
		}
	}
}

// change moves, deletes and flags three of four messages, and returns how many of each.
func (c *oneFolder) change() (moved, deleted, seen int64) {
	var counts [3]atomic.Int64
	parallel(func(w int) {
		for n, d := range c.byWorker[w] {
			h, err := []models.Handle{d.handle}, error(nil)
			switch n % 4 {
			case 0:
				err = c.boxes[w].Move(c.f.ctx, c.in, c.work, h, make([]models.Handle, 1))
			case 1:
				err = c.boxes[w].Delete(c.f.ctx, c.in, h)
			case 2:
				err = c.boxes[w].Flag(c.f.ctx, c.in, d.handle, models.Seen, true)
			default:
				continue
			}
			if c.done(fmt.Sprintf("message %d of worker %d", n, w), err) {
				counts[n%4].Add(1)
			}
		}
	})
	return counts[0].Load(), counts[1].Load(), counts[2].Load()
}

// checkNumbers compares the length of a folder's list and its numbers. The list may
// differ by one for each unknown outcome. The numbers are checked if there is none.
func (c *oneFolder) checkNumbers(f *models.Folder, want models.Stats) {
	c.Helper()
	unknown := c.unknown.Load()
	es, err := pages(c.f.ctx, c.boxes[0], f, models.Handle{}, 25, 2*workers*deliveriesEach)
	if n := int64(len(es)); err != nil || n < want.Messages-unknown || n > want.Messages+unknown {
		c.Errorf("list %s: %d messages, want %d, and %d outcomes are not known (%v)", f.Name, n, want.Messages, unknown, err)
	}
	st, err := c.boxes[0].Stats(c.f.ctx, f)
	if err != nil {
		c.Fatalf("stats: %v", err)
	}
	if err := equalNumbers(st.Known&^models.KnowBytes, st, want); err != nil && unknown == 0 {
		c.Errorf("stats of %s: %v", f.Name, err)
	}
}

// testAccountRace lets all workers create the same account and folder. One succeeds.
func testAccountRace(t *testing.T, s *suite) {
	f := s.start(t, models.Options{})
	boxes := make([]models.Mailbox, workers)
	for i := range boxes {
		boxes[i] = f.mailbox()
	}
	one := func(what string, create func(mb models.Mailbox) error) {
		t.Helper()
		var created atomic.Int64
		parallel(func(w int) {
			switch err := create(boxes[w]); {
			case err == nil:
				created.Add(1)
			case !errors.Is(err, models.ErrExists):
				t.Errorf("create %s at once: %v", what, err)
			}
		})
		if n := created.Load(); n != 1 {
			t.Errorf("%d workers created the same %s, want 1", n, what)
		}
	}
	for i := range 5 {
		address := f.at(fmt.Sprintf("user%d", i))
		one("account", func(mb models.Mailbox) error {
			_, err := mb.CreateUser(f.ctx, address, []string{"INBOX"})
			return err
		})
		a, err := boxes[0].Login(f.ctx, address)
		if err != nil {
			t.Fatalf("login: %v", err)
		}
		if len(a.Folders) != 1 {
			t.Errorf("%d folders after a race for an account with one", len(a.Folders))
		}
		one("folder", func(mb models.Mailbox) error {
			_, err := mb.CreateFolder(f.ctx, a, "Work")
			return err
		})
	}
	audit, err := boxes[0].Audit(f.ctx)
	if err != nil {
		t.Fatalf("audit: %v", err)
	}
	for _, c := range append(broken(audit), count{"unreferenced", audit.Unreferenced, 0}) {
		if c.got != 0 {
			t.Errorf("audit: %d %s", c.got, c.what)
		}
	}
}
