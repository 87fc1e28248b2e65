package pebble

import (
	"context"
	"encoding/binary"
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
	"github.com/mailbench/mailbench/drivers/keys"
)

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

func isTable(name string) bool { return strings.HasSuffix(name, ".sst") }

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
