package drive

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func systemUsage() usage {
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

// cpuQuota is how many processors the process' cgroup may use, or any above it;
// 0: no limit, or not known. cgroup v2: cpu.max holds quota and period.
func cpuQuota() float64 {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "0::")
	if !ok {
		return 0
	}
	quota := 0.0
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if q := quotaOf(filepath.Join("/sys/fs/cgroup", dir, "cpu.max")); q > 0 && (quota == 0 || q < quota) {
			quota = q
		}
		if dir == "/" || dir == "." {
			return quota
		}
	}
}

func quotaOf(file string) float64 {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) != 2 || f[0] == "max" {
		return 0
	}
	quota, err := strconv.ParseFloat(f[0], 64)
	period, perr := strconv.ParseFloat(f[1], 64)
	if err != nil || perr != nil || period <= 0 {
		return 0
	}
	return quota / period
}
