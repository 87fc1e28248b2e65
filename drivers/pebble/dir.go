package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/mailbench/mailbench/drivers"
)

// markName is a file that says the folder is mailbench's; nothing is touched in a folder
// that holds files and not this one.
const markName = "MAILBENCH"

// mark is the text of that file. Its number is that of the layout in doc.go.
var mark = []byte("mailbench data, engine embedded, layout 2\n")

// claim makes the folder mailbench's if it is absent or empty, and checks that
// it is otherwise.
func claim(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	name := filepath.Join(dir, markName)
	found, err := os.ReadFile(name)
	switch {
	case err == nil && bytes.Equal(found, mark):
		return nil
	case err == nil:
		return fmt.Errorf("%s was written by another version of mailbench (%q); use another directory or remove it",
			dir, found)
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s holds files that are not mailbench's, %s among them; name an empty directory: %w",
			dir, entries[0].Name(), drivers.ErrForeign)
	}
	return writeWhole(name, mark)
}

// claimed checks that the folder is mailbench's already.
func claimed(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, markName)); err != nil {
		return fmt.Errorf("%s holds no data of mailbench: %w", dir, err)
	}
	return claim(dir)
}

// writeWhole writes a file that is whole or not there.
func writeWhole(name string, data []byte) error {
	tmp := name + ".tmp"
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		os.Remove(tmp)
		return err
	}
	return os.Rename(tmp, name)
}

// lock takes the folder's lock, which the operating system releases if the
// process dies.
func lock(dir string) (*pebble.Lock, error) {
	l, err := pebble.LockDirectory(dir, vfs.Default)
	if err == nil {
		return l, nil
	}
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) || strings.Contains(err.Error(), "lock held") {
		return nil, fmt.Errorf("data directory %s is %w; wait for that run to end or name another directory",
			dir, drivers.ErrLocked)
	}
	return nil, fmt.Errorf("lock data directory %s: %w", dir, err)
}
