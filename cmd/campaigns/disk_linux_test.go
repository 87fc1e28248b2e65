//go:build campaigns

package campaigns

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// disk is a small file system of its own, in a file.
type disk struct {
	dir    string
	device string // major:minor
}

// newDisk mounts one; nil if this user may not.
func newDisk(t *testing.T, size int64) *disk {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	d := &disk{dir: t.TempDir()}
	image := filepath.Join(t.TempDir(), "image")
	f, err := os.Create(image)
	if err == nil {
		err = errors.Join(f.Truncate(size), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	system(t, "mkfs.ext4", "-q", "-m", "0", image)
	system(t, "mount", "-o", "loop", image, d.dir)
	t.Cleanup(func() { system(t, "umount", d.dir) })
	if err := os.Remove(filepath.Join(d.dir, "lost+found")); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(d.dir, &st); err != nil {
		t.Fatal(err)
	}
	d.device = fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	return d
}

// bind shows a folder of the disk in another place.
func (d *disk) bind(t *testing.T, dir, at string) {
	t.Helper()
	system(t, "mount", "--bind", dir, at)
	t.Cleanup(func() { system(t, "umount", at) })
}

func system(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// on are the processes that write to the disk.
func (s *site) on(p *child) map[string]int {
	if s.in == nil {
		return map[string]int{"mailbench": p.cmd.Process.Pid}
	}
	pids := map[string]int{}
	for _, n := range s.in.Nodes() {
		if n.Name == s.full || n.Name == "master" || strings.HasPrefix(n.Name, "regionserver") {
			pids[n.Name] = n.Process.PID
		}
	}
	return pids
}

// fullDisk fills the disk until its writers say so, or end; after 10 s more there is room
// again, and the nodes are killed and started, as somebody would who finds them so.
func fullDisk(t *testing.T, s *site, p *child) bool {
	const slack = 64 << 10
	name := filepath.Join(s.disk.dir, "ballast")
	ballast, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer ballast.Close()
	fill := func() {
		for piece := int64(64 << 20); piece >= slack; {
			at, err := ballast.Seek(0, 2)
			if err == nil {
				err = unix.Fallocate(int(ballast.Fd()), 0, at, piece)
			}
			if errors.Is(err, unix.ENOSPC) {
				piece /= 2
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	seen := map[string]int{}
	for who := range s.on(p) {
		seen[who] = s.noSpace(p, who)
	}
	felt := false
	// Cassandra wants room for its next segment of 32 MB.
	for end := time.Now().Add(4 * time.Minute); !felt && time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		fill() // also what compaction has freed
		for who, pid := range s.on(p) {
			felt = felt || s.noSpace(p, who) > seen[who] || syscall.Kill(pid, 0) != nil
		}
		// mailbench prints its errors when the run ends; by then it has written into a full disk.
		felt = felt || s.in == nil && time.Until(end) < 220*time.Second
	}
	time.Sleep(10 * time.Second)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	ballast.Close()
	if s.in == nil {
		return felt
	}
	for who := range s.on(p) {
		if node(t, s.in, who).Running() && who != "master" {
			killNode(t, s.in, who)
		}
	}
	s.up(t)
	return felt
}

// noSpace is how often a process has complained of a full disk.
func (s *site) noSpace(p *child, who string) int {
	log := p.path("stderr")
	if s.in != nil {
		log = filepath.Join(s.in.Dir(), who, "log")
	}
	b, err := os.ReadFile(log)
	if err != nil {
		p.t.Fatal(err)
	}
	text := strings.ToLower(string(b))
	// Java's error if the disk has no room for a page of a mapped file.
	return strings.Count(text, "no space left") + strings.Count(text, "unsafe memory access operation")
}

// slowDisk lets one writer write 256 KB/s for 15 s.
func slowDisk(t *testing.T, s *site, p *child) bool {
	const (
		long  = 15 * time.Second
		most  = 256 << 10
		group = "/sys/fs/cgroup/blkio"
	)
	mine, err := os.MkdirTemp(group, "mailbench-faults")
	if err != nil {
		t.Skipf("a disk is slow by cgroup v1's blkio: %v", err)
	}
	defer os.Remove(mine)
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
	write(filepath.Join(mine, "blkio.throttle.write_bps_device"), fmt.Sprintf("%s %d", s.disk.device, most))
	for who, pid := range s.on(p) {
		if who != "master" {
			write(filepath.Join(mine, "cgroup.procs"), fmt.Sprint(pid))
			defer write(filepath.Join(group, "cgroup.procs"), fmt.Sprint(pid))
		}
	}
	time.Sleep(long)
	b, err := os.ReadFile(filepath.Join(mine, "blkio.throttle.io_service_bytes"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("what was written in %s:\n%s", long, b)
	return true
}
