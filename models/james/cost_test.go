package james

import (
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/models"
)

// onNull returns the model's operations on the engine that does nothing: what
// they cost is the model itself.
func onNull(t testing.TB) map[string]func() {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	st, err := null.Engine().Open(ctx, drivers.Options{})
	must(err)
	s, err := schema()
	must(err)
	must(st.Apply(ctx, s))
	b, err := bind(ctx, st, models.Options{})
	must(err)
	session, err := st.Session()
	must(err)
	mb := b.Mailbox(session)
	a, err := mb.CreateUser(ctx, "ann@example.org", []string{"INBOX", "Work"})
	must(err)
	m, to, hs := message(8<<10), a.Folders[:1], make([]models.Handle, 1)
	for range 30 { // the engine keeps the first rows as samples
		must(mb.Deliver(ctx, m, to, hs))
	}
	n := 0
	count := func(*models.Entry) error { n++; return nil }
	var o models.Opened
	return map[string]func(){
		"deliver": func() { must(mb.Deliver(ctx, m, to, hs)) },
		"list": func() {
			if n = 0; mb.List(ctx, a.Folders[0], models.Handle{}, 25, count) != nil || n != 25 {
				t.Fatalf("%d entries, want 25", n)
			}
		},
		"open": func() { must(mb.Open(ctx, a.Folders[0], hs[0], &o)) },
		"stats": func() {
			if _, err := mb.Stats(ctx, a.Folders[0]); err != nil {
				t.Fatal(err)
			}
		},
		"flag": func() { must(mb.Flag(ctx, a.Folders[0], hs[0], models.Seen, true)) },
	}
}

func TestAllocations(t *testing.T) {
	for name, op := range onNull(t) {
		if n := testing.AllocsPerRun(100, op); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func BenchmarkOnNull(b *testing.B) {
	for name, op := range onNull(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				op()
			}
		})
	}
}
