//go:build !windows

package cmd

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a Ctrl-C in the terminal from a command that is to start, and makes its
// canceling an interrupt.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
}
