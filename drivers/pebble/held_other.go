//go:build !windows

package pebble

import (
	"errors"
	"syscall"
)

// held reports whether a lock failed because another process has it.
func held(err error) bool { return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) }
