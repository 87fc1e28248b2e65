package modeltest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// workers is how many mailboxes the concurrent rules use at once.
const workers = 4

// parallel runs work in as many goroutines as there are workers.
func parallel(work func(worker int)) {
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { work(i) })
	}
	wg.Wait()
}

// oneFolder is several workers that use one folder.
type oneFolder struct {
	*fixture
	boxes    []models.Mailbox
	a        *models.Account
	byWorker [workers][]delivery
	unknown  atomic.Int64 // calls of unknown outcome
}

// delivery is an acknowledged delivery. begin and end are logical times.
type delivery struct {
	begin, end int64
	handle     models.Handle
}

// deliveriesEach is how many messages each worker of a oneFolder delivers.
const deliveriesEach = 15

// testWorkersOneFolder lets all workers deliver to one folder. Then each worker moves, deletes
// and flags its own messages there. Over a network outcomes may be unknown, for example
// after many compare-and-sets at once. Then lists may differ by as many messages, and the test
// only logs the audit.
func testWorkersOneFolder(t *testing.T, s *suite) {
	c := &oneFolder{fixture: s.start(t, Sized(0, 9))}
	for range workers {
		c.boxes = append(c.boxes, c.mailbox())
	}
	var err error
	c.a, err = c.boxes[0].CreateUser(c.ctx, c.at("ann"), []string{"INBOX", "Work"})
	c.Must(err)
	var moment atomic.Int64
	parallel(func(w int) {
		x := newCall(c.ctx, c.boxes[w], c.a)
		for n := range deliveriesEach {
			x.m = sample(w*deliveriesEach + n).Message()
			d := delivery{begin: moment.Add(1)}
			if c.done("deliver", the("deliver").run(x)) {
				d.end, d.handle = moment.Add(1), x.made[0]
				c.byWorker[w] = append(c.byWorker[w], d)
			}
		}
	})
	c.checkDelivered(slices.Concat(c.byWorker[:]...))

	changes := [...]string{"move", "delete", "flag"}
	var done [len(changes)]atomic.Int64
	parallel(func(w int) {
		x := newCall(c.ctx, c.boxes[w], c.a)
		for n, d := range c.byWorker[w] {
			if change := n % 4; change < len(changes) {
				x.hs = []models.Handle{d.handle}
				if c.done(changes[change], the(changes[change]).run(x)) {
					done[change].Add(1)
				}
			}
		}
	})
	audit, err := c.boxes[0].Audit(c.ctx)
	c.Must(err)
	moved := done[0].Load()
	left := workers*deliveriesEach - moved - done[1].Load()
	c.checkNumbers("INBOX", models.Stats{Messages: left, Unread: left - done[2].Load()})
	c.checkNumbers("Work", models.Stats{Messages: moved, Unread: moved})
	if n := c.unknown.Load(); n > 0 {
		t.Logf("%d outcomes are not known; audit is %+v", n, audit)
		return
	}
	for _, f := range countsOf(audit).faults() {
		t.Errorf("audit: %s", f)
	}
}

// done reports whether a call succeeded. It counts unknown outcomes.
func (c *oneFolder) done(what string, err error) bool {
	switch {
	case errors.Is(err, drivers.ErrUnknown) && !c.Store.Capabilities().InProcess:
		c.unknown.Add(1)
	case err != nil:
		c.Errorf("%s: %v", what, err)
	}
	return err == nil
}

// checkDelivered checks that each acknowledged message is listed, and that its UID is
// below those of deliveries that began after it.
func (c *oneFolder) checkDelivered(all []delivery) {
	c.TB.Helper()
	es, err := pages(c.ctx, c.boxes[0], c.a.Folders[0], models.Handle{}, 25, 2*workers*deliveriesEach)
	c.Must(err)
	listed := map[models.Handle]bool{}
	for _, e := range es {
		listed[e.Handle] = true
	}
	u, ok := c.boxes[0].(models.UIDs)
	for _, x := range all {
		if !listed[x.handle] {
			c.Errorf("an acknowledged message is not listed: %x", x.handle)
		}
		for _, y := range all {
			if ok && x.end < y.begin && u.UID(x.handle) >= u.UID(y.handle) {
				c.Errorf("UID %d was acknowledged before a delivery began that got UID %d", u.UID(x.handle), u.UID(y.handle))
			}
		}
	}
	if n := len(es); len(listed) != n || n < len(all) || n > len(all)+int(c.unknown.Load()) {
		c.Errorf("%d entries, %d different ones, after %d deliveries and %d of unknown outcome", n, len(listed), len(all),
			c.unknown.Load())
	}
}

// checkNumbers compares the length of a folder's list and its numbers. The list may
// differ by one for each unknown outcome. The numbers are checked if there is none.
func (c *oneFolder) checkNumbers(folder string, want models.Stats) {
	c.TB.Helper()
	f, unknown := c.a.Folder(folder), c.unknown.Load()
	es, err := pages(c.ctx, c.boxes[0], f, models.Handle{}, 25, 2*workers*deliveriesEach)
	c.Must(err)
	if n := int64(len(es)); n < want.Messages-unknown || n > want.Messages+unknown {
		c.Errorf("list %s: %d messages, want %d, and %d outcomes are not known", folder, n, want.Messages, unknown)
	}
	st, err := c.boxes[0].Stats(c.ctx, f)
	c.Must(err)
	if err := equalNumbers(st.Known&^models.KnowBytes, st, want); err != nil && unknown == 0 {
		c.Errorf("stats of %s: %v", folder, err)
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
		f.Must(err)
		if len(a.Folders) != 1 {
			t.Errorf("%d folders after a race for an account with one", len(a.Folders))
		}
		one("folder", func(mb models.Mailbox) error {
			_, err := mb.CreateFolder(f.ctx, a, "Work")
			return err
		})
	}
	audit, err := boxes[0].Audit(f.ctx)
	f.Must(err)
	if fs := countsOf(audit).faults(); len(fs) > 0 || audit.Unreferenced > 0 {
		t.Errorf("audit: %q, %d unreferenced", fs, audit.Unreferenced)
	}
}
