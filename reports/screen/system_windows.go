package screen

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Gone reports whether an error is that the reader of the output wants no more.
func Gone(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}

// escapes reports whether a console acts on escape sequences, once that is enabled.
func escapes(f *os.File) bool {
	var mode uint32
	console := windows.Handle(f.Fd())
	if windows.GetConsoleMode(console, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
