package drive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// pin lets a process run on the first processor that this one may use, and on no other.
func pin(pid int) error {
	var own, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		return err
	}
	for i := range 1024 {
		if own.IsSet(i) {
			one.Set(i)
			break
		}
	}
	return pinThreads(pid, &one)
}

// pinThreads pins all threads of a process. New ones inherit it.
func pinThreads(pid int, set *unix.CPUSet) error {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err
	}
	for _, thread := range threads {
		var id int
		if _, err := fmt.Sscan(thread.Name(), &id); err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(id, set); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// limit puts a process into a new cgroup with a CPU quota. cgroup v2, else v1. A file that is not there is not made:
// where only v1 has the processors, /sys/fs/cgroup may be an ordinary file system.
func limit(t *testing.T, pid int, processors float64) error {
	const period = 100000
	quota := int(processors * period)
	write := func(name string, value []byte) error {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(value)
		return errors.Join(err, f.Close())
	}
	for _, version := range []struct{ root, file, value string }{
		{"/sys/fs/cgroup", "cpu.max", fmt.Sprintf("%d %d", quota, period)},
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", fmt.Sprint(quota)},
	} {
		dir, err := os.MkdirTemp(version.root, "mailbench-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		if err = write(filepath.Join(dir, version.file), []byte(version.value)); err == nil {
			err = write(filepath.Join(dir, "cgroup.procs"), itoa(pid))
		}
		if err == nil {
			return nil
		}
	}
	return errors.New("no cgroup can be made (root may do it)")
}
