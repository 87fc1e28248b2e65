package pebble

import (
	"errors"

	"golang.org/x/sys/windows"
)

// held reports whether a lock failed because another process has it: Pebble opens the file so
// that no other process can.
func held(err error) bool { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }
