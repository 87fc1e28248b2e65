package drivertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// sessions tests the rules between a session and its caller.
func sessions(t testing.TB, open Open) {
	s := begin(t, open, "rows.yaml")
	c := s.client()
	for k := range 30 {
		c.write("put_a", "p", k, "v")
	}

	// A row does not change until yield returns, whatever others do meanwhile.
	other := s.client()
	var rows int
	err := c.session.Read(s.ctx, c.statement("all"), c.call("all", "p").args, func(got []drivers.Value) error {
		rows++
		before := line(got)
		other.write("put_a", "p", rows-1, "changed meanwhile")
		other.expect(nil, "all", "nowhere")
		other.read("scan")
		if after := line(got); after != before {
			return fmt.Errorf("a row was %q, and became %q before yield returned", before, after)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if rows != 30 {
		t.Errorf("a slice of 30 rows, all of which are overwritten meanwhile, yields %d", rows)
	}
	other.write("drop_all", "p")
	c.expect(nil, "all", "p") // a session sees the writes of others

	closed, err := s.store.Session()
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatalf("close a session: %v", err)
	}
	if err := closed.Read(s.ctx, c.statement("all"), c.call("all", "p").args, nil); !errors.Is(err, drivers.ErrClosed) {
		t.Errorf("a read on a closed session: %v, expected ErrClosed", err)
	}
	c.expect(nil, "all", "p")
}

// contexts tests that a read ends with its context and says so. plan.Session begins no call whose context is done.
func contexts(t testing.TB, open Open) {
	s := begin(t, open, "rows.yaml")
	c := s.client()
	const n = 2000
	for k := 0; k < n; k += 100 {
		var parts []part
		for i := range 100 {
			parts = append(parts, with(0, "p", k+i, "v"))
		}
		must(c, c.batch("several_puts", parts...))
	}
	for _, pattern := range []string{"all", "scan"} {
		ctx, cancel := context.WithCancel(s.ctx)
		rows := 0
		var args []any
		if pattern == "all" {
			args = []any{"p"}
		}
		err := c.session.Read(ctx, c.statement(pattern), c.call(pattern, args...).args, func([]drivers.Value) error {
			rows++
			cancel()
			return nil
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s of %d rows, canceled at the first: %d rows and %v, expected %v", pattern, n, rows, err,
				context.Canceled)
		}
	}
	c.expectCount(n, "all", "p") // the session goes on
}

// Closing tests the contract of Close. Close waits for calls under way, refuses later
// calls, and leaves no goroutine or open file of the store in the process. Closing opens
// its stores with o, one after another. It must not run concurrently with other tests of the process.
func Closing(t *testing.T, e drivers.Engine, o drivers.Options) {
	times := 20
	if n, err := strconv.Atoi(os.Getenv("MAILBENCH_OPENS")); err == nil { // make check CHECK=opens
		times = n
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience+time.Duration(times)*5*time.Second)
	defer cancel()
	if e.Remote {
		OpenLive(t, e, o) // drops the namespace in the end
	}
	schema := parse(t, "rows.yaml")
	open := func(t *testing.T) *suite {
		t.Helper()
		s := opened(ctx, t, e, o, schema)
		s.apply()
		s.prepare()
		return s
	}
	t.Run("read", func(t *testing.T) { open(t).closeUnderRead() })
	t.Run("writes", func(t *testing.T) {
		s := open(t)
		written := s.closeUnderWrites()
		again := open(t)
		again.client().expectCount(written, "all", "writes")
		again.close()
	})
	t.Run("opens", func(t *testing.T) { opens(t, times, func() { open(t).close() }) })
}

// closeUnderRead closes the store while a read is between two rows.
func (s *suite) closeUnderRead() {
	c := s.client()
	c.write("put_a", "read", 1, "x")
	closed := make(chan error, 1)
	err := c.session.Read(s.ctx, c.statement("all"), c.call("all", "read").args, func([]drivers.Value) error {
		go func() { closed <- s.store.Close() }()
		select {
		case <-closed:
			s.Errorf("the store was closed under a read")
			closed <- nil
		case <-time.After(100 * time.Millisecond):
		}
		return nil
	})
	if err != nil {
		s.Errorf("the read under way: %v", err)
	}
	if err := <-closed; err != nil {
		s.Errorf("close: %v", err)
	}
	if _, err := c.try("all", "read"); !errors.Is(err, drivers.ErrClosed) {
		s.Errorf("a read of a closed store: %v, expected ErrClosed", err)
	}
	if _, err := s.store.Session(); !errors.Is(err, drivers.ErrClosed) {
		s.Errorf("a session of a closed store: %v, expected ErrClosed", err)
	}
	s.close() // again
}

// closeUnderWrites closes the store while workers write to it, and returns how many rows
// they wrote. Each write succeeds or fails with ErrClosed.
func (s *suite) closeUnderWrites() int {
	const workers, before = 4, 40
	var written atomic.Int64
	var g sync.WaitGroup
	for i := range workers {
		c := s.client()
		g.Go(func() {
			for k := i; ; k += workers {
				_, err := c.try("put_a", "writes", k, "x")
				if err == nil {
					written.Add(1)
					continue
				}
				if !errors.Is(err, drivers.ErrClosed) || errors.Is(err, drivers.ErrUnknown) {
					s.Errorf("a write while the store is closed: %v, expected success or ErrClosed", err)
				}
				return
			}
		})
	}
	for written.Load() < before && s.ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	s.close()
	g.Wait()
	return int(written.Load())
}

// opens opens and closes a store so many times. It fails if goroutines or open files
// of the process remain.
func opens(t *testing.T, times int, openAndClose func()) {
	openAndClose() // a client library starts some goroutines once for each process
	goroutines, files := settled(t, runtime.NumGoroutine()), openFiles()
	for range times {
		openAndClose()
	}
	if n := settled(t, goroutines); n > goroutines {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines before, %d after %d opens:\n%s", goroutines, n, times, stacks[:runtime.Stack(stacks, true)])
	}
	if n := openFiles(); n > files {
		t.Errorf("%d open files and connections before, %d after %d opens", files, n, times)
	}
	t.Logf("%d opens: %d goroutines, %d open files", times, goroutines, files)
}

// settled waits until at most the wanted number of goroutines run, or until the number
// has not fallen for 5 s. Goroutines of closed connections take a moment to end.
func settled(t *testing.T, wanted int) int {
	t.Helper()
	n := runtime.NumGoroutine()
	for since := time.Now(); time.Since(since) < 5*time.Second; time.Sleep(10 * time.Millisecond) {
		now := runtime.NumGoroutine()
		if now <= wanted {
			return now
		}
		if now < n {
			n, since = now, time.Now()
		}
	}
	return n
}

// openFiles returns how many files and connections the process has open. It returns 0
// on systems without /proc/self/fd.
func openFiles() int {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(all)
}

// atomicBatches are the batches of batches.yaml that are all or nothing.
var atomicBatches = []struct {
	pattern string
	needs   schemas.Atomicity
}{
	{"in_row", schemas.AtomicRow},
	{"in_partition", schemas.AtomicPartition},
	{"in_shard", schemas.AtomicShard},
	{"in_all", schemas.AtomicAll},
}

// limitedBatches tests which batches an engine supports, and that one is refused as a whole.
func limitedBatches(s *suite) {
	c := s.client()
	for _, b := range atomicBatches {
		offered := s.offers(b.pattern)
		if offered != (s.caps.Atomic >= b.needs) {
			s.Errorf("the engine's widest atomic batch is %q; a batch with atomic: %s can be prepared: %v", s.caps.Atomic,
				b.needs, offered)
		}
		if offered {
			refusedWhole(c, b.pattern)
		}
	}
	if s.offers("in_all") {
		spread(c)
	}
	if most := c.caps.MaxBatchParts; most > 0 && s.offers("in_partition") {
		parts := make([]part, most+1)
		for k := range parts {
			parts[k] = with(0, "too many", k, "v", nil)
		}
		if err := c.batch("in_partition", parts...); !errors.Is(err, drivers.ErrTooLarge) {
			c.Errorf("a batch of %d parts: %v, expected ErrTooLarge", len(parts), err)
		}
		c.expect(nil, "boxes", "too many")
	}
}

func must(c *client, err error) {
	c.fail.Helper()
	if err != nil {
		c.fail.Fatalf("batch: %v", err)
	}
}

// refusedWhole tests a batch with a part that is too large.
func refusedWhole(c *client, pattern string) {
	c.fail.Helper()
	limit := c.caps.MaxBatchBytes
	if cell := c.caps.MaxCellBytes; limit == 0 || cell > 0 && cell < limit {
		limit = cell
	}
	if limit == 0 || limit > biggest {
		return
	}
	p := "refused " + pattern
	good, large := []any{p, 1, "v"}, []any{p, 1, string(make([]byte, limit+1))}
	if pattern != "in_row" {
		good, large = append(good, "w"), append(large, nil)
	}
	if err := c.batch(pattern, with(0, good...), with(0, large...)); !errors.Is(err, drivers.ErrTooLarge) {
		c.Errorf("%s with a part of %d bytes: %v, expected ErrTooLarge", pattern, limit+1, err)
	}
	c.expect(nil, "boxes", p)
}

// spread tests batches whose rows lie in several partitions, for which an
// engine may have a limit of its own.
func spread(c *client) {
	c.fail.Helper()
	limit := c.caps.MaxSpreadBytes
	if limit == 0 || limit > biggest {
		return
	}
	half := string(make([]byte, limit/2+1))
	err := c.batch("in_all", with(0, "spread", 1, half, nil), with(1, "spread elsewhere", half))
	if !errors.Is(err, drivers.ErrTooLarge) {
		c.Errorf("a batch of %d bytes over two partitions: %v, expected ErrTooLarge", len(half)*2, err)
	}
	c.expect(nil, "boxes", "spread")
	c.expect(nil, "other", "spread elsewhere")
	// A batch in one partition may be larger, up to the limit of one partition.
	if limit*2 < c.caps.MaxBatchBytes {
		must(c, c.batch("in_all", with(0, "spread", 1, half, nil), with(0, "spread", 2, half, nil)))
		c.expect([][]any{{1, half, nil}, {2, half, nil}}, "boxes", "spread")
	}
	quarter := half[:len(half)/4]
	must(c, c.batch("in_all", with(0, "spread", 3, quarter, nil), with(1, "spread elsewhere", quarter)))
	c.expect([][]any{{quarter}}, "other", "spread elsewhere")
}

// splits tests scans in parts: together they yield each row once.
func splits(t testing.TB, open Open) {
	c := begin(t, open, "nested.yaml").client()
	sp, ok := c.store.(drivers.Splitter)
	if !ok {
		t.Skip("the store does not split scans")
	}
	for u := range 12 {
		for m := range 3 {
			user := fmt.Sprintf("user%02d@example.com", u)
			c.write("put_chunk", user, "f", m, 0, []byte{byte(u)})
			c.write("put_message", user, "f", m, "s", m)
			c.write("put_meta", user, m, "name", "v")
		}
	}
	for _, table := range []string{"chunk", "message", "meta", "body"} {
		scan, err := c.store.Prepare(c.ctx, schemas.ScanOf(c.schema.Table(table)))
		if err != nil {
			t.Fatal(err)
		}
		whole := c.parts(scan)
		for _, n := range []int{1, 2, 7, 64} {
			parts, err := sp.Split(c.ctx, scan, n)
			if err != nil {
				t.Fatalf("split %s into %d: %v", table, n, err)
			}
			if got := c.parts(parts...); !slices.Equal(got, whole) {
				t.Errorf("%d parts of %s yield\n%q\nthe scan\n%q", len(parts), table, got, whole)
			}
			if ranger, ok := c.store.(drivers.Ranger); ok {
				var ranges []string
				for _, p := range parts {
					ranges = append(ranges, ranger.Range(p))
				}
				again, err := ranger.Within(c.ctx, scan, ranges)
				if err != nil {
					t.Fatalf("parts of %s within %q: %v", table, ranges, err)
				}
				for i, p := range parts {
					if got, want := c.parts(again[i]), c.parts(p); !slices.Equal(got, want) {
						t.Errorf("%s within %s yields\n%q\nthe part\n%q", table, ranges[i], got, want)
					}
				}
				if _, err := ranger.Within(c.ctx, scan, []string{"nothing"}); err == nil {
					t.Errorf("%s within no range: no error", table)
				}
			}
			filled := 0
			for _, p := range parts {
				filled += min(len(c.parts(p)), 1)
			}
			if len(parts) == 0 || len(parts) > n || n > 1 && len(whole) > 0 && filled < 2 {
				t.Errorf("%s was split into %d parts, %d of them with rows; want %d", table, len(parts), filled, n)
			}
		}
	}
}

// parts reads scans and returns their rows in alphabetical order.
func (c *client) parts(scans ...drivers.Statement) []string {
	c.Helper()
	var rows []string
	for _, scan := range scans {
		err := c.session.Read(c.ctx, scan, nil, func(row []drivers.Value) error {
			rows = append(rows, line(row))
			return nil
		})
		if err != nil {
			c.Fatal(err)
		}
	}
	slices.Sort(rows)
	return rows
}

// fallbacks tests patterns that an engine may be unable to run. Prepare of such an engine
// returns ErrUnsupported, and the schema's fallback yields the same rows.
func fallbacks(s *suite) {
	c := s.client()
	if s.caps.PlainIndexes != s.offers("dated") {
		s.Errorf("capabilities say plain indexes: %v, Prepare says %v", s.caps.PlainIndexes, s.offers("dated"))
	}
	for m, sender := range []string{"x", "y", "x", "x", "x"} {
		c.write("put", "u", fmt.Sprint("f", m%2), m, sender, 1000*m)
	}
	finds := s.caps.PlainIndexes || s.caps.EqualIndexes
	for _, name := range []string{"sent", "sent_box"} {
		p := s.schema.Pattern(name)
		_, err := s.store.Prepare(s.ctx, p)
		switch {
		case finds && err != nil:
			s.Errorf("capabilities say indexes over plain columns, and Prepare of %s: %v", name, err)
		case !finds && !errors.Is(err, drivers.ErrUnsupported):
			s.Errorf("capabilities say no indexes over plain columns, and Prepare of %s: %v; expected ErrUnsupported", name, err)
		}
		if emulated := c.statement(name).Emulates(); (emulated == p) == finds {
			s.Errorf("%s: emulated %v, though indexes over plain columns: %v", name, emulated != nil, finds)
		}
	}
	n := 0
	err := c.session.Read(c.ctx, c.statement("sent"), c.call("sent", "x").args,
		func([]drivers.Value) error { n++; return nil })
	if err != nil || n != 4 {
		s.Errorf("sent (x) yields %d rows and %v, expected 4", n, err)
	}
}
