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
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrLocked
		}
		return nil, errors.Join(err, f.Close())
	}
	ours, err := f.Stat()
	if now, nerr := os.Stat(name); err != nil || nerr != nil || !os.SameFile(ours, now) {
		return nil, errors.Join(err, ErrLocked, f.Close()) // the process that had the lock has removed the file
	}
	return f.Close, nil
}
