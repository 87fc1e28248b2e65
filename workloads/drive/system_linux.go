package drive

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"golang.org/x/sys/unix"
)

// timer wakes one worker at a scheduled time. time.Sleep is about 1 ms late, since
// the runtime's poller counts in milliseconds; a timerfd read through the same
// poller is 28 µs late at the median here, 47 µs at p99. It is set to an
// absolute time, so waiting reads no clock.
type timer struct {
	fd   int
	file *os.File
	buf  [8]byte
}

// origin is CLOCK_MONOTONIC when precise was 0. It is read after precise, so that a timer is never early, and the least
// of several readings is the nearest.
var origin = func() time.Duration {
	least := time.Duration(math.MaxInt64)
	for range 10 {
		var ts unix.Timespec
		at := precise()
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // each Linux has it
		least = min(least, time.Duration(ts.Nano())-at)
	}
	return least
}()

func newTimer() (*timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create timer (raise the limit of open files, ulimit -n, or use fewer workers): %w", err)
	}
	// A nonblocking descriptor goes to the poller, so that Read parks the
	// goroutine and no thread.
	return &timer{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}, nil
}

// until returns at that time, or at once if it is past.
func (t *timer) until(c *clock, at time.Duration) error {
	if c.virtual != nil {
		*c.virtual = max(*c.virtual, at)
		return nil
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(origin + c.start + at))}
	if err := unix.TimerfdSettime(t.fd, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		return fmt.Errorf("set timer: %w", err)
	}
	if _, err := t.file.Read(t.buf[:]); err != nil {
		return fmt.Errorf("wait for timer: %w", err)
	}
	return nil
}

func (t *timer) close() { t.file.Close() }

func systemUsage() usage {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return usage{}
	}
	busy, steal := machineBusy()
	// Getrusage would also count memory from before exec, which is that of the parent.
	peak := numberAfter("/proc/self/status", "VmHWM:") << 10
	return usage{
		cpu:     time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		machine: busy, steal: steal, throttled: throttled(), rss: peak,
	}
}

// numberAfter is the whole number after the first occurrence of a text in a file of the kernel; 0: there is none.
func numberAfter(file, text string) (n int64) {
	b, _ := os.ReadFile(file)
	_, after, _ := strings.Cut(string(b), text)
	_, _ = fmt.Sscan(after, &n)
	return n
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
	return time.Duration(numberAfter("/proc/thread-self/schedstat", " "))
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

// cpuQuota is the least CPU quota, in processors, of the process' cgroup and those above it;
// 0: no limit, or not known. The file cpu.max holds quota and period; a quota that is no number is no limit.
func cpuQuota() (least float64) {
	for _, dir := range cgroups() {
		file := filepath.Join(dir, "cpu.max")
		quota, period := float64(numberAfter(file, "")), float64(numberAfter(file, " "))
		if quota > 0 && period > 0 && (least == 0 || quota/period < least) {
			least = quota / period
		}
	}
	return least
}

// throttled is how long a CPU quota has stopped the process' cgroup or one above it: the
// longest of these times.
func throttled() (most time.Duration) {
	for _, dir := range cgroups() {
		us := numberAfter(filepath.Join(dir, "cpu.stat"), "throttled_usec ")
		most = max(most, time.Duration(us)*time.Microsecond)
	}
	return most
}
