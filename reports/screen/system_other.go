//go:build !windows

package screen

import (
	"errors"
	"os"
	"syscall"
)

// Gone reports whether an error is that the reader of the output wants no more.
func Gone(err error) bool { return errors.Is(err, syscall.EPIPE) }

// escapes reports whether a terminal acts on escape sequences.
func escapes(*os.File) bool { return true }
