package launch

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// addAddress is the command that gives the loopback device another address.
const addAddress = "ip address add %s/8 dev lo"

// startOf returns when a process was started, and whether it is running.
func startOf(pid int) (start string, running bool) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	start, running = parseStat(string(stat))
	return strings.TrimSpace(string(boot)) + " " + start, running
}

// parseStat returns the start time in a /proc/PID/stat. A process that is not
// running has ended and only waits for its parent to notice.
func parseStat(stat string) (start string, running bool) {
	// "pid (name) state ppid …": the name may hold blanks and parentheses. From
	// the state, the third field, num_threads is the 18th and starttime the 20th.
	const state, threads, starttime = 0, 17, 19
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= starttime {
		return "", false
	}
	// While other threads are left, the process may still listen on its ports.
	ended := (fields[state] == "Z" || fields[state] == "X") && fields[threads] <= "1"
	return fields[starttime], !ended
}

// rss returns the process's resident memory in bytes.
func (p Process) rss() int64 {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.PID))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// availableMemory returns how many bytes programs can take without swapping, and
// without exceeding the limit of a container.
func availableMemory() (int64, error) {
	meminfo, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(meminfo)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			groups, _ := os.ReadFile("/proc/self/cgroup")
			return min(kb<<10, cgroupMemory(string(groups), "/sys/fs/cgroup")), err
		}
	}
	return 0, errors.New("/proc/meminfo has no MemAvailable")
}
