// Package pebble is the embedded engine: it runs access patterns on Pebble, an
// ordered key-value store in this process, as somebody who builds directly on
// it would.
//
// # Layout
//
// A table has key spaces of its own, each with a two-byte number before every key:
//
//	rows      primary key → all plain columns but collections, in one value
//	cells     primary key, column, element → value: one key-value pair an element
//	statics   partition key → static columns
//	index     index columns, rest of the primary key → nothing
//
// Nested tables have spaces of their own too, so a scan of metadata never
// touches bodies. Keys are encoded by package keys. A put of all columns is a
// Set. A put of some columns and an add are Merges, which do not read the row
// (see row.go). Elements of a list get ascending numbers, so appending reads
// nothing.
//
// A write that must read its row first (put-if, returns: new) takes the row's
// lock while it reads and applies, but not while it syncs.
//
// Indexes are entries written in one batch with their rows. Those of an index over
// key columns only never change. A write that may change those of an index with
// plain columns reads the old row first, under its lock, and so does each delete
// (write.go). A row with null in such a column has no entry. A filter by such a
// column is answered from its index.
//
// # Counters
//
// Nothing goes over a wire. A read, a write or a batch counts as one request, and so does each
// element of a parallel get, which is a look-up of its own. Rows scanned are those that an
// iterator stopped at or a look-up found, whether a filter drops them or not, the index entries
// that led to them, and the old rows that writes read for their index entries. The elements of a
// row's collections are no rows.
package pebble

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/drivers/private"
	"github.com/mailbench/mailbench/schemas"
)

// maxBatchBytes is the largest atomic write in bytes. Pebble panics at 4 GiB. The difference
// leaves room for the elements and index entries that follow a row in its batch.
const maxBatchBytes = 2 << 30

// maxRow is the largest size in bytes of a row without its collections, and of one element of a
// collection. It is HBase's default limit of a cell. Pebble takes larger rows, but it has ten
// copies of a row in memory while it flushes, reads and compacts, and it shares that memory
// with the load generator.
const maxRow = 10 << 20

// Store is an open embedded engine.
type Store struct {
	dir        string
	cacheBytes int64
	compressed *block.CompressionProfile
	durability drivers.Durability
	lock       *pebble.Lock
	maxBatch   int64
	readBefore int64 // bytes the process had read from disk before the store was opened, or -1

	gate   plan.Gate
	mu     sync.RWMutex // guards db, fs, guarded
	db     *pebble.DB   // nil once closed, and while the store sleeps
	fs     *guardFS
	tables plan.Tables[table]
	plan.Ranges[*statement]

	guarded map[uint16]*atomic.Bool // the field guarded of each table, by the key space of its rows

	seed     maphash.Seed
	stripes  [stripes]stripe
	elements atomic.Uint64 // the last number given to an element of a list
}

var (
	_ drivers.Store    = (*Store)(nil)
	_ drivers.Settler  = (*Store)(nil)
	_ drivers.Cooler   = (*Store)(nil)
	_ drivers.Sleeper  = (*Store)(nil)
	_ drivers.Observer = (*Store)(nil)
	_ drivers.Splitter = (*Store)(nil)
	_ drivers.Tracer   = (*Store)(nil)
)

// Engine returns the engine's entry for the list of engines.
func Engine() drivers.Engine {
	return drivers.Engine{
		Name:     "embedded",
		Doc:      "Pebble, an ordered key-value store in this process, on local disk",
		Settings: settingList,
		Open: func(_ context.Context, o drivers.Options) (drivers.Store, error) {
			s, err := openStore(o, vfs.Default)
			if err != nil {
				return nil, fmt.Errorf("open the embedded engine: %w", err)
			}
			return s, nil
		},
		Forecast: forecastOf,
		Compile: func(s *schemas.Schema, _ drivers.Options) (drivers.Compiler, error) {
			store, err := offline(s) // as if it were the first in its data folder
			if err != nil {
				return nil, err
			}
			return plan.Compiler(store.compile), nil
		},
		TraceDoc: `REQUESTS are calls of this process. READ are rows and index entries. HIDDEN
entries were skipped: tombstones, the rows that they delete, older versions.
BLOCKS are bytes of blocks; data only in memory has none. TIME is the client's.`,
	}
}

func openStore(o drivers.Options, disk vfs.FS) (*Store, error) {
	settings := drivers.ReadSettings(settingList, o.Settings)
	if err := settings.Err(); err != nil {
		return nil, err
	}
	if o.Durability == drivers.Quorum {
		return nil, drivers.WrongOption(errors.New("durability quorum needs replicas; choose memory, process or power"))
	}
	if o.Dir == "" {
		return nil, errors.New("no data directory was given")
	}
	if err := o.CheckKeyspace(); err != nil {
		return nil, err
	}
	if err := claim(o.Dir, o.ReadOnly); err != nil {
		return nil, err
	}
	l, err := lock(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Store{
		dir: o.Dir, cacheBytes: cmp.Or(o.CacheBytes, defaultCache),
		compressed: drivers.Word(settings, "compression", compressions),
		durability: cmp.Or(o.Durability, drivers.Power),
		gate:       plan.Gate{Engine: "embedded engine", ReadOnly: o.ReadOnly},
		lock:       l, maxBatch: maxBatchBytes, readBefore: drivers.DiskReads(os.Getpid()),
		seed: maphash.MakeSeed(), guarded: make(map[uint16]*atomic.Bool),
	}
	s.Ranges = plan.Ranges[*statement]{Calls: &s.gate, Divide: s.divide, Part: part}
	if err := s.start(disk); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if s.gate.ReadOnly {
		return s, nil
	}
	// The numbers of elements begin above all earlier ones.
	data, err := find(s.db, []byte(openedKey), nil)
	if err == nil {
		opened := uint64(1)
		if len(data) == 8 {
			opened += binary.BigEndian.Uint64(data)
		}
		s.elements.Store(opened << elementBits)
		err = s.putSynced([]byte(openedKey), binary.BigEndian.AppendUint64(nil, opened))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// start opens Pebble.
func (s *Store) start(disk vfs.FS) error {
	before := s.fs
	s.fs = &guardFS{FS: disk, what: "the embedded engine", unsyncedLog: s.durability == drivers.Process}
	if before != nil {
		s.fs.written.Store(before.written.Load()) // opened again
	}
	if err := enoughFiles(s.dir); err != nil {
		return err
	}
	if err := s.checkBlobs(); err != nil {
		return corrupt(err)
	}
	db, err := pebble.Open(s.dir, s.options())
	if err != nil {
		return corrupt(err)
	}
	s.fs.armed.Store(true)
	s.db = db
	return s.fs.fault()
}

// leastFiles is how many more files the process must be able to open before Pebble opens. With few, a
// compaction that Pebble begins while it opens may end the process.
const leastFiles = 64

func enoughFiles(dir string) error {
	var opened []io.Closer
	defer func() {
		for _, f := range opened {
			f.Close()
		}
	}()
	for range leastFiles {
		f, err := os.Open(dir)
		if err != nil {
			return fmt.Errorf("a Pebble database needs %d file descriptors, found %d free: %w; raise the limit (ulimit -n)",
				leastFiles, len(opened), err)
		}
		opened = append(opened, f)
	}
	return nil
}

// options returns what Pebble is opened with.
func (s *Store) options() *pebble.Options {
	o := Tuned(s.cacheBytes)
	for i := range o.Levels {
		o.Levels[i].Compression = func() *block.CompressionProfile { return s.compressed }
	}
	o.FS, o.Lock, o.Logger, o.EventListener = s.fs, s.lock, s.fs, s.fs.listener()
	o.ReadOnly = s.gate.ReadOnly
	return o
}

// stop closes Pebble. After a fault its own opinion does not matter.
func (s *Store) stop() error {
	if s.db == nil {
		return nil
	}
	err := s.db.Close()
	s.db = nil
	if fault := s.fs.fault(); fault != nil {
		return fault
	}
	return err
}

// Close implements drivers.Store.
func (s *Store) Close() error {
	s.gate.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	l := s.lock
	s.lock = nil
	return errors.Join(s.stop(), l.Close())
}

// Capabilities implements drivers.Store.
func (s *Store) Capabilities() drivers.Capabilities {
	version := "pebble" // with that of the build, if it has one
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/cockroachdb/pebble/v2" {
				version = "pebble " + m.Version
			}
		}
	}
	return drivers.Capabilities{
		Engine:        "embedded",
		Version:       version,
		Durability:    s.durability,
		Atomic:        schemas.AtomicAll,
		ReturnsNew:    true,
		PlainIndexes:  true,
		MaxBatchBytes: s.maxBatch,
		MaxCellBytes:  maxRow,
		MaxRowBytes:   maxRow,
		InProcess:     true,
	}
}

const (
	// memTableSize is in bytes. With Pebble's default of 4 MB, deliveries stall for seconds.
	// With 16, 32 and 64 MB they are equally fast, and the disk gets 8 KB bodies 4.0, 3.7 and
	// 3.2 times. Two memtables of 64 MB, a cache and Pebble's buffers for large rows would be
	// more than the 300 MB that a run may take.
	memTableSize = 32 << 20
	memTables    = 2 // one takes writes while the other is flushed
	// defaultCache is the size of the block cache in bytes, unless Options say another.
	defaultCache = 64 << 20
	// minSeparate is the size in bytes from which values go to blob files, which compactions
	// need not rewrite. Bodies go there, metadata does not.
	minSeparate = 1 << 10
)

// Tuned returns the options with which the engine runs Pebble. Benchmarks that compare the
// engine with Pebble alone use them too. cacheBytes is the size of the block cache; 0 is the
// default of 64 MiB.
func Tuned(cacheBytes int64) *pebble.Options {
	o := &pebble.Options{
		FormatMajorVersion: pebble.FormatNewest,
		Merger:             Merger(),
		// Pebble reserves the memory of its memtables in the cache, also of those it keeps for
		// the next use. Without room for them it would cache nothing.
		CacheSize:                   cmp.Or(cacheBytes, defaultCache) + memTables*memTableSize,
		MemTableSize:                memTableSize,
		MemTableStopWritesThreshold: memTables,
		// CockroachDB's thresholds: compact L0 early, and let it grow deep in
		// a burst rather than stop writers.
		L0CompactionThreshold:      2,
		L0StopWritesThreshold:      1000,
		LBaseMaxBytes:              64 << 20,
		CompactionConcurrencyRange: func() (lower, upper int) { return 1, compactions(runtime.GOMAXPROCS(0)) },
		Logger:                     discardLogger{},
	}
	o.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
		return pebble.ValueSeparationPolicy{
			Enabled:               true,
			MinimumSize:           minSeparate,
			MaxBlobReferenceDepth: 10,
			RewriteMinimumAge:     5 * time.Minute,
			TargetGarbageRatio:    0.2,
		}
	}
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10) // 1 % of lookups of absent keys read a block
	}
	return o
}

// compactions returns how many compactions may run at once. Pebble begins with one and adds more
// when L0 grows deep. The load generator shares the processors with them, so it keeps half.
func compactions(processors int) int { return max(1, min(4, processors/2)) }

// discardLogger discards Pebble's log.
type discardLogger struct{}

func (discardLogger) Infof(string, ...any)  {}
func (discardLogger) Errorf(string, ...any) {}
func (discardLogger) Fatalf(string, ...any) {}

// settingList are the settings that Open understands.
var settingList = []drivers.Setting{
	{
		Name: "compression", Default: "snappy", Doc: "of tables and blob files: none, snappy, zstd",
		Check: drivers.OneOf(slices.Sorted(maps.Keys(compressions))...),
	},
}

var compressions = map[string]*block.CompressionProfile{
	"none": block.NoCompression, "snappy": block.SnappyCompression, "zstd": block.ZstdCompression,
}

// markName is a file that says the folder is mailbench's; nothing is touched in a folder
// that holds files and not this one.
const markName = "MAILBENCH"

// mark is the text of that file. Its number is that of the layout in the package comment.
var mark = []byte("mailbench data, engine embedded, layout 3\n")

// claim checks that the folder is mailbench's. If it is absent or empty, claim creates and marks it, unless the store
// is only read. Pebble follows links (it would empty what LOCK points to), so that a folder with one is refused.
func claim(dir string, readOnly bool) error {
	name := filepath.Join(dir, markName)
	if readOnly {
		err := private.Check(dir)
		if err == nil {
			_, err = os.Lstat(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return drivers.WrongOption(fmt.Errorf("%s contains no data of mailbench; name the folder that a run had with --data", dir))
		} else if err != nil {
			return err
		}
	} else if err := private.Make(dir); err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	if err := private.PlainFiles(dir); err != nil {
		return err
	}
	found, err := private.ReadFile(name)
	switch {
	case err == nil && !bytes.Equal(found, mark):
		return fmt.Errorf("%s was written by another version of mailbench (%q); use another directory or remove it",
			dir, found)
	case err == nil && readOnly:
		return nil
	case err == nil:
		return private.Restrict(dir)
	case readOnly || !errors.Is(err, os.ErrNotExist):
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s contains files of other programs, such as %s; name an empty directory: %w",
			dir, entries[0].Name(), drivers.ErrForeign)
	}
	return private.WriteFile(name, mark)
}

// lock takes the folder's lock, which the operating system releases if the
// process dies.
func lock(dir string) (*pebble.Lock, error) {
	l, err := pebble.LockDirectory(dir, vfs.Default)
	if err == nil {
		return l, os.Chmod(filepath.Join(dir, "LOCK"), 0o600)
	}
	// Windows lets no other process open the file (ERROR_SHARING_VIOLATION).
	held := errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) ||
		runtime.GOOS == "windows" && errors.Is(err, syscall.Errno(32))
	if held || strings.Contains(err.Error(), "lock held") {
		return nil, fmt.Errorf("data directory %s is %w; wait for that run to end or name another directory",
			dir, drivers.ErrLocked)
	}
	return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
}
