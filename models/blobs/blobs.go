// Package blobs keeps bodies of messages outside of an engine, in stores that have names. The only
// one is fs-local, files in a folder of the machine on which mailbench runs.
package blobs

import (
	"errors"
	"fmt"
	"io"

	"github.com/mailbench/mailbench/drivers"
)

// ErrMissing says that a store does not have a blob.
var ErrMissing = errors.New("the blob is missing")

// Store keeps blobs by identifiers of 16 bytes. Several goroutines may use it at once.
type Store interface {
	// Write begins a blob. It is there, whole, once Commit has returned; until then it is not visible.
	Write(id [16]byte) (Writer, error)
	// ReadAt reads a part of a blob as an io.ReaderAt does. The error wraps ErrMissing if there is
	// no such blob.
	ReadAt(id [16]byte, p []byte, off int64) (int, error)
	// Remove removes a blob. It is no error if there is none.
	Remove(id [16]byte) error
	// Each yields each blob, and returns how many writes were interrupted before their Commit.
	Each(yield func(id [16]byte) error) (brokenOff int64, err error)
	// Close releases what the store holds. A later call takes it again.
	Close() error
}

// Writer writes one blob. It ends with a Commit or an Abort.
type Writer interface {
	io.Writer
	Commit() error
	Abort() error
}

// Name is the name of a store, as in blob://NAME/KEY.
type Name string

// FSLocal is the store of files.
const FSLocal Name = "fs-local"

// stores are all stores. Open makes nothing until the first write.
var stores = []struct {
	name Name
	open func(dir string, synced bool) Store
}{
	{FSLocal, openFiles},
}

// Names are the names of all stores.
func Names() (names []Name) {
	for _, s := range stores {
		names = append(names, s.name)
	}
	return names
}

// Open returns the store of that name in a folder, in which each store has a folder of its own.
// What it has committed survives what the class says: with memory or process it reached the
// operating system, with any other the disk.
func Open(name Name, dir string, d drivers.Durability) (Store, error) {
	for _, s := range stores {
		if s.name == name {
			return s.open(dir, d != drivers.Memory && d != drivers.Process), nil
		}
	}
	return nil, fmt.Errorf("no blob store is named %q; there are %v", name, Names())
}
