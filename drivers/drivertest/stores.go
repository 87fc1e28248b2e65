package drivertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// Empty deletes every partition of every table of a schema that was applied.
func Empty(ctx context.Context, st drivers.Store, s *schemas.Schema) error {
	session, err := st.Session()
	if err != nil {
		return err
	}
	defer session.Close()
	for _, t := range s.Tables {
		if !t.Header() {
			if err := emptyTable(ctx, st, session, t); err != nil {
				return fmt.Errorf("empty table %s: %w", t.Name, err)
			}
		}
	}
	return nil
}

// emptyTable deletes the partitions that have rows or static columns.
func emptyTable(ctx context.Context, st drivers.Store, session drivers.Session, t *schemas.Table) error {
	keys := make(map[string][]drivers.Value)
	for _, scan := range []*schemas.Pattern{schemas.ScanOf(t), schemas.StaticScanOf(t)} {
		if scan.Static && len(t.Static) == 0 {
			continue
		}
		scan.Columns = t.Partition
		read, err := st.Prepare(ctx, scan)
		if err == nil {
			err = session.Read(ctx, read, nil, func(row []drivers.Value) error {
				keys[line(row)] = clone(row)
				return nil
			})
		}
		if err != nil {
			return err
		}
	}
	remove, err := st.Prepare(ctx, &schemas.Pattern{
		Name: "empty", Kind: schemas.Delete, Scope: schemas.ScopePartition, Table: t, By: t.Partition,
	})
	for _, key := range keys {
		if err == nil {
			_, err = session.Write(ctx, remove, key)
		}
	}
	return err
}

// OpenLive opens a store of an engine that is reached over the network. It drops the
// store's namespace when the test ends. On a busy machine an answer may take as long as
// patience: no contract is about the time that an engine takes.
func OpenLive(t testing.TB, e drivers.Engine, o drivers.Options) drivers.Store {
	t.Helper()
	settings := make(map[string]string, len(o.Settings)+2)
	for _, s := range e.Settings {
		if s.Name == "timeout" || s.Name == "connect_timeout" {
			settings[s.Name] = patience.String()
		}
	}
	maps.Copy(settings, o.Settings)
	o.Settings = settings
	st, err := e.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := drivers.Drop(context.Background(), st); err != nil {
			t.Errorf("drop the namespace: %v", err)
		}
		if err := st.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return st
}

// ReadOnly tests the contract of a store that is open for reading only. It applies a
// schema to a store with the options o, and opens the store again. keyspace returns the
// full name of the keyspace of a schema's tables. It is nil if the engine has none.
func ReadOnly(t *testing.T, e drivers.Engine, o drivers.Options, keyspace func(schema string) string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if e.Remote {
		OpenLive(t, e, o) // drops the namespace in the end
	}
	w := opened(ctx, t, e, o, parse(t, "rows.yaml"))
	t.Run("write", func(t *testing.T) { // the client closes when this subtest ends
		w := *w
		w.TB = t
		w.client().check("put_a", "p", 1, "kept")
	})
	w.close()

	places := []drivers.Options{o}
	if keyspace != nil {
		named := o
		named.Keyspace = keyspace(w.schema.Name)
		if st, err := e.Open(ctx, named); err == nil {
			t.Errorf("keyspace %s was opened for writing", named.Keyspace)
			st.Close()
		}
		named.Namespace = ""
		places = append(places, named)
	}
	for _, place := range places {
		place.ReadOnly = true
		t.Run("read "+place.Keyspace, func(t *testing.T) {
			r := opened(ctx, t, e, place, w.schema)
			r.ref = w.ref
			t.Cleanup(r.close)
			r.onlyReads(parse(t, "nested.yaml"), place.Keyspace != "")
		})
	}
}

// onlyReads reads the row that ReadOnly wrote, and checks that all writes are refused.
func (s *suite) onlyReads(absent *schemas.Schema, named bool) {
	s.Helper()
	if err := s.store.Apply(s.ctx, absent); err == nil {
		s.Errorf("a schema that is not there was applied")
	}
	if there, err := s.store.Inspect(s.ctx, absent.Name); err == nil &&
		(!named || there.Table(absent.Tables[0].Name) != nil) {
		s.Errorf("a schema was created")
	}
	s.client().check("all", "p")
	for _, p := range s.schema.Patterns {
		if _, err := s.store.Prepare(s.ctx, p); !p.Kind.Reads() && !errors.Is(err, drivers.ErrReadOnly) {
			s.Errorf("pattern %s, which writes, was prepared: %v", p.Name, err)
		}
	}
	if a, ok := s.store.(drivers.Admin); ok {
		if _, err := a.Drop(s.ctx); !errors.Is(err, drivers.ErrReadOnly) {
			s.Errorf("drop: %v", err)
		}
	}
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
