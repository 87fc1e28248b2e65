package run

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mailbench/mailbench/reports/results"
)

// machine fills in what only the operating system knows; what it does not tell
// stays empty.
func machine(e *results.Environment, dir string) {
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		e.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) == nil {
		e.Memory = int64(s.Totalram) * int64(s.Unit)
	}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		e.CPU = field(string(b), "model name")
	}
	var fs unix.Statfs_t
	if unix.Statfs(existing(dir), &fs) == nil {
		e.Disk = fileSystem(int64(fs.Type))
	}
}

// field returns the value of the first "name : value" line.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// fileSystem names the file systems that data is likely to be on: statfs(2).
func fileSystem(magic int64) string {
	switch magic {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs (memory)"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay"
	case unix.NFS_SUPER_MAGIC:
		return "nfs"
	case 0x2fc12fc1:
		return "zfs"
	}
	return fmt.Sprintf("0x%x", magic)
}

// machineID is the system's own identity of the machine: machine-id(5).
func machineID() string {
	b, err := os.ReadFile("/etc/machine-id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
