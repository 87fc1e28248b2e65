package modeltest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mailbench/mailbench/models"
)

// workers is how many mailboxes the concurrent rules use at once.
const workers = 4

// workerT lets a rule's helpers fail within a goroutine of its own: what fails
// is reported, and the worker ends.
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

// testWorkers gives each worker an account of its own and lets them work at
// once; none sees anything of the others.
func testWorkers(t *testing.T, s *suite) {
	f := s.start(t, models.Options{ChunkSize: 1000, OverflowAfter: 5})
	ref := newReference(s.traits, f.clock.now)
	twins := make([]*twin, workers)
	for i := range twins {
		twins[i] = f.twinOf(ref, f.mailbox())
		twins[i].t, twins[i].tick = workerT{t}, 0 // the clock is everybody's
	}
	parallel(func(w int) {
		tw := twins[w]
		a := tw.user(tw.at(fmt.Sprintf("user%d", w)), "INBOX", "Work")
		in, work := a.folders[0], a.folders[1]
		for n := range 12 {
			d := letter(n)
			d.Files = []File{{Name: "f", Encoding: models.Base64, Content: noise(n*300, w*100+n)}}
			m := tw.deliver(d.Message(), in)[0]
			if n%2 == 0 {
				tw.flag(m, models.Seen, true)
			}
			if n%3 == 0 {
				tw.move(in, work, m)
			}
			if n%5 == 4 {
				tw.delete(in, tw.live(in)[0])
			}
			tw.checkFolder(in, 4)
		}
	})
	if t.Failed() {
		return
	}
	all := f.twinOf(ref, f.mailbox())
	for _, tw := range twins {
		all.accounts = append(all.accounts, tw.accounts...)
		for r, g := range tw.handles {
			all.handles[r] = g
		}
	}
	all.check()
}

// testWorkersOneFolder lets all workers deliver to one folder, and then each
// flag, move and delete messages of its own there.
func testWorkersOneFolder(t *testing.T, s *suite) {
	const each = 15
	f := s.start(t, models.Options{OverflowAfter: 9})
	mb := f.mailbox()
	a, err := mb.CreateUser(f.ctx, f.at("ann"), []string{"INBOX", "Work"})
	if err != nil {
		t.Fatal(err)
	}
	in, work := a.Folders[0], a.Folders[1]
	type delivery struct {
		begin, end int64
		handle     models.Handle
	}
	var moment atomic.Int64
	byWorker := make([][]delivery, workers)
	boxes := make([]models.Mailbox, workers)
	for i := range boxes {
		boxes[i] = f.mailbox()
	}
	parallel(func(w int) {
		for n := range each {
			h := make([]models.Handle, 1)
			d := delivery{begin: moment.Add(1)}
			if err := boxes[w].Deliver(f.ctx, letter(w*each+n).Message(), []*models.Folder{in}, h); err != nil {
				t.Errorf("deliver: %v", err)
				return
			}
			d.end, d.handle = moment.Add(1), h[0]
			byWorker[w] = append(byWorker[w], d)
		}
	})
	all := slices.Concat(byWorker...)
	es, err := pages(f.ctx, mb, in, 25, 2*workers*each)
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	listed := map[models.Handle]bool{}
	for _, e := range es {
		listed[e.Handle] = true
	}
	for _, d := range all {
		if !listed[d.handle] {
			t.Errorf("an acknowledged message is not listed: %x", d.handle)
		}
	}
	if len(es) != workers*each || len(listed) != len(es) {
		t.Errorf("%d entries, %d different ones, after %d deliveries", len(es), len(listed), workers*each)
	}
	if u, ok := mb.(models.UIDs); ok {
		for _, x := range all {
			for _, y := range all {
				if x.end < y.begin && u.UID(x.handle) >= u.UID(y.handle) {
					t.Errorf("UID %d was acknowledged before a delivery began that got UID %d", u.UID(x.handle), u.UID(y.handle))
				}
			}
		}
	}
	var seen, moved, deleted atomic.Int64
	parallel(func(w int) {
		for n, d := range byWorker[w] {
			h, err := []models.Handle{d.handle}, error(nil)
			switch n % 4 {
			case 0:
				err = boxes[w].Flag(f.ctx, in, d.handle, models.Seen, true)
				seen.Add(1)
			case 1:
				err = boxes[w].Move(f.ctx, in, work, h, make([]models.Handle, 1))
				moved.Add(1)
			case 2:
				err = boxes[w].Delete(f.ctx, in, h)
				deleted.Add(1)
			}
			if err != nil {
				t.Errorf("message %d of worker %d: %v", n, w, err)
			}
		}
	})
	left := workers*each - moved.Load() - deleted.Load()
	for folder, want := range map[*models.Folder]models.Stats{
		in:   {Messages: left, Unread: left - seen.Load()},
		work: {Messages: moved.Load(), Unread: moved.Load()},
	} {
		st, err := mb.Stats(f.ctx, folder)
		if err != nil {
			t.Fatalf("stats: %v", err)
		}
		if err := equalNumbers(st.Known&^models.KnowBytes, st, want); err != nil {
			t.Errorf("stats of %s: %v", folder.Name, err)
		}
		es, err := pages(f.ctx, mb, folder, 25, 2*workers*each)
		if err != nil || int64(len(es)) != want.Messages {
			t.Errorf("list %s: %d messages, want %d (%v)", folder.Name, len(es), want.Messages, err)
		}
	}
	audit, err := mb.Audit(f.ctx)
	if err != nil {
		t.Fatalf("audit: %v", err)
	}
	for _, c := range broken(audit) {
		if c.got != 0 {
			t.Errorf("audit: %d %s", c.got, c.what)
		}
	}
}

// testAccountRace lets all workers create the same account and folder: one does.
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
