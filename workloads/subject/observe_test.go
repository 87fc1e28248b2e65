package subject

import (
	"os"
	"runtime"
	"testing"

	"github.com/mailbench/mailbench/drivers"
)

// silent is a store of an engine that does not tell what it reads from disk.
type silent struct{ drivers.Store }

func (silent) Observe() drivers.Observation { return drivers.Observation{ReadBytes: -1} }

// What an engine does not tell of its reads is what its processes on this machine have read.
func TestReadsOfProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what a process has read from disk")
	}
	now := drivers.DiskReads(os.Getpid())
	if now < 0 {
		t.Fatal("this process does not know what it has read")
	}
	for _, c := range []struct {
		name      string
		processes []int
		before    int64
		want      func(n int64) bool
	}{
		{"not known", nil, drivers.DiskReads(), func(n int64) bool { return n == -1 }},
		{"this process", []int{os.Getpid()}, 0, func(n int64) bool { return n >= now }},
		{"twice", []int{os.Getpid(), os.Getpid()}, now, func(n int64) bool { return n >= now }},
		{"one that ended", []int{os.Getpid(), 1 << 30}, now, func(n int64) bool { return n == -1 }},
		{"one that began anew", []int{os.Getpid()}, now + 1<<40, func(n int64) bool { return n == -1 }},
	} {
		at := Target{Config: Config{Processes: c.processes}, Store: silent{}, readBefore: c.before}
		if n := at.Observe().ReadBytes; !c.want(n) {
			t.Errorf("%s: %d bytes read", c.name, n)
		}
	}
}
