// Package private makes and opens folders and files for mail, which only their user may read
// or write: 0700 and 0600, whatever the umask is. It refuses a folder that somebody else owns
// or may write to. Such a folder can hold anything: links to files that mailbench would
// overwrite, an engine's configuration, a store made to harm. It never follows a link, which
// may have come with somebody else's archive.
//
// It checks the folder itself, not those above it, and the mode, not access lists. On systems
// other than Unix it checks neither owner nor mode.
package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	folderMode fs.FileMode = 0o700
	fileMode   fs.FileMode = 0o600
)

// ErrRefused is the error for a folder or a file that is not safe to use.
var ErrRefused = errors.New("mailbench does not use it")

// ErrLocked is the error of Lock if another process has the lock.
var ErrLocked = errors.New("in use by another process")

// Make makes a folder, and those above it that are missing, or checks the existing folder.
// From an empty folder it takes the rights of other users.
func Make(path string) error {
	if err := os.MkdirAll(path, folderMode); err != nil {
		return err
	}
	return inFolder(path, func(root *os.Root, info fs.FileInfo) error {
		if err := checkOwner(path, info); err != nil {
			return err
		}
		if empty, err := isEmpty(root); err != nil || !empty {
			return errors.Join(err, checkMode(path, info))
		}
		if err := restrict(root, info); err != nil {
			return err
		}
		// A file that came while others could still write may be theirs.
		if empty, err := isEmpty(root); err != nil || !empty {
			return errors.Join(err, checkMode(path, info))
		}
		return nil
	})
}

// Check checks an existing folder, and changes nothing.
func Check(path string) error {
	return inFolder(path, func(_ *os.Root, info fs.FileInfo) error {
		return errors.Join(checkOwner(path, info), checkMode(path, info))
	})
}

// CheckOwner checks that a folder is one of this user's, and no link to one.
func CheckOwner(path string) error {
	return inFolder(path, func(_ *os.Root, info fs.FileInfo) error { return checkOwner(path, info) })
}

// Restrict takes the rights of other users from a folder that has passed Make and is
// mailbench's. A mailbench from before folders were private may have made it.
func Restrict(path string) error { return inFolder(path, restrict) }

// inFolder opens a folder that is no link for what is done in it. The FileInfo is of the folder that it opened.
func inFolder(path string, do func(*os.Root, fs.FileInfo) error) error {
	before, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if before.Mode().Type() == fs.ModeSymlink {
		to, err := os.Readlink(path)
		return errors.Join(err, fmt.Errorf("%s is a link to %s and %w: name the folder itself", path, to, ErrRefused))
	}
	if !before.IsDir() { // a pipe would hang
		return fmt.Errorf("%s is no folder: %w", path, syscall.ENOTDIR)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err == nil && !os.SameFile(before, info) {
		err = fmt.Errorf("%s was another folder a moment ago and %w", path, ErrRefused)
	}
	if err != nil {
		return err
	}
	return do(root, info)
}

// openPlain opens the folder of a file. It returns an error if the file exists and is not a
// plain one.
func openPlain(name string) (*os.Root, string, error) {
	file := filepath.Base(name)
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, "", err
	}
	info, err := root.Lstat(file)
	if err == nil && !info.Mode().IsRegular() {
		err = notPlain(filepath.Clean(name), info.Mode().Type())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", errors.Join(err, root.Close())
	}
	return root, file, nil
}

// OpenFile is os.OpenFile for a plain file, which it makes for its user only. It does not
// follow a link.
func OpenFile(name string, flag int) (*os.File, error) {
	root, file, err := openPlain(name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(file, flag, fileMode)
}

// ReadFile is os.ReadFile for a plain file.
func ReadFile(name string) ([]byte, error) {
	root, file, err := openPlain(name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.ReadFile(file)
}

// WriteFile replaces a file atomically: at any time either the old or the new one exists, also if
// the machine loses power.
func WriteFile(name string, data []byte) error {
	root, file, err := openPlain(name)
	if err != nil {
		return err
	}
	defer root.Close()
	temp := file + ".new"
	if err := root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a process that was killed
		return err
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = root.Rename(temp, file)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// Lock makes a file, or opens it, and takes its lock, which ends with the process at the latest.
// If another process has it, the error is ErrLocked.
func Lock(name string) (unlock func() error, err error) {
	f, err := OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := flock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	ours, err := f.Stat()
	if now, nerr := os.Stat(name); err != nil || nerr != nil || !os.SameFile(ours, now) {
		return nil, errors.Join(err, ErrLocked, f.Close()) // the process that had the lock has removed the file
	}
	return f.Close, nil
}

// PlainFiles checks that a folder holds plain files and folders only, for a library that
// opens files in it by itself.
func PlainFiles(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() && !e.IsDir() {
			return notPlain(filepath.Join(path, e.Name()), e.Type())
		}
	}
	return nil
}

func notPlain(name string, t fs.FileMode) error {
	what := "no plain file"
	if t == fs.ModeSymlink {
		what = "a link"
	}
	return fmt.Errorf("%s is %s and %w: find out who made it, and remove it", name, what, ErrRefused)
}

func isEmpty(root *os.Root) (bool, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	return err == nil && len(entries) == 0, err
}
