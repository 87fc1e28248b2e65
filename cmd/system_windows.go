package cmd

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// ownGroup keeps a Ctrl-C in the terminal from a command that is to start, and makes its
// canceling a Ctrl-Break, which Go's programs take as an interrupt.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	cmd.Cancel = func() error {
		return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(cmd.Process.Pid))
	}
}
