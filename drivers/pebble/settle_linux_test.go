package pebble

import (
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mailbench/mailbench/drivers"
)

// du sums up the lengths of a folder's files, as du --apparent-size does. Blocks
// would count what Pebble reserves for its log and has not written.
func du(t *testing.T, dir string) (total int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist): // Pebble removes files that it has no more use for, concurrently
		case err == nil:
			total += info.Size()
		default:
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// TestBytesOnDisk: a store with blob files reports the size that du reports,
// also after it was opened again; the count of written bytes goes on, and reads
// after Cool come from the disk.
func TestBytesOnDisk(t *testing.T) {
	const parts, size = 48, 1 << 20
	dir := t.TempDir()
	e := newEnv(t, drivers.Options{Dir: dir, Durability: drivers.Process})
	noise := rand.NewChaCha8([32]byte{1})
	data := make([]byte, size)
	e.write("put_part", "u", "f", 0, 1, int32(parts), data[:100_000]) // which stays in memory
	if o := e.store.Observe(); o.LogBytes < 100_000 || o.LogBytes > o.DiskBytes {
		t.Errorf("not flushed, %d bytes on disk, %d of them in the log", o.DiskBytes, o.LogBytes)
	}
	for n := range parts {
		noise.Read(data)
		e.write("put_part", "u", "f", 0, 1, int32(n), data)
	}
	if err := e.store.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := range parts { // Pebble now has old files of the log that it will use again
		e.write("put_part", "u", "f", 0, 1, int32(n), data)
	}
	if err := e.store.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := e.store.Observe(); o.LogBytes > 1<<20 {
		t.Errorf("settled, %d bytes on disk, %d of them in the log", o.DiskBytes, o.LogBytes)
	}
	check := func(when string) drivers.Observation {
		t.Helper()
		o, want := e.store.Observe(), du(t, dir)
		same := func() bool { return math.Abs(float64(o.DiskBytes-want)) <= 0.03*float64(want) }
		for end := time.Now().Add(time.Minute); !same() && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			o, want = e.store.Observe(), du(t, dir) // Pebble removes old files in the background
		}
		if !same() || o.DiskBytes < parts*size {
			t.Errorf("%s: %d bytes on disk are told, du says %d", when, o.DiskBytes, want)
		}
		return o
	}
	loaded := check("loaded")
	e.sess.Close()
	if err := e.store.Cool(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.sess = e.session()
	cold := check("cold")
	if loaded.WrittenBytes < parts*size || cold.WrittenBytes < loaded.WrittenBytes {
		t.Errorf("%d bytes were written, after Cool %d; expected %d and more", loaded.WrittenBytes, cold.WrittenBytes,
			parts*size)
	}
	e.read("parts", "u", "f", 0, 1)
	read := e.store.Observe().ReadBytes - cold.ReadBytes
	if cold.ReadBytes < 0 || read < parts*size && !inMemory(t, dir) {
		t.Errorf("%d bytes were read from disk, of %d", read, parts*size)
	}
	e.sess.Close()
	if err := e.store.Close(); err != nil {
		t.Fatal(err)
	}
	*e = *newEnv(t, drivers.Options{Dir: dir, Durability: drivers.Process})
	check("opened again")
}

// inMemory reports whether the folder is on no disk.
func inMemory(t *testing.T, dir string) bool {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return s.Type == unix.TMPFS_MAGIC
}
