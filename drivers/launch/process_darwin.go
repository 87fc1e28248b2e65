package launch

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"

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

// rss returns the process's resident memory in bytes.
func (p Process) rss() int64 {
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(p.PID)).Output()
	if err != nil {
		return 0
	}
	kib, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// availableMemory is all memory of the machine: macOS does not tell how much of it
// programs can take without swapping.
func availableMemory() (int64, error) {
	n, err := unix.SysctlUint64("hw.memsize")
	return int64(n), err
}
