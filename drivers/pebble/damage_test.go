package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mailbench/mailbench/drivers"
)

// TestDamagedBlobs: a store of which a blob file is damaged or gone is corrupt, and nothing
// panics. Pebble has much to compact here, and reads the values for that in goroutines of its own.
func TestDamagedBlobs(t *testing.T) {
	whole := t.TempDir()
	crowd(t, whole)
	for _, harm := range []struct {
		name string
		do   func(name string, b []byte) error
	}{
		{"gone", func(name string, _ []byte) error { return os.Remove(name) }},
		{"cut", func(name string, b []byte) error { return os.WriteFile(name, b[:len(b)-1], 0o600) }},
		{"of no bytes", func(name string, _ []byte) error { return os.WriteFile(name, nil, 0o600) }},
		{"damaged at its end", func(name string, b []byte) error {
			b[len(b)-20] ^= 1
			return os.WriteFile(name, b, 0o600)
		}},
		{"exchanged for another", func(name string, b []byte) error {
			other := blobsIn(t, filepath.Dir(name))[1]
			return errors.Join(os.Rename(other, name), os.WriteFile(other, b, 0o600))
		}},
		{"longer", func(name string, b []byte) error {
			return os.WriteFile(name, append([]byte("0123456789"), b...), 0o600)
		}},
	} {
		dir := filepath.Join(t.TempDir(), "store")
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		name := blobsIn(t, dir)[0]
		b, err := os.ReadFile(name)
		if err := errors.Join(err, harm.do(name, b)); err != nil {
			t.Fatal(err)
		}
		e, err := openEnv(drivers.Options{Dir: dir})
		if err == nil {
			e.close()
		}
		if !errors.Is(err, drivers.ErrCorrupt) {
			t.Errorf("a blob file is %s: %v", harm.name, err)
		}
	}
}

// TestBlobsGoWhileOpen: blob files that go after the store was opened end reads, and Pebble's own
// compactions, with that error.
func TestBlobsGoWhileOpen(t *testing.T) {
	dir := t.TempDir()
	crowd(t, dir)
	e, err := openEnvOn(&fleeting{FS: vfs.Default}, drivers.Options{Dir: dir, ReadOnly: true}) // and it does not compact
	if err != nil {
		t.Fatal(err)
	}
	e.t = t
	err = e.sess.Read(t.Context(), e.stmt("parts"), values([]any{"u", "f", 1, 0}), func([]drivers.Value) error { return nil })
	if !errors.Is(err, drivers.ErrCorrupt) {
		t.Errorf("a read of a value that is gone: %v", err)
	}
	e.close()

	st, err := openStore(drivers.Options{Dir: dir}, &fleeting{FS: vfs.Default})
	for end := time.Now().Add(time.Minute); err == nil && time.Now().Before(end); time.Sleep(time.Millisecond) {
		err = st.fs.fault()
	}
	if !errors.Is(err, drivers.ErrCorrupt) {
		t.Errorf("after a compaction of what is gone: %v", err)
	}
	if st != nil {
		st.Close()
	}
}

// TestFailedReads: a read that the system refuses is its error, and no damage; the next read is as if
// nothing had been.
func TestFailedReads(t *testing.T) {
	dir := t.TempDir()
	crowd(t, dir)
	for _, x := range []struct {
		reason syscall.Errno
		of     string // files
	}{{syscall.EIO, ".sst"}, {syscall.EMFILE, ".sst"}, {syscall.EIO, blobSuffix}, {syscall.EMFILE, blobSuffix}} {
		reason, disk := x.reason, &refusing{FS: vfs.Default, reason: x.reason, of: x.of}
		e, err := openEnvOn(disk, drivers.Options{Dir: dir, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		e.t = t
		read := func() error {
			return e.sess.Read(t.Context(), e.stmt("parts"), values([]any{"u", "f", 1, 0}), func([]drivers.Value) error { return nil })
		}
		disk.on.Store(true)
		if err := read(); !errors.Is(err, reason) || errors.Is(err, drivers.ErrCorrupt) || !drivers.IsUnread(err) {
			t.Errorf("%v of %s: the read says %v", reason, x.of, err)
		}
		disk.on.Store(false)
		if err := read(); err != nil {
			t.Errorf("after %v: %v", reason, err)
		}
		e.close()
	}
	disk := &refusing{FS: vfs.Default, reason: syscall.EMFILE, of: blobSuffix}
	disk.on.Store(true)
	if _, err := openEnvOn(disk, drivers.Options{Dir: dir}); !errors.Is(err, syscall.EMFILE) || errors.Is(err, drivers.ErrCorrupt) {
		t.Errorf("opened without descriptors: %v", err)
	}
}

// refusing is a disk that opens and reads no files whose names end in of while it is on.
type refusing struct {
	vfs.FS
	reason syscall.Errno
	of     string
	on     atomic.Bool
}

func (d *refusing) refuse(op, name string) error {
	if d.on.Load() && filepath.Ext(name) == d.of {
		return &fs.PathError{Op: op, Path: name, Err: d.reason}
	}
	return nil
}

func (d *refusing) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	if err := d.refuse("open", name); err != nil {
		return nil, err
	}
	f, err := d.FS.Open(name, o...)
	return &refusedFile{f, d, name}, err
}

type refusedFile struct {
	vfs.File
	disk *refusing
	name string
}

func (f *refusedFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.disk.refuse("read", f.name); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

// crowd makes a store with so many tables over each other that Pebble rewrites their values as
// soon as it may compact them (MaxBlobReferenceDepth).
func crowd(t *testing.T, dir string) {
	t.Helper()
	e := newEnv(t, drivers.Options{Dir: dir})
	if err := errors.Join(e.sess.Close(), e.store.stop()); err != nil {
		t.Fatal(err)
	}
	o := e.store.options()
	o.DisableAutomaticCompactions = true
	var err error
	if e.store.db, err = pebble.Open(dir, o); err != nil {
		t.Fatal(err)
	}
	if e.sess, err = e.store.Session(); err != nil {
		t.Fatal(err)
	}
	for range 15 {
		for n := range 3 {
			e.write("put_part", "u", "f", 1, n, int32(1), bytes.Repeat([]byte{byte(n)}, 2*minSeparate))
		}
		if err := e.store.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(blobsIn(t, dir)); n < 15 {
		t.Fatalf("%d blob files", n)
	}
	e.close()
}

func blobsIn(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+blobSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// fleeting is a disk from which a blob file goes when it was opened once.
type fleeting struct {
	vfs.FS
	opened sync.Map
}

func (d *fleeting) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	if _, before := d.opened.LoadOrStore(name, true); before && filepath.Ext(name) == blobSuffix {
		return nil, fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
	}
	return d.FS.Open(name, o...)
}
