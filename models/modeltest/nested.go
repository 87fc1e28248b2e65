package modeltest

import (
	"errors"
	"testing"

	"github.com/mailbench/mailbench/models"
)

// testNested: a nested read yields the messages of an account as lists do, and an empty folder.
func testNested(t *testing.T, s *suite) {
	diff := s.start(t, models.Options{}).differential()
	a, other := diff.user(diff.at("ann"), "INBOX", "Empty", "Work"), diff.user(diff.at("bob"), "INBOX")
	for n := range 30 {
		diff.deliver(sample(n).Message(), a.folders[n%2*2], other.folders[0])
	}
	diff.flag(diff.live(a.folders[0])[3], models.Seen, true)
	nester := diff.got.(models.Nester)
	want := map[string]map[models.Handle]models.Entry{}
	for _, f := range a.folders {
		want[f.ref.Name] = map[models.Handle]models.Entry{}
		for _, e := range entries(t, func(y func(*models.Entry) error) error {
			return diff.got.List(diff.ctx, f.got, models.Handle{}, 100, y)
		}) {
			want[f.ref.Name][e.Handle] = e
		}
	}
	messages, empty := 0, 0
	if err := nester.Nested(diff.ctx, a.got, func(folder string, e *models.Entry) error {
		if e == nil {
			if empty++; folder != "Empty" {
				t.Errorf("%s has no messages", folder)
			}
			return nil
		}
		w, ok := want[folder][e.Handle]
		if !ok || string(w.From) != string(e.From) || string(w.Subject) != string(e.Subject) || w.Size != e.Size ||
			w.Seen != e.Seen || !w.Date.Equal(e.Date) {
			t.Errorf("%s has %+v, want %+v", folder, e, w)
		}
		delete(want[folder], e.Handle)
		messages++
		return nil
	}); err != nil || messages != 30 || empty != 1 {
		t.Errorf("%d messages and %d empty folders (%v), want 30 and 1", messages, empty, err)
	}
	stop := errors.New("stop")
	if err := nester.Nested(diff.ctx, a.got, func(string, *models.Entry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error from yield comes as %v", err)
	}
}
