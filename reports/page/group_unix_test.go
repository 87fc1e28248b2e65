//go:build unix

package page

import (
	"os/exec"
	"syscall"
)

// inGroup makes the end of the command that of its children too.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
