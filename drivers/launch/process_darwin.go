package launch

import (
	"fmt"

	"github.com/shirou/gopsutil/v4/mem"
	"golang.org/x/sys/unix"
)

// addAddress is the command that gives the loopback device another address.
const addAddress = "sudo ifconfig lo0 alias %s"

// zombie is the state of a process that has ended and was not waited for (SZOMB in
// sys/proc.h).
const zombie = 5

// startOf returns when a process was started, and whether it is running.
func startOf(pid int) (start string, running bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "", false
	}
	t := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", t.Sec, t.Usec), info.Proc.P_stat != zombie
}

// availableMemory returns how many bytes programs can take without swapping.
func availableMemory() (int64, error) {
	memory, err := mem.VirtualMemory()
	if err != nil {
		return 0, err
	}
	return int64(memory.Available), nil
}
