package pebble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/blob"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mailbench/mailbench/drivers"
)

// corrupt marks an error as drivers.ErrCorrupt if its cause are files that are damaged or gone.
func corrupt(err error) error {
	if err == nil || errors.Is(err, drivers.ErrCorrupt) {
		return err
	}
	if pebble.IsCorruptionError(err) || errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), wrongSize) {
		return fmt.Errorf("%w: %w", drivers.ErrCorrupt, err)
	}
	return err
}

// wrongSize is what Pebble says of a table that was cut. It does not call that corrupt.
const wrongSize = "object size mismatch"

// blobSuffix ends the names of files of values that are not beside their keys (see minSeparate).
const blobSuffix = ".blob"

// checkBlobs compares the blob files with the manifest, before the store is opened. When Pebble
// 2.1.7 reads one that is gone, or whose last bytes are damaged, it panics, also in a compaction,
// where nobody can recover it. So this opens the store for reading, which starts no compaction.
func (s *Store) checkBlobs() error {
	names, err := s.fs.List(s.dir)
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
		if err = s.checkBlob(filepath.Join(s.dir, b.Physical.FileNum.String()+blobSuffix)); err != nil {
			err = fmt.Errorf("%w: blob file: %w", drivers.ErrCorrupt, err)
			break
		}
	}
	return errors.Join(err, db.Close())
}

func isTable(name string) bool { return strings.HasSuffix(name, ".sst") }

// checkBlob reads the end of a blob file as Pebble does.
func (s *Store) checkBlob(name string) error {
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
		return errors.Join(fmt.Errorf("%s: %w", name, err), r.Close())
	}
	return b.Close()
}

// Open implements vfs.FS. If a blob file has gone while the store is open, the error is not
// fs.ErrNotExist, which would let Pebble panic (see checkBlobs).
func (g *guardFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := g.FS.Open(name, o...)
	if err != nil && strings.HasSuffix(name, blobSuffix) {
		err = fmt.Errorf("%w: %v", drivers.ErrCorrupt, err)
	}
	return f, err
}
