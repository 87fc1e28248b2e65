package private

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// Lock makes a file, or opens it, and takes its lock, which ends with the process at the latest.
// If another process has it, the error is ErrLocked.
func Lock(name string) (unlock func() error, err error) {
	f, err := OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	const whole = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	if err := windows.LockFileEx(windows.Handle(f.Fd()), whole, 0, 1, 0, new(windows.Overlapped)); err != nil {
		if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
			err = ErrLocked
		}
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// LockFolder has no lock that ends with its process on Windows.
func LockFolder(string) (*os.File, error) { return nil, errors.ErrUnsupported }
