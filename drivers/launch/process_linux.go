package launch

import (
	"bytes"
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
	start, ok := startOf(cmd.Process.Pid)
	go cmd.Wait() // else it would stay a zombie while this process lives
	if !ok {
		return Process{}, fmt.Errorf("%s ended at once", cmd.Path)
	}
	return Process{PID: cmd.Process.Pid, Start: start, Started: started}, nil
}

// startOf tells when a process was started; false if there is none.
func startOf(pid int) (string, bool) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// "pid (name) state ppid …": the name may hold blanks and parentheses.
	// From the state, the third field, on: starttime is the 22nd.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return "", false
	}
	return strings.TrimSpace(string(boot)) + " " + fields[19], true
}

// alive says whether the process that was started is still there.
func (p Process) alive() bool {
	start, ok := startOf(p.PID)
	return p.PID > 0 && ok && start == p.Start
}

// signal sends a signal to the process that was started, and to no other that
// may have its id now. It says whether there was one.
func (p Process) signal(sig os.Signal) (bool, error) {
	if p.PID <= 0 {
		return false, nil
	}
	// The handle is taken before the check: it stays that of the process that
	// had the id then, which is ours if the check finds it.
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return false, err
	}
	defer handle.Release()
	if !p.alive() {
		return false, nil
	}
	if err := handle.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return false, fmt.Errorf("signal process %d: %w", p.PID, err)
	}
	return true, nil
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
