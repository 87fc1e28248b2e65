package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/private"
)

// markName is a file that says the folder is mailbench's; nothing is touched in a folder
// that holds files and not this one.
const markName = "MAILBENCH"

// mark is the text of that file. Its number is that of the layout in the package comment.
var mark = []byte("mailbench data, engine embedded, layout 3\n")

// claim creates and marks the folder if it is absent or empty. Otherwise it checks that the
// folder is mailbench's.
func claim(dir string) error {
	if err := private.Make(dir); err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	ours, err := marked(dir)
	if err != nil {
		return err
	}
	if ours {
		return private.Restrict(dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s contains files of other programs, such as %s; name an empty directory: %w",
			dir, entries[0].Name(), drivers.ErrForeign)
	}
	return private.WriteFile(filepath.Join(dir, markName), mark)
}

// claimed checks that the folder is mailbench's already.
func claimed(dir string) error {
	err := private.Check(dir)
	if err == nil {
		_, err = os.Lstat(filepath.Join(dir, markName))
	}
	if err != nil {
		return fmt.Errorf("%s contains no data of mailbench: %w", dir, err)
	}
	_, err = marked(dir)
	return err
}

// marked reports whether mailbench has claimed the folder. Pebble follows links (it would
// empty what LOCK points to), so that a folder with one is refused.
func marked(dir string) (bool, error) {
	if err := private.PlainFiles(dir); err != nil {
		return false, err
	}
	found, err := private.ReadFile(filepath.Join(dir, markName))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !bytes.Equal(found, mark):
		return false, fmt.Errorf("%s was written by another version of mailbench (%q); use another directory or remove it",
			dir, found)
	}
	return true, nil
}

// lock takes the folder's lock, which the operating system releases if the
// process dies.
func lock(dir string) (*pebble.Lock, error) {
	l, err := pebble.LockDirectory(dir, vfs.Default)
	if err == nil {
		return l, os.Chmod(filepath.Join(dir, "LOCK"), 0o600)
	}
	// Windows lets no other process open the file (ERROR_SHARING_VIOLATION).
	held := errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) ||
		runtime.GOOS == "windows" && errors.Is(err, syscall.Errno(32))
	if held || strings.Contains(err.Error(), "lock held") {
		return nil, fmt.Errorf("data directory %s is %w; wait for that run to end or name another directory",
			dir, drivers.ErrLocked)
	}
	return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
}
