//go:build !linux

package pebble

import (
	"errors"
	"fmt"
	"runtime"
)

// dropPages says that only Linux can be asked to forget cached pages.
func dropPages(string) error {
	return fmt.Errorf("%s takes no advice on its page cache: %w", runtime.GOOS, errors.ErrUnsupported)
}

// readBytes returns -1: the system does not tell what the process read from disk.
func readBytes() int64 { return -1 }
