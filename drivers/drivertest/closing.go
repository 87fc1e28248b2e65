package drivertest

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
)

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
	open := func(t *testing.T) *suite { return opened(ctx, t, e, o, schema) }
	t.Run("calls", func(t *testing.T) {
		s := open(t)
		written := s.closeUnderCalls()
		again := open(t)
		c := again.client()
		if got, err := c.do(c.call("all", "writes")); err != nil || len(got.rows) != written {
			t.Errorf("%d rows of %d that were written: %v", len(got.rows), written, err)
		}
		again.close()
	})
	t.Run("opens", func(t *testing.T) { opens(t, times, func() { open(t).close() }) })
}

// closeUnderCalls closes the store while a read is between two rows and workers write, and returns how many rows they
// wrote. Close waits for the read. Each write succeeds or fails with ErrClosed.
func (s *suite) closeUnderCalls() int {
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
	c, closed, rows := s.client(), make(chan error, 1), 0
	err := c.session.Read(s.ctx, c.statement("all"), c.call("all", "writes").args, func([]drivers.Value) error {
		if rows++; rows > 1 {
			return nil
		}
		go func() { closed <- s.store.Close() }()
		select {
		case err := <-closed:
			s.Errorf("the store was closed under a read")
			closed <- err
		case <-time.After(100 * time.Millisecond):
		}
		return nil
	})
	if err != nil || rows < before {
		s.Errorf("the read under way yields %d rows: %v", rows, err)
	}
	if err := <-closed; err != nil {
		s.Errorf("close: %v", err)
	}
	g.Wait()
	if _, err := s.store.Session(); !errors.Is(err, drivers.ErrClosed) {
		s.Errorf("a session of a closed store: %v, expected ErrClosed", err)
	}
	s.close() // again
	return int(written.Load())
}

// opens opens and closes a store so many times. It fails if goroutines or open files
// of the process remain.
func opens(t *testing.T, times int, openAndClose func()) {
	openAndClose() // a client library starts some goroutines once for each process
	goroutines, files := runtime.NumGoroutine(), openFiles()
	for range times {
		openAndClose()
	}
	if n := settled(goroutines); n > goroutines {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines before, %d after %d opens:\n%s", goroutines, n, times, stacks[:runtime.Stack(stacks, true)])
	}
	if n := openFiles(); n > files {
		t.Errorf("%d open files and connections before, %d after %d opens", files, n, times)
	}
	t.Logf("%d opens: %d goroutines, %d open files", times, goroutines, files)
}

// settled waits until at most the wanted number of goroutines run: those of closed connections take a moment to end.
func settled(wanted int) int {
	for since := time.Now(); runtime.NumGoroutine() > wanted && time.Since(since) < 30*time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	return runtime.NumGoroutine()
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
