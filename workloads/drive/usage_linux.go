package drive

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"golang.org/x/sys/unix"
)

func systemUsage() usage {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return usage{}
	}
	busy, steal := machineBusy()
	return usage{
		cpu:     time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		machine: busy, steal: steal, throttled: throttled(), rss: peakRSS(),
	}
}

// peakRSS is the most resident memory of this program in bytes; 0: not known. Getrusage would
// also count memory from before exec, which is that of the parent.
func peakRSS() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(b), "VmHWM:")
	kb, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	n, _ := strconv.ParseInt(kb, 10, 64) // 0 if it is no number
	return n << 10
}

// processCPU is the processor time that this process has used.
func processCPU() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// queuedForCPU is how long the calling thread has been ready to run and had no
// processor; 0: not known. It is the second number of schedstat: sched-stats.rst of Linux.
func queuedForCPU() time.Duration {
	b, err := os.ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	ns, _ := strconv.ParseInt(f[1], 10, 64) // 0 if it is no number
	return time.Duration(ns)
}

// doze stops the calling thread for that long.
func doze(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // a signal only shortens it
}

// machineBusy is the time that all processors were busy, or taken by the
// hypervisor, since the machine was started; 0: not known. Steal is the hypervisor's part.
func machineBusy() (busy, steal time.Duration) {
	all, err := cpu.Times(false)
	if err != nil || len(all) == 0 {
		return 0, 0
	}
	t := all[0]
	seconds := t.User + t.Nice + t.System + t.Irq + t.Softirq + t.Steal
	return time.Duration(seconds * float64(time.Second)), time.Duration(t.Steal * float64(time.Second))
}

// machineProcessors is how many processors the machine has, also those that this
// process may not use.
func machineProcessors() int {
	all, _ := cpu.Times(true)
	return max(1, len(all))
}

// cgroups are the folders of the process' cgroup and of those above it, in cgroup v2.
func cgroups() (dirs []string) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "0::")
	if !ok {
		return nil
	}
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		dirs = append(dirs, filepath.Join("/sys/fs/cgroup", dir))
		if dir == "/" || dir == "." {
			return dirs
		}
	}
}

// CPUQuota is the least CPU quota, in processors, of the process' cgroup and those above it;
// 0: no limit, or not known. The file cpu.max holds quota and period.
func CPUQuota() (least float64) {
	for _, dir := range cgroups() {
		if q := quotaOf(filepath.Join(dir, "cpu.max")); q > 0 && (least == 0 || q < least) {
			least = q
		}
	}
	return least
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

// throttled is how long a CPU quota has stopped the process' cgroup or one above it: the
// longest of these times.
func throttled() (most time.Duration) {
	for _, dir := range cgroups() {
		b, err := os.ReadFile(filepath.Join(dir, "cpu.stat"))
		if err != nil {
			continue
		}
		_, rest, ok := strings.Cut(string(b), "throttled_usec ")
		if !ok {
			continue
		}
		line, _, _ := strings.Cut(rest, "\n")
		if us, err := strconv.ParseInt(line, 10, 64); err == nil {
			most = max(most, time.Duration(us)*time.Microsecond)
		}
	}
	return most
}
