package modeltest

import (
	"errors"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

func testLabels(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{OverflowAfter: 3}).twin()
	a, b := tw.user(tw.at("ann"), "INBOX", "Work", "Todo"), tw.user(tw.at("bob"), "INBOX")
	in, work, todo := a.folders[0], a.folders[1], a.folders[2]
	for n := range 8 {
		d := letter(n)
		d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(300, n)}}
		tw.deliver(d.Message(), in, b.folders[0])
	}
	ms := tw.live(in)
	tw.flag(ms[1], models.Seen, true)
	var labelled []message
	for _, m := range ms[:4] {
		l, _ := tw.label(m, work, true)
		labelled = append(labelled, l)
	}
	tw.check()
	tw.label(ms[0], work, true) // again: nothing changes
	tw.label(ms[5], todo, false)
	tw.check()
	tw.label(labelled[2], todo, true)
	tw.check()

	// Flags, moves and deletes of what several folders show.
	tw.flag(labelled[0], models.Seen, true)
	tw.flag(ms[1], models.Seen, false)
	tw.check()
	tw.move(work, todo, labelled[0])
	tw.check()
	tw.move(work, in, labelled[3]) // where it is already
	tw.check()
	tw.delete(work, labelled[1])
	tw.check()

	// Labels go one by one; the message is not deleted with the last.
	tw.label(labelled[2], in, false)
	tw.check()
	tw.label(labelled[2], work, false)
	tw.check()
	rest := tw.live(todo)
	tw.label(rest[0], todo, false)
	tw.check()
}

func testPurge(t *testing.T, s *suite) {
	tw := s.start(t, models.Options{ChunkSize: 1000}).twin()
	a, b := tw.user(tw.at("ann"), "INBOX", "Work"), tw.user(tw.at("bob"), "INBOX")
	in, work := a.folders[0], a.folders[1]
	for n := range 10 {
		d := letter(n)
		d.Files = []File{{Name: "f", Encoding: mail.Base64, Content: noise(3000, n)}}
		tw.deliver(d.Message(), in, b.folders[0])
	}
	ms := tw.live(in)
	tw.flag(ms[1], models.Seen, true)
	tw.label(ms[1], work, true)
	tw.delete(in, ms[:4]...)
	tw.check()
	tw.restore(ms[1])
	tw.check()
	if err := tw.restore(ms[1]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("restore what is not deleted: error is %v", err)
	}
	if err := tw.got.(models.Purger).Restore(tw.ctx, a.got, models.Handle{}); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("restore the zero handle: error is %v", err)
	}
	if err := tw.restore(ms[8]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("restore what never was deleted: error is %v", err)
	}
	tw.check()

	between := tw.clock.now().Add(500 * time.Millisecond)
	tw.delete(in, ms[4:6]...)
	if n := tw.purge(a, start); n != 0 {
		t.Errorf("purged %d messages deleted before any was", n)
	}
	tw.check()
	if n := tw.purge(a, between); n != 3 {
		t.Errorf("purged %d, want the 3 deleted before then", n)
	}
	tw.check()
	if err := tw.restore(ms[0]); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("restore what was purged: error is %v", err)
	}
	tw.restore(ms[4])
	tw.check()
	tw.purge(a, tw.clock.now().Add(time.Hour))
	tw.check()

	// To and fro in one instant; then the sample of the document, where one
	// message is in the purge index twice.
	tw.tick = 0
	m := ms[7]
	for range 3 {
		tw.delete(in, m)
		tw.check()
		tw.restore(m)
		tw.check()
	}
	tw.delete(in, m)
	tw.purge(a, tw.clock.now()) // deleted at that time, not before
	tw.check()
	tw.clock.advance(time.Hour)
	tw.purge(a, tw.clock.now())
	tw.check()
}

// testRecount puts every counter wrong, sees the audit count that, and counts anew.
func testRecount(t *testing.T, s *suite) {
	f := s.start(t, models.Options{})
	tw := f.twin()
	for _, address := range []string{tw.at("ann"), tw.at("bob")} {
		a := tw.user(address, "INBOX", "Work")
		for n := range 5 {
			tw.deliver(letter(n).Message(), a.folders[n%2])
		}
		tw.flag(tw.live(a.folders[0])[0], models.Seen, true)
	}
	tw.check()
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
	audit, err := tw.got.Audit(tw.ctx)
	if err != nil {
		t.Fatalf("audit: %v", err)
	}
	if audit.CounterDrift != drift {
		t.Errorf("audit: counter drift %d, want %d", audit.CounterDrift, drift)
	}
	for _, a := range tw.accounts {
		if err := tw.got.(models.Recounter).Recount(tw.ctx, a.got); err != nil {
			t.Fatalf("recount: %v", err)
		}
	}
	tw.check()
}
