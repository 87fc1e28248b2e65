//go:build unix

package run

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/private"
)

// lock takes a file's lock, which ends with the process at the latest.
func lock(name string) (unlock func() error, err error) {
	f, err := private.OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = drivers.ErrLocked
		}
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
