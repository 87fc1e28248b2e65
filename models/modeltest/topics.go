package modeltest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// testLarge delivers large messages to two accounts, with chunks of the schema's size. Some engines' short types end at
// 64 KB. A body that is larger than the engine takes in one value is stored by a model that keeps mail in chunks. One
// that keeps a body in its row returns ErrTooLarge, and no part of the message is anywhere.
func testLarge(t *testing.T, s *suite) {
	f := s.start(t, models.Options{})
	c := f.Store.Capabilities()
	limits := []int64{models.MaxRow, c.MaxCellBytes, c.MaxRowBytes}
	limit := slices.Min(slices.DeleteFunc(limits, func(n int64) bool { return n == 0 }))
	diff, d := f.differential(), sample(0)
	to := []*folder{diff.user(diff.at("ann"), "INBOX").folders[0], diff.user(diff.at("bob"), "INBOX").folders[0]}
	d.Text, d.Files = noise(70_000, 1), []File{{Name: "f", Encoding: mail.Base64, Content: noise(100_000, 2)}}
	diff.deliver(d.Message(), to...)
	if large := unparsable(start, noise(int(limit)+1, 3)); s.Traits.WholeRows || s.Traits.KeepsBodies {
		err := diff.got.Deliver(diff.ctx, large, []*models.Folder{to[0].got, to[1].got}, make([]models.Handle, 2))
		if !errors.Is(err, drivers.ErrTooLarge) {
			t.Errorf("deliver a body of %d bytes: error is %v, want %q", limit+1, err, drivers.ErrTooLarge)
		}
		diff.check()
	} else if limit < models.MaxRow { // a client can open it
		diff.deliver(large, to...)
	}
	diff.deliver(sample(1).Message(), to...)
	diff.check()
}

// testSeveralAtOnce moves and deletes 1, 10 and 100 messages. Before a model changes them it
// checks that all are there, and the number of requests for that is the same for any number of
// messages: models differ in what they write, and not in how well their checks were written.
// For a delete it is one request in every model, and none if the delete has a condition.
func testSeveralAtOnce(t *testing.T, s *suite) {
	var golden string
	checks := map[string]int64{"move": -1, "delete": 1}
	if s.Traits.DeletesIf {
		checks["delete"] = 0
	}
	for _, n := range []int{1, 10, 100} {
		sc := newScript(s.start(t, models.Options{}))
		a, err := sc.mb.CreateUser(sc.ctx, sc.at("ann"), []string{"INBOX", "Work"})
		must(t, err)
		sc.in, sc.to, sc.folders = a.Folders[0], a.Folders[1], a.Folders[:1]
		hs := make([]models.Handle, n)
		for i := range hs {
			sc.clock.advance(time.Second)
			must(t, sc.mb.Deliver(sc.ctx, sample(i).Message(), sc.folders, hs[i:i+1]))
		}
		reads := int64(0)
		sc.meter.Watch(nil, func(st drivers.Statement, took time.Duration, calls int64) {
			sc.ran(st, took, calls)
			if p := st.Pattern(); p.Kind.Reads() && p.Name != s.Traits.MoveReads {
				reads += calls
			}
		})
		for _, op := range []string{"move", "delete"} {
			reads = 0
			sc.do(fmt.Sprintf("%s %d", op, n), op, hs...)
			if want := checks[op]; want >= 0 && reads != want {
				t.Errorf("a %s of %d messages makes %d reads, want %d", op, n, reads, want)
			}
			checks[op], hs, sc.in = reads, slices.Clone(sc.made[:n]), sc.to
		}
		golden += sc.out.String()
	}
	s.compare(t, "several.golden", golden)
}
