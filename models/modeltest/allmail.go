package modeltest

import (
	"slices"
	"testing"

	"github.com/mailbench/mailbench/models"
)

// testAllMail: all mail of an account is listed once, newest first, with its numbers, whichever folders
// show it; what is deleted is not, and neither is mail of others.
func testAllMail(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	a, other := diff.user(diff.at("ann"), "INBOX", "Work"), diff.user(diff.at("bob"), "INBOX")
	in, work := a.folders[0], a.folders[1]
	var want []models.Handle
	var sizes []int64
	for n := range 30 {
		m := sample(n).Message()
		sizes = append(sizes, m.Raw.Size())
		want = append(want, diff.deliver(m, a.folders[n%2])[0].got)
	}
	diff.deliver(sample(30).Message(), other.folders[0])
	diff.move(in, work, diff.live(in)[2])
	gone := diff.live(work)[4]
	diff.delete(work, gone)
	at := slices.Index(want, gone.got)
	want, sizes = slices.Delete(want, at, at+1), slices.Delete(sizes, at, at+1)
	all := diff.got.(models.AllMailer)
	for _, limit := range []int{1, 7, 25, 100} {
		got := entries(t, func(y func(*models.Entry) error) error {
			return diff.got.List(diff.ctx, all.AllMail(a.got), models.Handle{}, limit, y)
		})
		seen := map[models.Handle]bool{}
		for i, e := range got {
			if seen[e.Handle] || !slices.Contains(want, e.Handle) || i > 0 && e.Date.After(got[i-1].Date) {
				t.Errorf("all mail: message %d is there twice, not of the account, or newer than the one before", i)
			}
			seen[e.Handle] = true
		}
		if len(got) != min(limit, len(want)) {
			t.Errorf("%d of all mail: %d messages", limit, len(got))
		}
	}
	var bytes int64
	for _, n := range sizes {
		bytes += n
	}
	stats, err := diff.got.Stats(diff.ctx, all.AllMail(a.got))
	if err != nil || stats.Messages != int64(len(want)) || stats.Bytes != bytes || !stats.Known.Has(models.KnowBytes) {
		t.Errorf("totals %+v (%v), want %d messages of %d bytes", stats, err, len(want), bytes)
	}
	diff.check()
}
