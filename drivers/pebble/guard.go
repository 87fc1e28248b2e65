package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/blob"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/keys"
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
//
// Pebble changes files in other ways only for checkpoints, for tables that it ingests and in its shared cache, which no
// store has.
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
	g := &guardFS{FS: o.FS, what: what}
	if g.FS == nil {
		g.FS = vfs.Default
		if err := enoughFiles(dir); err != nil {
			return nil, nil, err
		}
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

// ReuseForWrite implements vfs.FS.
func (g *guardFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.file(name, func() (vfs.File, error) { return g.FS.ReuseForWrite(old, name, c) })
}

// OpenDir implements vfs.FS. Pebble opens directories to sync them.
func (g *guardFS) OpenDir(name string) (vfs.File, error) {
	return g.file(name, func() (vfs.File, error) { return g.FS.OpenDir(name) })
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
	err = f.fs.try(func() error {
		n, err = f.File.Write(p)
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

// corrupt marks an error as drivers.ErrCorrupt if its cause is that files are damaged or gone.
func corrupt(err error) error {
	if err == nil || errors.Is(err, drivers.ErrCorrupt) || drivers.IsUnread(err) {
		return err
	}
	if pebble.IsCorruptionError(err) || errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), wrongSize) ||
		errors.Is(err, errRow) || errors.Is(err, keys.ErrCorrupt) {
		return fmt.Errorf("%w: %w", drivers.ErrCorrupt, err)
	}
	return err
}

// wrongSize is what Pebble says of a table that was cut. It does not call that corrupt.
const wrongSize = "object size mismatch"

// blobSuffix ends the names of files of values that are not next to their keys (see minSeparate).
const blobSuffix = ".blob"

// checkBlobs compares the blob files with the manifest, before the store is opened. When Pebble
// 2.1.7 reads one that is gone, or whose last bytes are damaged, it panics, also in a compaction,
// where no recovery is possible. So this opens the store for reading, which starts no compaction.
func (s *Store) checkBlobs() error {
	names, err := s.fs.List(s.dir)
	isTable := func(name string) bool { return strings.HasSuffix(name, ".sst") }
	if err != nil || !slices.ContainsFunc(names, isTable) {
		return nil // only tables refer to blob files, and what is wrong with the folder Pebble says itself
	}
	o := s.options()
	o.ReadOnly = true
	db, err := pebble.Open(s.dir, o)
	if err != nil {
		return err
	}
	for b := range db.DebugCurrentVersion().BlobFiles.All() {
		name := filepath.Join(s.dir, b.Physical.FileNum.String()+blobSuffix)
		if err = s.checkBlob(name, uint64(b.Physical.FileNum), b.Physical.Size); err != nil {
			err = fmt.Errorf("blob file %s: %w", name, err)
			break
		}
	}
	return errors.Join(err, db.Close())
}

// Pebble ends a blob file with a footer of blobFooter bytes, which has the file's number at blobNumber.
const (
	blobFooter = 38
	blobNumber = 22
)

// checkBlob reads the end of a blob file as Pebble does, and compares its size and its number with
// those of the manifest: a compaction also panics at a file that was exchanged for another.
func (s *Store) checkBlob(name string, number, size uint64) error {
	f, err := s.fs.FS.Open(name)
	if err != nil {
		return err
	}
	r, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	b, err := blob.NewFileReader(context.Background(), r, blob.FileReaderOptions{})
	if err != nil {
		return errors.Join(damaged(err), r.Close())
	}
	var footer [blobFooter]byte
	if got := uint64(r.Size()); got != size {
		err = fmt.Errorf("%w: it has %d bytes instead of %d", drivers.ErrCorrupt, got, size)
	} else if err = r.ReadAt(context.Background(), footer[:], r.Size()-blobFooter); err == nil {
		if got := binary.LittleEndian.Uint64(footer[blobNumber:]); got != number {
			err = fmt.Errorf("%w: it is number %d, exchanged or renamed", drivers.ErrCorrupt, got)
		}
	}
	return errors.Join(err, b.Close())
}

// damaged marks any error but that of a system call as drivers.ErrCorrupt.
func damaged(err error) error {
	if drivers.IsUnread(err) {
		return err
	}
	return fmt.Errorf("%w: %w", drivers.ErrCorrupt, err)
}

// Open implements vfs.FS. If a blob file has gone while the store is open, the error is not
// fs.ErrNotExist, which would let Pebble panic (see checkBlobs).
func (g *guardFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := g.FS.Open(name, o...)
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(name, blobSuffix) {
		err = fmt.Errorf("%w: %v", drivers.ErrCorrupt, err)
	}
	return f, err
}
