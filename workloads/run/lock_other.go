//go:build !unix

package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/private"
)

// lock makes a file that must not be there. After a crash it stays.
func lock(name string) (unlock func() error, err error) {
	f, err := private.OpenFile(name, os.O_CREATE|os.O_EXCL)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w (or remove %s if no run is going on)", drivers.ErrLocked, name)
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	return func() error { return errors.Join(f.Close(), os.Remove(name)) }, nil
}
