package drivers

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"testing"
	"time"
)

// start starts a process with these words in its command line. It ends with the test.
func start(t *testing.T, words ...string) (pid int) {
	t.Helper()
	c := exec.Command("sh", append([]string{"-c", "read -r line"}, words...)...)
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = c.Wait() // read reports that there was no line
	})
	line := fmt.Sprintf("/proc/%d/cmdline", c.Process.Pid)
	for n := 0; n < 1000; n++ { // the system shows it a little later
		if b, err := os.ReadFile(line); err == nil && len(b) > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return c.Process.Pid
}

// TestJavaOptions: heap and collector of an engine's processes are read from their command lines.
func TestJavaOptions(t *testing.T) {
	serial := start(t, "java", "-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", "-Dpassword=secret")
	g1 := start(t, "java", "-Xmx4g", "-XX:+UseG1GC", "-XX:+UseStringDeduplication")
	plain := start(t, "java", "-Xmx4g")
	for _, c := range []struct {
		pids []int
		want map[string]string
	}{
		{nil, nil},
		{[]int{serial}, map[string]string{"server_heap": "512m", "server_gc": "Serial"}},
		{[]int{serial, g1}, map[string]string{"server_heap": "4g, 512m", "server_gc": "G1, Serial"}},
		{[]int{g1, plain}, map[string]string{"server_heap": "4g"}},
		{[]int{os.Getpid()}, nil},
		{[]int{serial, 1 << 30}, nil},
	} {
		if got := JavaOptions(c.pids...); !maps.Equal(got, c.want) {
			t.Errorf("%d processes: %v, want %v", len(c.pids), got, c.want)
		}
	}
}
