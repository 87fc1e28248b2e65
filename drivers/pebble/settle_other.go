//go:build !linux

package pebble

import (
	"errors"
	"fmt"
	"runtime"
)

// dropPages returns an error: only Linux can drop cached pages.
func dropPages(string) error {
	return fmt.Errorf("cannot drop the page cache on %s (no posix_fadvise): %w", runtime.GOOS, errors.ErrUnsupported)
}
