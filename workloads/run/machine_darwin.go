package run

import (
	"golang.org/x/sys/unix"

	"github.com/mailbench/mailbench/reports/results"
)

// machine fills in what only the operating system knows: sysctl(3), statfs(2). What it
// does not tell stays empty.
func machine(e *results.Environment, dir string) {
	e.Kernel, _ = unix.Sysctl("kern.osrelease")
	e.CPU, _ = unix.Sysctl("machdep.cpu.brand_string")
	if n, err := unix.SysctlUint64("hw.memsize"); err == nil {
		e.Memory = int64(n)
	}
	var fs unix.Statfs_t
	if unix.Statfs(existing(dir), &fs) == nil {
		e.Disk = unix.ByteSliceToString(fs.Fstypename[:])
	}
}

// machineID is the system's own identity of the machine: sysctl(3).
func machineID() string {
	id, _ := unix.Sysctl("kern.uuid")
	return id
}
