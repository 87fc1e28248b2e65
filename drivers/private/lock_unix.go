//go:build unix

package private

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

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
