package run

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mailbench/mailbench/reports"
)

// machine fills in what only the operating system knows; what it does not tell
// stays empty.
func machine(e *reports.Environment, dir string) {
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

// fileSystem names the types that data is likely to lie on: statfs(2).
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

// usage is what this process used of the machine since it began.
type usage struct {
	cpu     time.Duration // user and system
	machine time.Duration // of all processes together; 0: not known
	rss     int64         // peak resident bytes; 0: not known
}

func processUsage() usage {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return usage{}
	}
	return usage{cpu: time.Duration(r.Utime.Nano() + r.Stime.Nano()), machine: machineBusy(), rss: r.Maxrss << 10}
}

// machineBusy is the time that all processors were busy, or taken by the
// hypervisor, since the machine was started; 0 if it is not told. Its unit is
// 10 ms: proc_stat(5).
func machineBusy() time.Duration {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(b), "\n")
	f := strings.Fields(line) // cpu user nice system idle iowait irq softirq steal guest guest_nice
	var busy int64
	for i := 1; i < min(len(f), 9); i++ {
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			return 0
		}
		if i != 4 && i != 5 { // idle, iowait
			busy += n
		}
	}
	return time.Duration(busy) * 10 * time.Millisecond
}
