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

// claim checks that the folder is mailbench's. If it is absent or empty, claim creates and marks it, unless the store
// is only read. Pebble follows links (it would empty what LOCK points to), so that a folder with one is refused.
func claim(dir string, readOnly bool) error {
	name := filepath.Join(dir, markName)
	if readOnly {
		err := private.Check(dir)
		if err == nil {
			_, err = os.Lstat(name)
		}
		if err != nil {
			return fmt.Errorf("%s contains no data of mailbench: %w", dir, err)
		}
	} else if err := private.Make(dir); err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	if err := private.PlainFiles(dir); err != nil {
		return err
	}
	found, err := private.ReadFile(name)
	switch {
	case err == nil && !bytes.Equal(found, mark):
		return fmt.Errorf("%s was written by another version of mailbench (%q); use another directory or remove it",
			dir, found)
	case err == nil && readOnly:
		return nil
	case err == nil:
		return private.Restrict(dir)
	case readOnly || !errors.Is(err, os.ErrNotExist):
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s contains files of other programs, such as %s; name an empty directory: %w",
			dir, entries[0].Name(), drivers.ErrForeign)
	}
	return private.WriteFile(name, mark)
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
