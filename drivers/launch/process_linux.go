package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supported says whether engines can be started on this system.
func supported() error { return nil }

// startProcess starts a command in a session of its own, so that no signal to
// this one's terminal reaches it, with its output appended to a log.
func startProcess(cmd *exec.Cmd, log string) (Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return Process{}, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return Process{}, err
	}
	// Until it is waited for, it is there to be looked at even if it has ended.
	start, _ := startOf(cmd.Process.Pid)
	go cmd.Wait()
	return Process{PID: cmd.Process.Pid, Start: start, Started: started}, nil
}

// startOf tells when a process was started, and whether it is running.
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
	// While other threads are left, what the process listened on may be too.
	ended := (fields[state] == "Z" || fields[state] == "X") && fields[threads] <= "1"
	return fields[starttime], !ended
}

// alive says whether the process that was started is still there.
func (p Process) alive() bool {
	start, running := startOf(p.PID)
	return p.PID > 0 && running && start == p.Start
}

// signal sends a signal to the process that was started, if it is still there,
// and to no other that may have its id now.
func (p Process) signal(sig os.Signal) error {
	if p.PID <= 0 {
		return nil
	}
	// The handle is taken before the check: it stays that of the process that
	// had the id then, which is ours if the check finds it.
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return err
	}
	defer handle.Release()
	if !p.alive() {
		return nil
	}
	if err := handle.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", p.PID, err)
	}
	return nil
}

// rss is the process' resident memory in bytes.
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

// availableMemory is what programs can take without swapping, in bytes.
func availableMemory() (int64, error) {
	meminfo, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(meminfo)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, errors.New("/proc/meminfo has no MemAvailable")
}

// lock takes the lock of a folder, which it makes if it is absent, and waits for
// another process that has it. The lock goes with the process.
func lock(ctx context.Context, dir string, wait func()) (unlock func(), err error) {
	path := filepath.Join(dir, lockName)
	for waited := false; ; waited = true {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && same(f, path) {
			return func() { f.Close() }, nil
		}
		f.Close()
		if err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
		if !waited {
			wait()
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// same says whether the lock file is still the one in the folder: the process
// that had the lock may have removed both.
func same(f *os.File, path string) bool {
	ours, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(ours, now)
}
