package modeltest

import (
	"fmt"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// testSeveralAtOnce moves and deletes 1, 10 and 100 messages. Before a model changes them it
// checks that all are there, and the number of requests for that is the same for any number of
// messages: models differ in what they write, and not in how well their checks were written.
// For a delete it is one request in every model, and none if the delete has a condition.
func testSeveralAtOnce(t *testing.T, s *suite) {
	checks := map[string]int64{"move": -1}
	var golden string
	for _, n := range []int{1, 10, 100} {
		f := s.start(t, models.Options{})
		sc := newScript(f)
		account, err := sc.mb.CreateUser(sc.ctx, f.at("ann"), []string{"INBOX", "Work"})
		if err != nil {
			t.Fatal(err)
		}
		in, work := account.Folders[0], account.Folders[1]
		hs := make([]models.Handle, n)
		for i := range hs {
			sc.clock.advance(time.Second)
			if err := sc.mb.Deliver(sc.ctx, sample(i).Message(), []*models.Folder{in}, hs[i:i+1]); err != nil {
				t.Fatal(err)
			}
		}
		trace, reads := sc.meter.Trace, int64(0)
		sc.meter.Trace = func(st drivers.Statement, calls int64) {
			trace(st, calls)
			if p := st.Pattern(); p.Kind.Reads() && p.Name != s.Traits.MoveReads {
				reads += calls
			}
		}
		check := func(op string, want int64, run func() error) {
			reads = 0
			sc.step(fmt.Sprintf("%s %d", op, n), run)
			if want >= 0 && reads != want {
				t.Errorf("a %s of %d messages makes %d reads, want %d", op, n, reads, want)
			}
			checks[op] = reads
		}
		deletes := int64(1)
		if s.Traits.DeletesIf {
			deletes = 0
		}
		check("move", checks["move"], func() error { return sc.mb.Move(sc.ctx, in, work, hs, hs) })
		check("delete", deletes, func() error { return sc.mb.Delete(sc.ctx, work, hs) })
		golden += sc.out.String()
	}
	s.compare(t, "several.golden", golden)
}
