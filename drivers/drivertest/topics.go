package drivertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// sessions tests the rules between a session and its caller, on more rows than an engine reads at a time.
func sessions(t testing.TB, open Open) {
	s := begin(t, open, "rows.yaml")
	c, other := s.client(), s.client()
	const n = 2000
	for k := 0; k < n; k += 100 {
		var parts []call
		for i := range 100 {
			parts = append(parts, c.call("put_a", "p", k+i, "v"))
		}
		c.agree(c.batch("several_puts", parts...))
	}
	// A row does not change until yield returns, whatever others do meanwhile.
	rows := 0
	err := c.session.Read(s.ctx, c.statement("all"), c.call("all", "p").args, func(got []drivers.Value) error {
		if rows++; rows%50 > 0 {
			return nil
		}
		before := line(got)
		other.check("put_a", "p", rows-1, "changed meanwhile")
		other.check("all", "nowhere")
		if _, err := other.do(other.call("scan_some")); err != nil {
			return err
		}
		if after := line(got); after != before {
			return fmt.Errorf("a row was %q, and became %q before yield returned", before, after)
		}
		return nil
	})
	if err != nil || rows != n {
		t.Errorf("a slice of %d rows, some of which are overwritten meanwhile, yields %d: %v", n, rows, err)
	}
	// A read ends with its context and says so. plan.Session begins no call whose context is done.
	for pattern, args := range map[string][]any{"all": {"p"}, "scan": nil} {
		ctx, cancel := context.WithCancel(s.ctx)
		err := c.session.Read(ctx, c.statement(pattern), c.call(pattern, args...).args, func([]drivers.Value) error {
			cancel()
			return nil
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s of %d rows, canceled at the first: %v, expected %v", pattern, n, err, context.Canceled)
		}
	}
	other.check("drop_all", "p")
	c.check("all", "p") // the session goes on, and sees the writes of others

	closed, err := s.store.Session()
	if err == nil {
		err = closed.Close()
	}
	if err != nil {
		t.Fatalf("open and close a session: %v", err)
	}
	if err := closed.Read(s.ctx, c.statement("all"), c.call("all", "p").args, nil); !errors.Is(err, drivers.ErrClosed) {
		t.Errorf("a read on a closed session: %v, expected ErrClosed", err)
	}
	c.check("all", "p")
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
		c := again.client()
		if got, err := c.do(c.call("all", "writes")); err != nil || len(got.rows) != written {
			t.Errorf("%d rows of %d that were written: %v", len(got.rows), written, err)
		}
		again.close()
	})
	t.Run("opens", func(t *testing.T) { opens(t, times, func() { open(t).close() }) })
}

// closeUnderRead closes the store while a read is between two rows.
func (s *suite) closeUnderRead() {
	c := s.client()
	c.check("put_a", "read", 1, "x")
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
	if _, err := c.do(c.call("all", "read")); !errors.Is(err, drivers.ErrClosed) {
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
				_, err := c.do(c.call("put_a", "writes", k, "x"))
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

// limits tests that a batch above a limit in the engine's Capabilities is refused as a whole.
func limits(m *machine) {
	text := func(n int64) string { return string(make([]byte, n)) }
	limit := least(biggest+1, m.caps.MaxBatchBytes, m.caps.MaxCellBytes)
	for _, p := range m.writes {
		good, large := []any{"p", 1, "v"}, []any{"p", 1, text(limit + 1)}
		if p.Name != "in_row" {
			good, large = append(good, "w"), append(large, nil)
		}
		if p.Kind == schemas.Batch && p.Atomic > schemas.AtomicNone && limit <= biggest {
			first := p.Parts[0].Pattern.Name
			m.tooLarge("the largest cell or batch", m.batch(p.Name, m.call(first, good...), m.call(first, large...)))
		}
	}
	if most := m.caps.MaxBatchParts; most > 0 && m.offers("in_partition") {
		parts := make([]call, most+1)
		for k := range parts {
			parts[k] = m.call("put_box", "p", k, "v", nil)
		}
		m.tooLarge("MaxBatchParts", m.batch("in_partition", parts...))
	}
	spread := m.caps.MaxSpreadBytes // of a batch whose rows lie in several partitions
	if spread == 0 || spread > biggest || !m.offers("in_all") {
		return
	}
	half := text(spread/2 + 1)
	m.tooLarge("MaxSpreadBytes", m.batch("in_all", m.call("put_box", "p", 1, half, nil), m.call("put_other", "q", half)))
	if spread*2 < m.caps.MaxBatchBytes { // in one partition it may be larger
		m.agree(m.batch("in_all", m.call("put_box", "p", 1, half, nil), m.call("put_box", "p", 2, half, nil)))
	}
	quarter := half[:len(half)/4]
	m.agree(m.batch("in_all", m.call("put_box", "p", 3, quarter, nil), m.call("put_other", "q", quarter)))
	m.scanAll()
}
