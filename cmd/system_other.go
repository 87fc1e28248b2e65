//go:build !windows

package cmd

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// readerGone reports whether an error is that the reader of the output wants no more.
func readerGone(err error) bool { return errors.Is(err, syscall.EPIPE) }

// escapes reports whether a terminal acts on escape sequences.
func escapes(*os.File) bool { return true }

// ownGroup keeps a Ctrl-C in the terminal from a command that is to start, and makes its
// canceling an interrupt.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
}
