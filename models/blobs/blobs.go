// Package blobs keeps bodies of messages outside of an engine: in files, in a folder of the machine on which
// mailbench runs.
package blobs

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/private"
)

// FSLocal is the name of a store of files, as in blob://fs-local/KEY, and of its folder.
const FSLocal = "fs-local"

// The names in a folder of files. A blob is in one of 256 folders, which a hash of its
// identifier names, so that messages of one second are not in one folder. It is written under the
// name with the suffix. Files of other names are not the store's.
const (
	markFile  = "mailbench-blobs" // says that the folder is a store
	markText  = "The blobs of a data set of mailbench, as files.\n"
	prefix    = "mailbench-"
	unwritten = ".writing"
)

// Store keeps blobs by identifiers of 16 bytes. Several goroutines may use it at once.
type Store struct {
	dir    string
	synced bool // what is committed has reached the disk

	mu   sync.Mutex
	root *os.Root        // nil until it is needed
	made map[string]bool // folders
}

// Open returns the store in a folder, in which it makes nothing until the first write. Blobs that it has
// committed survive as the class says: with memory or process they reached the operating system, with
// any other the disk.
func Open(dir string, d drivers.Durability) *Store {
	return &Store{
		dir: filepath.Join(dir, FSLocal), synced: d != drivers.Memory && d != drivers.Process, made: make(map[string]bool),
	}
}

// place returns the path of a blob, which begins with the two digits of its folder.
func place(id [16]byte) string {
	hash := fnv.New32a()
	hash.Write(id[:])
	return fmt.Sprintf("%02x/%s%x", hash.Sum32()>>24, prefix, id)
}

// open opens the folder, and returns an error that wraps fs.ErrNotExist if there is none. It
// refuses one that is not a store's.
func (s *Store) open() (*os.Root, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened()
}

// opened is open for who holds the lock.
func (s *Store) opened() (*os.Root, error) {
	if s.root != nil {
		return s.root, nil
	}
	if err := private.Check(s.dir); err != nil {
		return nil, fmt.Errorf("blob store: %w", err)
	}
	b, err := private.ReadFile(filepath.Join(s.dir, markFile))
	if err != nil || string(b) != markText {
		return nil, fmt.Errorf("blob store: %s is no folder of blobs, which has a file %s: %w", s.dir, markFile,
			errors.Join(err, private.ErrRefused))
	}
	s.root, err = os.OpenRoot(s.dir)
	return s.root, err
}

// make opens the folder, which it makes if there is none, and makes the folder of a blob.
func (s *Store) make(folder string) (*os.Root, error) {
	s.mu.Lock() // workers that all write first make one store
	defer s.mu.Unlock()
	root, err := s.opened()
	if errors.Is(err, fs.ErrNotExist) {
		root, err = s.makeStore()
	}
	if err != nil || s.made[folder] {
		return root, err
	}
	if err := root.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	err = s.sync(s.dir)
	s.made[folder] = err == nil
	return root, err
}

// makeStore makes and opens an empty store. A folder of that name that has something in it is not taken.
func (s *Store) makeStore() (*os.Root, error) {
	if err := private.Make(s.dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() != markFile && e.Name() != markFile+".new" { // of a process that was killed meanwhile
			return nil, fmt.Errorf("%s is not empty: %w", s.dir, private.ErrRefused)
		}
	}
	err = private.WriteFile(filepath.Join(s.dir, markFile), []byte(markText))
	for _, dir := range []string{".", "..", "../.."} { // the store's, that of all stores, the data set's
		err = cmp.Or(err, s.sync(filepath.Join(s.dir, dir)))
	}
	if err != nil {
		return nil, err
	}
	return s.opened()
}

// sync makes the names in a folder durable, if the store is synced. Windows cannot.
func (s *Store) sync(folder string) error {
	if !s.synced || runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Write begins a blob. It is there, whole, once Commit has returned; until then it is not visible.
func (s *Store) Write(id [16]byte) (*Writer, error) {
	name := place(id)
	root, err := s.make(path.Dir(name))
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name+unwritten, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &Writer{store: s, root: root, name: name, File: f}, nil
}

// Writer writes one blob. It ends with a Commit or an Abort.
type Writer struct {
	*os.File
	store *Store
	root  *os.Root
	name  string
}

// Commit makes the blob visible. The bytes reach the disk before the name does.
func (w *Writer) Commit() error {
	var err error
	if w.store.synced {
		err = w.Sync()
	}
	if err = errors.Join(err, w.Close()); err == nil {
		err = w.root.Rename(w.name+unwritten, w.name)
	}
	if err != nil {
		return errors.Join(err, w.root.Remove(w.name+unwritten))
	}
	return w.store.sync(filepath.Join(w.store.dir, path.Dir(w.name)))
}

// Abort removes what was written.
func (w *Writer) Abort() error { return errors.Join(w.Close(), w.root.Remove(w.name+unwritten)) }

// ReadAt reads a part of a blob as an io.ReaderAt does. The error wraps fs.ErrNotExist if there is no such blob.
func (s *Store) ReadAt(id [16]byte, p []byte, off int64) (int, error) {
	root, err := s.open()
	if err != nil {
		return 0, err
	}
	f, err := root.Open(place(id))
	if err != nil {
		return 0, err
	}
	n, err := f.ReadAt(p, off)
	return n, cmp.Or(f.Close(), err)
}

// Close releases what the store holds. A later call takes it again.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == nil {
		return nil
	}
	err := s.root.Close()
	s.root = nil
	return err
}

// Remove removes a blob. It is no error if there is none. A removal that a loss of power undoes leaves a
// blob without a message.
func (s *Store) Remove(id [16]byte) error {
	root, err := s.open()
	if err == nil {
		err = root.Remove(place(id))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Each yields each blob, and returns how many writes were interrupted before their Commit.
func (s *Store) Each(yield func(id [16]byte) error) (brokenOff int64, err error) {
	root, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, temp := strings.CutSuffix(name, unwritten)
		id, err := hex.DecodeString(strings.TrimPrefix(path.Base(name), prefix))
		switch {
		case err != nil || len(id) != 16 || place([16]byte(id)) != name: // not the store's
			return nil
		case temp:
			brokenOff++
			return nil
		}
		return yield([16]byte(id))
	})
	return brokenOff, err
}
