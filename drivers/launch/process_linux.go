package launch

import (
	"fmt"
	"os"
	"strings"
)

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
