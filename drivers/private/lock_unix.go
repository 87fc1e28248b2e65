//go:build unix

package private

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

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
