package pebble

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mailbench/mailbench/drivers"
)

// guardFS is between Pebble and its files. It does four things that
// Pebble has no option for.
//
// After the first write that fails (the disk is full or broken), it writes nothing
// more and reports success to Pebble. Otherwise Pebble would end the process, or hang
// in its commit pipeline. Pebble then runs until it is closed, the files stay as a
// crash at that moment would have left them, and the store returns the error from
// every call.
//
// In the durability class "process", it does not sync the write-ahead log. A commit
// that waits for the sync then waits only for the write(2).
//
// It counts the bytes written: Pebble's metrics count flushed blobs twice.
//
// It makes files that only their user can read.
type guardFS struct {
	vfs.FS
	discardLogger
	what        string // names the database in errors
	unsyncedLog bool
	armed       atomic.Bool  // false while Pebble opens: then Pebble gets the errors itself
	written     atomic.Int64 // bytes
	failure     atomic.Pointer[error]
}

// OpenGuarded opens a Pebble database that is not a data store, such as one of temporary records; what names it in
// errors. After the first write that fails, Pebble discards all writes, and fault returns the error.
func OpenGuarded(what, dir string, o *pebble.Options) (db *pebble.DB, fault func() error, err error) {
	if err := enoughFiles(dir); err != nil {
		return nil, nil, err
	}
	g := &guardFS{FS: o.FS, what: what}
	if g.FS == nil {
		g.FS = vfs.Default
	}
	o.FS, o.Logger, o.EventListener = g, g, g.listener()
	if db, err = pebble.Open(dir, o); err != nil {
		return nil, nil, err
	}
	g.armed.Store(true)
	return db, g.fault, nil
}

// fault returns what made the store stop, or nil.
func (g *guardFS) fault() error {
	if p := g.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// fail stops the store and keeps the first reason.
func (g *guardFS) fail(err error) {
	err = fmt.Errorf("%s has stopped: %w", g.what, err)
	g.failure.CompareAndSwap(nil, &err)
}

// try runs a change to the disk, if none has failed before.
func (g *guardFS) try(change func() error) error {
	if g.fault() != nil {
		return nil
	}
	err := change()
	if err == nil || !g.armed.Load() {
		return err
	}
	g.fail(err)
	return nil
}

// file opens a file for writing. After a fault, the file discards all writes.
func (g *guardFS) file(name string, open func() (vfs.File, error)) (vfs.File, error) {
	f := &guardFile{fs: g, log: strings.HasSuffix(name, ".log")}
	err := g.try(func() (err error) {
		f.File, err = open()
		return err
	})
	if f.File == nil && err == nil { // an empty file that write and Sync never reach
		f.File, err = vfs.NewMem().Create("nowhere", vfs.WriteCategoryUnspecified)
	}
	return f, err
}

// Create implements vfs.FS.
func (g *guardFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.file(name, func() (vfs.File, error) {
		f, err := g.FS.Create(name, c)
		if err != nil || f.Fd() == vfs.InvalidFd { // a file in memory has no mode
			return f, err
		}
		if err := os.Chmod(name, 0o600); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	})
}

// OpenReadWrite implements vfs.FS.
func (g *guardFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return g.file(name, func() (vfs.File, error) { return g.FS.OpenReadWrite(name, c, o...) })
}

// ReuseForWrite implements vfs.FS.
func (g *guardFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.file(name, func() (vfs.File, error) { return g.FS.ReuseForWrite(old, name, c) })
}

// OpenDir implements vfs.FS. Pebble opens directories to sync them.
func (g *guardFS) OpenDir(name string) (vfs.File, error) {
	return g.file(name, func() (vfs.File, error) { return g.FS.OpenDir(name) })
}

// Link implements vfs.FS.
func (g *guardFS) Link(old, name string) error {
	return g.try(func() error { return g.FS.Link(old, name) })
}

// Rename implements vfs.FS.
func (g *guardFS) Rename(old, name string) error {
	return g.try(func() error { return g.FS.Rename(old, name) })
}

// Remove implements vfs.FS. A file that cannot be removed does not stop the store.
// After a fault, Remove keeps the files, since their replacements were not written.
func (g *guardFS) Remove(name string) error {
	if g.fault() != nil {
		return nil
	}
	return g.FS.Remove(name)
}

// RemoveAll implements vfs.FS.
func (g *guardFS) RemoveAll(name string) error {
	if g.fault() != nil {
		return nil
	}
	return g.FS.RemoveAll(name)
}

// Unwrap implements vfs.FS.
func (g *guardFS) Unwrap() vfs.FS { return g.FS }

// listener turns errors of Pebble's background work into a fault of the store.
func (g *guardFS) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) { g.fail(corrupt(err)) },
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			if !drivers.IsUnread(i.Details) { // else the read itself fails
				g.fail(damaged(fmt.Errorf("file %s: %w", i.Path, i.Details)))
			}
		},
	}
}

// Fatalf implements pebble.Logger. Pebble goes on if Fatalf returns. That does no harm, since
// guardFS writes nothing more.
func (g *guardFS) Fatalf(format string, args ...any) {
	g.fail(fmt.Errorf(format, args...))
}

// guardFile is a file that is written through a guardFS.
type guardFile struct {
	vfs.File
	fs  *guardFS
	log bool
}

// Write implements vfs.File.
func (f *guardFile) Write(p []byte) (n int, err error) {
	return f.write(p, func() (int, error) { return f.File.Write(p) })
}

// WriteAt implements vfs.File.
func (f *guardFile) WriteAt(p []byte, off int64) (n int, err error) {
	return f.write(p, func() (int, error) { return f.File.WriteAt(p, off) })
}

func (f *guardFile) write(p []byte, do func() (int, error)) (n int, err error) {
	err = f.fs.try(func() error {
		n, err = do()
		return err
	})
	f.fs.written.Add(int64(n))
	if err != nil {
		return n, err
	}
	return len(p), nil
}

// Sync implements vfs.File.
func (f *guardFile) Sync() error { return f.sync(f.File.Sync) }

// SyncData implements vfs.File.
func (f *guardFile) SyncData() error { return f.sync(f.File.SyncData) }

// SyncTo implements vfs.File.
func (f *guardFile) SyncTo(length int64) (full bool, err error) {
	full = f.log && f.fs.unsyncedLog
	err = f.sync(func() error {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

func (f *guardFile) sync(do func() error) error {
	if f.log && f.fs.unsyncedLog {
		return nil
	}
	return f.fs.try(do)
}

// Close implements vfs.File.
func (f *guardFile) Close() error { return f.fs.try(f.File.Close) }
