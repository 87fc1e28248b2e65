package private

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// On Windows rights are in access lists, which a folder takes from the one above it: that of a
// user's own files lets no other user in. mailbench neither reads nor changes them.

func checkOwner(string, fs.FileInfo) error { return nil }

func checkMode(string, fs.FileInfo) error { return nil }

func restrict(*os.Root, fs.FileInfo) error { return nil }

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
