package launch

import (
	"fmt"

	"golang.org/x/sys/unix"
)

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
