package conversation

import (
	"bytes"
	"context"
	"testing"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/null"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/modeltest"
)

// onNull returns operations on the engine that stores nothing, so that what
// they take is the model's own.
func onNull(t testing.TB) map[string]func(ctx context.Context) error {
	t.Helper()
	store, err := null.Engine().Open(t.Context(), drivers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Model().Schema()
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	b, err := Model().Bind(t.Context(), store, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	session, err := store.Session()
	if err != nil {
		t.Fatal(err)
	}
	mb := b.Mailbox(session)
	a, err := mb.CreateUser(t.Context(), "ann@example.org", []string{"INBOX", "Work"})
	if err != nil {
		t.Fatal(err)
	}
	d := modeltest.Draft{
		From: models.Address{Address: "bob@example.org"}, To: []models.Address{{Address: "ann@example.org"}},
		Subject: "a subject of usual length", Text: bytes.Repeat([]byte("text "), 1600),
	}
	m, to, hs := d.Message(), a.Folders[:1], make([]models.Handle, 1)
	keep := func(*models.Entry) error { return nil }
	return map[string]func(ctx context.Context) error{
		"deliver": func(ctx context.Context) error { return mb.Deliver(ctx, m, to, hs) },
		"list":    func(ctx context.Context) error { return mb.List(ctx, a.Folders[0], models.Handle{}, 25, keep) },
		"flag": func(ctx context.Context) error {
			if err := mb.Flag(ctx, a.Folders[0], hs[0], models.Seen, true); err != nil {
				return err
			}
			return mb.Flag(ctx, a.Folders[0], hs[0], models.Seen, false)
		},
		"move": func(ctx context.Context) error { return mb.Move(ctx, a.Folders[0], a.Folders[1], hs, hs) },
	}
}

func BenchmarkOnNull(b *testing.B) {
	ops := onNull(b)
	for _, name := range []string{"deliver", "list", "flag", "move"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := ops[name](b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestAllocations: the hot path allocates nothing of its own.
func TestAllocations(t *testing.T) {
	ops := onNull(t)
	for _, name := range []string{"deliver", "list", "flag", "move"} {
		var err error
		for range 100 { // until buffers have grown and the engine has its samples
			err = ops[name](t.Context())
		}
		if n := testing.AllocsPerRun(200, func() { err = ops[name](t.Context()) }); n != 0 || err != nil {
			t.Errorf("%s: %v allocations, error %v; want none", name, n, err)
		}
	}
}
