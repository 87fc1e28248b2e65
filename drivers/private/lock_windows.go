package private

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// LockFolder has no lock that ends with its process on Windows.
func LockFolder(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func flock(f *os.File) error {
	const whole = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), whole, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}
