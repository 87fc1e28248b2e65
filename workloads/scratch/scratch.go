// Package scratch makes folders that belong to one process and are removed when it ends: the
// data folder of a run, results that are being written. Such a folder has a mark, and its
// process has a lock on it. A process that is killed loses the lock and leaves the mark. So its
// folders can be found and removed, and those of a live process, or of anybody else, cannot.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mailbench/mailbench/drivers/private"
)

// Mark is the file that says that mailbench made the folder and may remove it.
const Mark = "mailbench-scratch"

// TemporaryPattern matches the names of temporary folders.
const TemporaryPattern = "mailbench-*"

// errForeign is the error for a folder without the mark.
var errForeign = errors.New("folder was not left by mailbench")

// Folder is a scratch folder of this process.
type Folder struct {
	Path string
	lock *os.File // the folder itself, opened; nil without a lock
}

// Claim makes an empty folder a scratch folder of this process. It is locked before
// it is marked: a folder with a mark and without a lock has lost its process. Where
// a folder cannot be locked (Windows, some network file systems) it is not marked
// either, and only this process removes it.
func Claim(path string) (*Folder, error) {
	lock, err := private.LockFolder(path)
	if errors.Is(err, private.ErrLocked) {
		return nil, err
	}
	f := &Folder{path, lock}
	if err != nil {
		return f, nil
	}
	if err := private.WriteFile(filepath.Join(path, Mark),
		[]byte("mailbench removes this folder when its run ends.\n")); err != nil {
		return nil, errors.Join(fmt.Errorf("mark %s: %w", path, err), lock.Close())
	}
	return f, nil
}

// Temporary makes a scratch folder where the system has temporary ones.
func Temporary() (*Folder, error) {
	path, err := os.MkdirTemp("", TemporaryPattern)
	if err != nil {
		return nil, fmt.Errorf("create a temporary folder (in TMPDIR): %w", err)
	}
	f, err := Claim(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create a temporary folder: %w", err), os.Remove(path))
	}
	return f, nil
}

// Keep takes the mark off, if it is still there, so that no process removes the folder.
func (f *Folder) Keep() error {
	if err := os.Remove(filepath.Join(f.Path, Mark)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Close gives up the lock and leaves the folder as it is.
func (f *Folder) Close() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}

// Remove removes the folder and gives up the lock.
func (f *Folder) Remove() error { return errors.Join(remove(f.Path), f.Close()) }

// remove removes a folder and its contents. The mark goes last: if the removal is interrupted,
// Find still finds the rest.
func remove(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if err == nil && e.Name() != Mark {
			err = os.RemoveAll(filepath.Join(path, e.Name()))
		}
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// Left is a folder that a process left when it was killed. In JSON, fields are added, never removed.
type Left struct {
	Path  string    `json:"path"`
	Bytes int64     `json:"bytes"` // sum of the files in it
	Since time.Time `json:"since"` // when the folder was marked, UTC, in whole seconds
}

// Find lists the folders in dir that killed processes left, and whose names match a pattern of
// [filepath.Match].
func Find(dir, pattern string) (found []Left, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if ok, _ := filepath.Match(pattern, e.Name()); !ok || !Abandoned(path) {
			continue // the folder is somebody else's, in use, or gone meanwhile
		}
		l := Left{Path: path, Bytes: Size(path)}
		if info, err := os.Stat(filepath.Join(path, Mark)); err == nil {
			l.Since = info.ModTime().UTC().Truncate(time.Second)
		}
		found = append(found, l)
	}
	return found, err
}

// InUse reports whether a process has claimed the folder and lives.
func InUse(path string) bool {
	lock, err := private.LockFolder(path)
	if err == nil {
		err = lock.Close()
	}
	return errors.Is(err, private.ErrLocked)
}

// Abandoned reports whether a process left the folder when it was killed.
func Abandoned(path string) bool {
	lock, err := lockLeft(path)
	return err == nil && lock.Close() == nil
}

// Remove removes a folder that was left. The error is private.ErrLocked if its process lives.
func Remove(path string) error {
	lock, err := lockLeft(path)
	if err != nil {
		return err
	}
	if err := errors.Join(remove(path), lock.Close()); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}

// lockLeft locks a marked folder of this user that no process has locked. It does not follow a
// link. A folder of another user is refused: its owner could change it while it is removed.
func lockLeft(path string) (*os.File, error) {
	foreign := fmt.Errorf("%s: %w", path, errForeign)
	if err := private.CheckOwner(path); err != nil {
		return nil, foreign
	}
	lock, err := private.LockFolder(path)
	if err != nil {
		return nil, err
	}
	// The mark counts only now: the folder's process may have removed the mark before it gave up
	// the lock.
	mark, err := os.Lstat(filepath.Join(path, Mark))
	if err != nil || !mark.Mode().IsRegular() {
		return nil, errors.Join(foreign, lock.Close())
	}
	return lock, nil
}

// Size sums the files of a folder and of those in it, as far as they can be read. Files may come and go meanwhile.
func Size(path string) (bytes int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be read is not counted
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
