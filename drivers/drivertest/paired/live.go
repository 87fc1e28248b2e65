package paired

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// Test shows that both clients write what the other reads, and that a
// comparison of them runs. It leaves all rows written.
func Test(t *testing.T, bare, driver Sides) {
	t.Helper()
	exchange(t, bare, driver, 0)
	exchange(t, driver, bare, 50)
	Load(t, driver.Write)
	for what, sides := range map[string][2]Side{"write": {bare.Write, driver.Write}, "read": {bare.Read, driver.Read}} {
		r, err := Run(t.Context(), sides[0], sides[1], Plan{Clients: 4, Pairs: 2, Block: 50 * time.Millisecond})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		t.Logf("%s: %v", what, r)
	}
}

// exchange writes 50 rows through one client and reads them through the other.
func exchange(t *testing.T, writer, reader Sides, first uint64) {
	t.Helper()
	write, err := writer.Write.Client()
	if err != nil {
		t.Fatal(err)
	}
	read, err := reader.Read.Client()
	if err != nil {
		t.Fatal(err)
	}
	if err := read(t.Context(), first); err == nil {
		t.Fatalf("%s finds a row that nobody has written yet", reader.Read.Name)
	}
	for n := first; n < first+50; n++ {
		if err := write(t.Context(), n); err != nil {
			t.Fatalf("%s writes: %v", writer.Write.Name, err)
		}
		if err := read(t.Context(), n); err != nil {
			t.Fatalf("%s reads what %s wrote: %v", reader.Read.Name, writer.Write.Name, err)
		}
	}
}

// Load writes all rows.
func Load(t testing.TB, write Side) {
	t.Helper()
	const clients = 16
	g, ctx := errgroup.WithContext(t.Context())
	for i := range uint64(clients) {
		op, err := write.Client()
		if err != nil {
			t.Fatal(err)
		}
		g.Go(func() error { return loadEvery(ctx, op, i, clients) })
	}
	if err := g.Wait(); err != nil {
		t.Fatalf("load: %v", err)
	}
}

// loadEvery writes the rows i, i+step, … of all.
func loadEvery(ctx context.Context, op Op, i, step uint64) error {
	for n := i; n < Rows; n += step {
		if err := op(ctx, n); err != nil {
			return err
		}
	}
	return nil
}
