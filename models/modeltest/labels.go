package modeltest

import (
	"errors"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

func testLabels(t *testing.T, s *suite) {
	diff := s.start(t, Sized(0, 3)).differential()
	a, b := diff.user(diff.at("ann"), "INBOX", "Work", "Todo"), diff.user(diff.at("bob"), "INBOX")
	in, work, todo := a.folders[0], a.folders[1], a.folders[2]
	for n := range 8 {
		d := sample(n)
		d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(300, n)}}
		diff.deliver(d.Message(), in, b.folders[0])
	}
	ms := diff.live(in)
	diff.flag(ms[1], models.Seen, true)
	var labelled []message
	for _, m := range ms[:4] {
		l, _ := diff.label(m, work, true)
		labelled = append(labelled, l)
	}
	diff.check()
	diff.label(ms[0], work, true) // again: nothing changes
	diff.label(ms[5], todo, false)
	diff.check()
	diff.label(labelled[2], todo, true)
	diff.check()

	// Several folders show the messages that are flagged, moved and deleted here.
	diff.flag(labelled[0], models.Seen, true)
	diff.flag(ms[1], models.Seen, false)
	diff.check()
	diff.move(work, todo, labelled[0])
	diff.check()
	diff.move(work, in, labelled[3]) // it is there already
	diff.check()
	diff.delete(work, labelled[1])
	diff.check()

	// Labels go one by one; the message is not deleted with the last.
	diff.label(labelled[2], in, false)
	diff.check()
	diff.label(labelled[2], work, false)
	diff.check()
	rest := diff.live(todo)
	diff.label(rest[0], todo, false)
	diff.check()
}

func testPurge(t *testing.T, s *suite) {
	diff := s.start(t, Sized(2000, 0)).differential()
	a, b := diff.user(diff.at("ann"), "INBOX", "Work"), diff.user(diff.at("bob"), "INBOX")
	in, work := a.folders[0], a.folders[1]
	for n := range 10 {
		d := sample(n)
		d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(3000, n)}}
		diff.deliver(d.Message(), in, b.folders[0])
	}
	ms := diff.live(in)
	diff.flag(ms[1], models.Seen, true)
	diff.label(ms[1], work, true)
	diff.delete(in, ms[:4]...)
	diff.check()
	diff.restore(ms[1])
	diff.check()
	if err := diff.restore(ms[1]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("restore what is not deleted: error is %v", err)
	}
	if err := diff.got.(models.Purger).Restore(diff.ctx, a.got, models.Handle{}); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("restore the zero handle: error is %v", err)
	}
	if err := diff.restore(ms[8]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("restore what never was deleted: error is %v", err)
	}
	diff.check()

	between := diff.clock.now().Add(500 * time.Millisecond)
	diff.delete(in, ms[4:6]...)
	if n := diff.purge(a, start); n != 0 {
		t.Errorf("purged %d messages deleted before any was", n)
	}
	diff.check()
	if n := diff.purge(a, between); n != 3 {
		t.Errorf("purged %d, want the 3 deleted before then", n)
	}
	diff.check()
	if err := diff.restore(ms[0]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("restore what was purged: error is %v", err)
	}
	diff.restore(ms[4])
	diff.check()
	diff.purge(a, diff.clock.now().Add(time.Hour))
	diff.check()

	// Delete and restore several times at the same time of the clock. Then one message is in
	// the purge index twice, as in the document's sample.
	diff.tick = 0
	m := ms[7]
	for range 3 {
		diff.delete(in, m)
		diff.check()
		diff.restore(m)
		diff.check()
	}
	diff.delete(in, m)
	diff.purge(a, diff.clock.now()) // deleted at that time, not before
	diff.check()
	diff.clock.advance(time.Hour)
	diff.purge(a, diff.clock.now())
	diff.check()
}

// testRecount makes every counter wrong, checks that the audit counts the drift, and recounts.
func testRecount(t *testing.T, s *suite) {
	f := s.start(t, models.Options{})
	diff := f.differential()
	for _, address := range []string{diff.at("ann"), diff.at("bob")} {
		a := diff.user(address, "INBOX", "Work")
		for n := range 5 {
			diff.deliver(sample(n).Message(), a.folders[n%2])
		}
		diff.flag(diff.live(a.folders[0])[0], models.Seen, true)
	}
	diff.check()
	var drift int64
	for _, table := range f.schema.Tables {
		for _, c := range table.Columns {
			if c.Type.Kind == counterKind {
				for _, row := range f.scan(table) {
					drift += 3
					f.add(table, row, c.Name, 3)
				}
			}
		}
	}
	if drift == 0 {
		t.Fatal("no counter in the schema")
	}
	audit, err := diff.got.Audit(diff.ctx)
	if err != nil {
		t.Fatalf("audit: %v", err)
	}
	if audit.CounterDrift != drift {
		t.Errorf("audit: counter drift %d, want %d", audit.CounterDrift, drift)
	}
	for _, a := range diff.accounts {
		if err := diff.got.(models.Recounter).Recount(diff.ctx, a.got); err != nil {
			t.Fatalf("recount: %v", err)
		}
	}
	diff.check()
}
