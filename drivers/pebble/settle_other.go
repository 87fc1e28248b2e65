//go:build !linux

package pebble

import (
	"errors"
	"fmt"
	"runtime"
)

// dropPages returns an error: only Linux can be asked to drop cached pages.
func dropPages(string) error {
	return fmt.Errorf("%s takes no advice on its page cache: %w", runtime.GOOS, errors.ErrUnsupported)
}
