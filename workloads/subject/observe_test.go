package subject

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
)

// silent is a store of an engine that does not report its reads from disk.
type silent struct{ drivers.Store }

func (silent) Observe() drivers.Observation { return drivers.Observation{ReadBytes: -1} }

// If an engine does not report its reads, they are those of its processes on this machine.
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

// TestJavaOfProcesses: if an engine does not report its Java, the command lines of its processes have it.
func TestJavaOfProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells the command line of a process in a file")
	}
	c := exec.Command("sh", "-c", "read -r line", "java", "-Xmx512m", "-XX:+UseSerialGC")
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	at := Target{Config: Config{Processes: []int{c.Process.Pid}}, Store: silent{}, readBefore: -1}
	got := at.Observe().Settings
	for n := 0; len(got) == 0 && n < 1000; n++ { // the system shows its command line a little later
		time.Sleep(10 * time.Millisecond)
		got = at.Observe().Settings
	}
	if got["server_heap"] != "512m" || got["server_gc"] != "Serial" {
		t.Errorf("settings %v", got)
	}
	in.Close()
	_ = c.Wait() // read reports that there was no line
}
