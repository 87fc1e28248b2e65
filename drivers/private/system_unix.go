//go:build unix

package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// checkOwner refuses a folder of another user.
func checkOwner(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if own := os.Geteuid(); ok && int(stat.Uid) != own {
		return fmt.Errorf("%s belongs to user %d, this process runs as user %d, and %w: name a folder of your own, or a new one",
			path, stat.Uid, own, ErrRefused)
	}
	return nil
}

// checkMode refuses a folder that others may write to. Its files may be theirs.
func checkMode(path string, info fs.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("others may write to %s (its mode is %04o) and %w: if all in it is yours, chmod 700 it; or name "+
			"a new folder",
			path, mode, ErrRefused)
	}
	return nil
}

// restrict takes the rights of other users from a folder.
func restrict(root *os.Root, info fs.FileInfo) error {
	if info.Mode().Perm()&^folderMode == 0 {
		return nil
	}
	return root.Chmod(".", folderMode)
}

// LockFolder locks a folder until the file is closed, or the process ends. If another process has the lock, the error
// is ErrLocked.
func LockFolder(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f, nil
}

func flock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
