package pebble

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// smallDisk is full after so many bytes.
type smallDisk struct {
	vfs.FS
	left    atomic.Int64
	noReuse bool // nor can the log be written into an old file
}

type smallFile struct {
	vfs.File
	disk *smallDisk
}

func (d *smallDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	return smallFile{f, d}, err
}

func (d *smallDisk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if d.noReuse {
		return nil, fmt.Errorf("reuse %s: %w", old, syscall.ENOSPC)
	}
	f, err := d.FS.ReuseForWrite(old, name, c)
	return smallFile{f, d}, err
}

func (f smallFile) Write(p []byte) (int, error) {
	if left := f.disk.left.Add(-int64(len(p))); left < 0 {
		n := max(0, len(p)+int(left))
		if n > 0 {
			n, _ = f.File.Write(p[:n])
		}
		return n, fmt.Errorf("write: %w", syscall.ENOSPC)
	}
	return f.File.Write(p)
}

// A disk that fills up, at the log or at a flush, gives every writer one clear
// error and hangs none; what was acknowledged before is there afterwards.
func TestDiskFull(t *testing.T) {
	for _, room := range []int64{1 << 20, 1<<20 + 777, 3 << 20} {
		t.Run(fmt.Sprint(room), func(t *testing.T) { fillDisk(t, &smallDisk{FS: vfs.Default}, room) })
	}
	t.Run("reuse", func(t *testing.T) { fillDisk(t, &smallDisk{FS: vfs.Default, noReuse: true}, 1<<30) })
}

func fillDisk(t *testing.T, disk *smallDisk, room int64) {
	dir := t.TempDir()
	disk.left.Store(room)
	st, err := openStore(drivers.Options{Dir: dir}, disk)
	if err != nil {
		t.Fatal(err)
	}
	sch, err := schemas.Parse("test.yaml", []byte(testSchema))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := st.Apply(ctx, sch); err != nil {
		t.Fatal(err)
	}
	put, err := st.Prepare(ctx, sch.Pattern("put_part"))
	if err != nil {
		t.Fatal(err)
	}
	const writers = 4
	var acked [writers]int
	var wg sync.WaitGroup
	body := make([]byte, 8<<10)
	for w := range writers {
		wg.Go(func() {
			s, err := st.Session()
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for n := 0; ; n++ {
				if _, err := s.Write(ctx, put, values([]any{fmt.Sprint(w), "f", 1, n, int32(1), body})); err != nil {
					if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "\n") {
						t.Errorf("the error is %q", err)
					}
					if _, err = s.Write(ctx, put, values([]any{fmt.Sprint(w), "f", 1, n, int32(1), body})); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, drivers.ErrUnknown) {
						t.Errorf("the next error is %v", err)
					}
					return
				}
				acked[w] = n + 1
				if n%100 == 99 && room > 2<<20 {
					if err := st.Settle(ctx); err != nil && !errors.Is(err, syscall.ENOSPC) {
						t.Errorf("settle: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := st.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("close returned %v", err)
	}

	e := newEnv(t, drivers.Options{Dir: dir})
	for w, n := range acked {
		if n == 0 {
			t.Errorf("writer %d wrote nothing", w)
		}
		for i := range n {
			if e.read("parts", fmt.Sprint(w), "f", 1, i) == "" {
				t.Fatalf("writer %d: %d of %d acknowledged rows is lost", w, i, n)
			}
		}
	}
}

// A disk without room for a new store is an error of Open.
func TestDiskFullAtOpen(t *testing.T) {
	for _, room := range []int64{0, 100, 1000} {
		disk := &smallDisk{FS: vfs.Default}
		disk.left.Store(room)
		st, err := openStore(drivers.Options{Dir: t.TempDir()}, disk)
		if err == nil {
			st.Close()
		}
		if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "\n") {
			t.Errorf("with room for %d bytes: %v", room, err)
		}
	}
}
