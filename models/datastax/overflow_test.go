package datastax

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
)

func TestNames(t *testing.T) {
	f := &folder{label: "inbox"}
	for range 2 {
		for n, want := range []string{"inbox", "inbox-overflow-1", "inbox-overflow-2", "inbox-overflow-3"} {
			if got := string(f.appendName(nil, int32(n))); got != want || base(got) != "inbox" {
				t.Errorf("overflow %d is %q of %q, want %q", n, got, base(got), want)
			}
		}
		if got := string(f.appendName(nil, 40)); got != "inbox-overflow-40" {
			t.Errorf("overflow 40 is %q", got)
		}
	}
	for _, own := range []string{
		"", "-overflow-", "a-overflow-", "a-overflow-0", "a-overflow-01", "a-overflow-+1",
		"a-overflow-x", "overflow-1", "a-overflow-1 ",
	} {
		if base(own) != own {
			t.Errorf("%q is taken for an overflow of %q", own, base(own))
		}
	}
	w := start(t, models.Options{})
	if _, err := w.mb.CreateUser(t.Context(), "a@example.org", []string{"inbox", "inbox-overflow-1"}); err == nil {
		t.Error("an account was created with a folder that is named like an overflow label")
	}
	a := w.user("a@example.org", "inbox")
	if _, err := w.mb.CreateFolder(t.Context(), a, "inbox-overflow-1"); err == nil {
		t.Error("a folder was created that is named like an overflow label")
	}
}

// TestOverflow fills labels and reads pages across their seams.
func TestOverflow(t *testing.T) {
	w := start(t, modeltest.Sized(0, 40))
	a := w.user("a@example.org", "inbox", "work")
	in := a.Folders[0]
	var want []models.Handle
	for range 100 {
		want = append(want, w.deliver(in)[0])
	}
	slices.Reverse(want)
	if got, want := w.labels(), map[string]int{
		"inbox": 40, "inbox-overflow-1": 40,
		"inbox-overflow-2": 20,
	}; !maps.Equal(got, want) {
		t.Errorf("labels show %v, want %v", got, want)
	}
	for _, page := range []int{1, 7, 19, 20, 21, 25, 100, 200} {
		if got := w.list(in, page); !slices.Equal(got, want) {
			t.Errorf("%d messages in pages of %d, want the 100 delivered, newest first", len(got), page)
		}
	}
	w.Meter.Take()
	w.list(in, 200)
	if c := w.Meter.Take(); c.Requests != 3 {
		t.Errorf("a page of three labels takes %d calls, want 3", c.Requests)
	}
	// Q1 shows one folder, and counts all of it.
	w.Must(w.mb.Flag(t.Context(), in, want[70], models.Seen, true))
	var infos []models.FolderInfo
	w.Must(w.mb.Folders(t.Context(), a, func(i models.FolderInfo) error {
		infos = append(infos, i)
		return nil
	}))
	if want := []models.FolderInfo{
		{Name: "inbox", Known: models.KnowUnread, Unread: 99},
		{Name: "work", Known: models.KnowUnread},
	}; !slices.Equal(infos, want) {
		t.Errorf("folders are %v, want %v", infos, want)
	}
	if st, err := w.mb.Stats(t.Context(), in); err != nil || st.Messages != 100 || st.Unread != 99 {
		t.Errorf("stats are %+v, %v, want 100 messages, 99 unread", st, err)
	}
	w.whole()
}

// TestSkew sets the clock back before each delivery, so that newer labels hold
// older ids, and moves old messages to the newest label.
func TestSkew(t *testing.T) {
	w := start(t, modeltest.Sized(0, 5))
	a := w.user("a@example.org", "inbox", "work")
	in, work := a.Folders[0], a.Folders[1]
	var all []models.Handle
	for i := range 24 {
		w.Advance(time.Duration(i%7-5) * time.Minute)
		all = append(all, w.deliver(in)[0])
	}
	old := w.deliver(work)
	for range 6 {
		w.deliver(work)
	}
	moved := make([]models.Handle, 1)
	w.Must(w.mb.Move(t.Context(), work, in, old, moved))
	if overflowOf(moved[0]) == 0 {
		t.Error("a message moved to a folder with overflow labels is under its first one")
	}
	all = append(all, moved...)
	slices.SortFunc(all, func(x, y models.Handle) int { return compareTime(idOf(y), idOf(x)) })
	for _, page := range []int{1, 2, 5, 25} {
		if got := w.list(in, page); !slices.Equal(got, all) {
			t.Errorf("pages of %d are not the folder by time", page)
		}
	}
	// Back in the folder that it came from, whichever label that is.
	w.Must(w.mb.Move(t.Context(), in, work, moved, moved))
	w.Must(w.mb.Open(t.Context(), work, moved[0], &models.Opened{}))
	w.whole()
}

// TestRowsOfTwoLabels reads pages of two labels: no more rows than a page has, unless the newest label shows an email that is
// older than those of the label before.
func TestRowsOfTwoLabels(t *testing.T) {
	w := start(t, modeltest.Sized(0, 5))
	a := w.user("a@example.org", "inbox", "work")
	in, work := a.Folders[0], a.Folders[1]
	old := w.deliver(work)
	var want []models.Handle
	for range 21 {
		w.Advance(2 * late)
		want = append(want, w.deliver(in)[0])
	}
	slices.Reverse(want)
	page := func(calls, rows int64) {
		t.Helper()
		w.Meter.Take()
		var got []models.Handle
		w.Must(w.mb.List(t.Context(), in, models.Handle{}, 5, func(e *models.Entry) error {
			got = append(got, e.Handle)
			return nil
		}))
		if c := w.Meter.Take(); c.Requests != calls || c.RowsRead != rows || !slices.Equal(got, want[:5]) {
			t.Errorf("%d messages, %d calls and %d rows, want the newest 5, %d and %d", len(got), c.Requests, c.RowsRead, calls, rows)
		}
	}
	page(2, 5)
	w.Must(w.mb.Move(t.Context(), work, in, old, make([]models.Handle, 1)))
	page(3, 7)
}

// TestEmptiedLabel deletes all that the first label shows, and the second: the
// labels after them are found all the same, also by another process.
func TestEmptiedLabel(t *testing.T) {
	w := start(t, modeltest.Sized(0, 5))
	in := w.user("a@example.org", "inbox").Folders[0]
	var hs []models.Handle
	for range 13 {
		hs = append(hs, w.deliver(in)[0])
	}
	w.Must(w.mb.Delete(t.Context(), in, hs[:10]))
	want := slices.Clone(hs[10:])
	slices.Reverse(want)
	if got := w.list(in, 25); !slices.Equal(got, want) {
		t.Errorf("%d messages after the first labels were emptied, want 3", len(got))
	}
	w.mb = w.bind(modeltest.Sized(0, 5))
	a, err := w.mb.Login(t.Context(), "a@example.org")
	w.Must(err)
	if got := w.list(a.Folders[0], 2); !slices.Equal(got, want) {
		t.Errorf("another process lists %d messages after the first labels were emptied, want 3", len(got))
	}
	w.deliver(a.Folders[0])
	if got := w.labels(); got["inbox-overflow-2"] != 4 {
		t.Errorf("labels show %v: the newest one takes deliveries", got)
	}
	w.whole()
}

// TestConcurrentRollOver lets eight workers of two processes deliver to one folder while
// its labels roll over again and again.
func TestConcurrentRollOver(t *testing.T) {
	const workers, each, limit = 8, 40, 6
	w := start(t, models.Options{})
	w.user("a@example.org", "inbox")
	var boxes []*mailbox
	var folders []*models.Folder
	for range 2 {
		b := w.Bind(modeltest.Sized(0, limit))
		a, err := w.worker(b).Login(t.Context(), "a@example.org")
		w.Must(err)
		for range workers / 2 {
			boxes, folders = append(boxes, w.worker(b)), append(folders, a.Folders[0])
		}
	}
	byWorker := make([][]models.Handle, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for range each {
				byWorker[i] = append(byWorker[i], w.deliverTo(boxes[i], folders[i])...)
			}
		})
	}
	wg.Wait()
	want := slices.Concat(byWorker...)
	slices.SortFunc(want, func(x, y models.Handle) int { return compareTime(idOf(y), idOf(x)) })
	if got := w.list(folders[0], 25); !slices.Equal(got, want) {
		t.Errorf("%d messages are listed, want the %d delivered, by time", len(got), len(want))
	}
	labels := w.labels()
	for label, n := range labels {
		if n > limit+workers {
			t.Errorf("label %s shows %d emails; %d workers may overrun the limit of %d by one each", label, n, workers, limit)
		}
	}
	if len(labels) < workers*each/(limit+workers) {
		t.Errorf("labels are %v", labels)
	}
	w.whole()
}

// TestOrder compares the order of ids in memory with that of the store.
func TestOrder(t *testing.T) {
	g := models.NewTimeUUIDs(7)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var ids [][16]byte
	for i := range 300 {
		ids = append(ids, g.Next(at.Add(time.Duration(i%7)*time.Hour*24*400)))
	}
	w := start(t, models.Options{})
	table := w.Schema.Table("emails_by_user_folder")
	for _, id := range ids {
		_, err := w.Meter.Write(t.Context(), w.mb.do.SetRead, []drivers.Value{
			drivers.Text("u"), drivers.Text("l"),
			drivers.TimeUUID(id), drivers.Boolean(true),
		})
		w.Must(err)
	}
	slices.SortFunc(ids, func(a, b [16]byte) int { return compareTime(b, a) })
	i := 0
	for _, row := range w.Rows(table.Name) {
		if got := row[2].UUIDBytes(); !bytes.Equal(got[:], ids[i][:]) {
			t.Fatalf("id %d is %x in the store, want %x", i, got, ids[i])
		}
		i++
	}
}

// TestManyLabels: a page near the newest reads one or two labels, whatever their number.
func TestManyLabels(t *testing.T) {
	const limit = 50
	for _, labels := range []int{3, 30} {
		w := start(t, modeltest.Sized(0, limit))
		in := w.user("a@example.org", "inbox").Folders[0]
		var want []models.Handle
		deliver := func(n int) {
			for range n {
				w.Advance(10 * time.Minute)
				want = append(want, w.deliver(in)[0])
			}
		}
		first := func(in *models.Folder) int64 {
			w.Meter.Take()
			w.Must(w.mb.List(t.Context(), in, models.Handle{}, 25, func(*models.Entry) error { return nil }))
			return w.Meter.Take().Requests
		}
		deliver(limit*(labels-1) + 40)
		if n := len(w.labels()); n != labels {
			t.Fatalf("there are %d labels, want %d", n, labels)
		}
		if n := first(in); n != 1 {
			t.Errorf("%d labels, the newest of 40 emails: a page takes %d calls, want 1", labels, n)
		}
		deliver(20)
		if n := first(in); n != 2 {
			t.Errorf("%d labels, the newest of 10 emails: a page takes %d calls, want 2", labels+1, n)
		}
		slices.Reverse(want)
		for _, page := range []int{7, 25, 60} {
			if got := w.list(in, page); !slices.Equal(got, want) {
				t.Errorf("%d labels: %d messages in pages of %d, want the %d delivered", labels+1, len(got), page, len(want))
			}
		}
		// Another process must first find the newest label.
		w.mb = w.bind(modeltest.Sized(0, limit))
		a, err := w.mb.Login(t.Context(), "a@example.org")
		w.Must(err)
		if n := first(a.Folders[0]); n > 4 {
			t.Errorf("%d labels: the first page of another process takes %d calls, want 4 at most", labels+1, n)
		}
		if n := first(a.Folders[0]); n != 2 {
			t.Errorf("%d labels: its second page takes %d calls, want 2", labels+1, n)
		}
		w.whole()
	}
}

// TestSeam: a process that has not seen that a label is full puts newer emails under it, and a list
// shows them where they belong. It looks again when its lease has ended.
func TestSeam(t *testing.T) {
	const limit = 80 // a process that looks gets room for five
	w := start(t, modeltest.Sized(0, limit))
	in := w.user("a@example.org", "inbox").Folders[0]
	other := w.Bind(modeltest.Sized(0, limit))
	a, err := w.worker(other).Login(t.Context(), "a@example.org")
	w.Must(err)
	stale, here := w.worker(other), w.mb
	var want []models.Handle
	want = append(want, w.deliverTo(stale, a.Folders[0])...) // it looks
	for range limit + 30 {
		w.Advance(15 * time.Second)
		want = append(want, w.deliverTo(here, in)...)
	}
	if labels := w.labels(); labels["inbox-overflow-1"] == 0 {
		t.Fatalf("labels are %v: the first one must be full", labels)
	}
	late := w.deliverTo(stale, a.Folders[0])
	want = append(want, late...)
	if overflowOf(late[0]) != 0 {
		t.Error("the stale process has seen the roll-over")
	}
	w.mb = here
	slices.Reverse(want)
	for _, page := range []int{1, 10, 25} {
		if got := w.list(in, page); !slices.Equal(got, want) {
			t.Errorf("%d messages in pages of %d, the newest is %x; want %d, and %x first", len(got), page, got[0], len(want), want[0])
		}
	}
	w.Advance(lease + time.Minute)
	if h := w.deliverTo(stale, a.Folders[0]); overflowOf(h[0]) != 1 {
		t.Error("the stale process has not looked again after its lease")
	}
	w.whole()
}
