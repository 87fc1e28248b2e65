//go:build linux

package launch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const sleep = "echo up $$; exec sleep 1000"

// asleep reports whether each node's java has written its process id.
func asleep(_ context.Context, in *Instance, nodes []*Node) error {
	for _, n := range nodes {
		log, err := os.ReadFile(in.logPath(n))
		if err != nil {
			return err
		}
		if !strings.Contains(string(log), fmt.Sprintf("up %d\n", n.Process.PID)) {
			return errors.New("not yet")
		}
	}
	return nil
}

// fakeCassandra makes Cassandra, for a test, one that serves if the probe says so, with the list of the one jar
// that fakeJava's mvn fetches.
func fakeCassandra(t *testing.T, probe func(context.Context, *Instance, []*Node) error) {
	fake, real := cassandra, engines
	fake.sums, fake.probe = fmt.Sprintf("%x  engine.jar\n", sha256.Sum256([]byte("jar\n"))), probe
	engines = []Engine{fake, hbase}
	t.Cleanup(func() { engines = real })
}

// never is the probe of a Cassandra that does not serve.
func never(context.Context, *Instance, []*Node) error { return errors.New("not yet") }

// fakeJava puts a java on the PATH that prints its version or else runs a
// line of shell, and a mvn that fetches one jar. Cassandra serves if that java sleeps.
func fakeJava(t *testing.T, run string) {
	t.Helper()
	fakeCassandra(t, asleep)
	dir := t.TempDir()
	script := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("java", `case "$*" in *-version*) echo '    java.specification.version = 17'; exit;; esac`+"\n"+run)
	script("mvn", `for arg; do case "$arg" in -DoutputDirectory=*) echo jar > "${arg#*=}/engine.jar";; esac; done`)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("JAVA_HOME", "")
	t.Setenv("MAILBENCH_CACHE", filepath.Join(dir, "cache"))
}

// killNode ends a node's process at once, as kill -9 does.
func killNode(t *testing.T, in *Instance, name string) {
	t.Helper()
	n, err := in.node(name)
	must(t, err)
	must(t, kill(t.Context(), n))
}

func TestLifecycle(t *testing.T) {
	fakeJava(t, sleep)
	ctx, config := t.Context(), Config{Engine: "cassandra", Nodes: 3, Dir: filepath.Join(t.TempDir(), "c"), Port: AnyPort}
	in := mustUp(t, config)
	t.Cleanup(func() { kill(context.Background(), in.running(true)...) })
	if want := []string{"node1", "node2", "node3"}; !slices.Equal(in.Started, want) {
		t.Errorf("started %q, want %q", in.Started, want)
	}
	before := in.Nodes()
	for _, n := range before {
		if !n.Running() || n.RSS() <= 0 || time.Since(n.Process.Started) > time.Minute {
			t.Errorf("%s: running %t, RSS %d, started %s", n.Name, n.Running(), n.RSS(), n.Process.Started)
		}
	}

	// Any process finds the engine that runs.
	if in = mustUp(t, config); len(in.Started) > 0 || len(in.running(false)) > 0 {
		t.Errorf("a second up started %q; %d are stopped", in.Started, len(in.running(false)))
	}

	// One that is killed is seen to be down, and is the only one that comes back.
	killNode(t, in, "node2")
	found, err := Open("cassandra", config.Dir)
	must(t, err)
	if down := found.running(false); len(down) != 1 || down[0].Name != "node2" {
		t.Errorf("stopped: %v, want node2", down)
	}
	if in = mustUp(t, config); !slices.Equal(in.Started, []string{"node2"}) {
		t.Errorf("started %q, want node2", in.Started)
	}
	killNode(t, in, "node3")
	in = mustUp(t, config)
	after := in.Nodes()
	for i := range after {
		if same := after[i].Process.PID == before[i].Process.PID; same != (i == 0) {
			t.Errorf("%s: is the same process: %t", after[i].Name, same)
		}
	}

	// Down stops all, and keeps what is there for the next up.
	must(t, in.Down(ctx, false))
	if n := len(in.running(true)); n > 0 {
		t.Errorf("%d nodes run", n)
	}
	if log, err := os.ReadFile(in.logPath(&after[1])); err != nil || strings.Count(string(log), "up ") != 2 {
		t.Errorf("log of node2: %q, %v; want two starts", log, err)
	}
	in = mustUp(t, config)
	must(t, in.Down(ctx, true))
	if n := len(in.running(true)); n > 0 {
		t.Errorf("purged, and %d nodes run", n)
	}
	if _, err := os.Stat(config.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("purged, and its folder is there: %v", err)
	}
}

// TestForeignProcess: a process that has the id of a node that died is left alone.
func TestForeignProcess(t *testing.T) {
	fakeJava(t, sleep)
	config := Config{Engine: "cassandra", Dir: t.TempDir(), Port: AnyPort}
	in := mustUp(t, config)
	killNode(t, in, "node1")
	time.Sleep(20 * time.Millisecond) // start times have steps of 10 ms
	stranger := exec.Command("sleep", "1000")
	must(t, stranger.Start())
	t.Cleanup(func() { stranger.Process.Kill(); stranger.Wait() })

	in.state.Nodes[0].Process.PID = stranger.Process.Pid
	must(t, in.state.save(in.dir))
	if in.Nodes()[0].Running() {
		t.Error("the stranger is taken for the node")
	}
	must(t, in.state.Nodes[0].signal(os.Kill))
	must(t, in.Down(t.Context(), false))
	must(t, in.Down(t.Context(), true))
	if start, running := startOf(stranger.Process.Pid); !running {
		t.Errorf("the stranger, started at %s, was ended", start)
	}
}

// TestFailedStart: a failed up ends the processes that it started, and no others.
func TestFailedStart(t *testing.T) {
	fakeJava(t, sleep)
	config := Config{Engine: "cassandra", Nodes: 2, Dir: t.TempDir(), Port: AnyPort}
	in := mustUp(t, config)
	t.Cleanup(func() { kill(context.Background(), in.running(true)...) })
	killNode(t, in, "node2")

	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, context.Canceled)
	defer cancel()
	fakeCassandra(t, never)
	if _, err := Up(ctx, config); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	must(t, in.reload())
	if running := in.running(true); len(running) != 1 || running[0].Name != "node1" {
		t.Errorf("running: %v, want node1", running)
	}
}

// TestEndsWhileStarting: the error shows the last log lines of the node in
// this start.
func TestEndsWhileStarting(t *testing.T) {
	fakeJava(t, "for i in $LC_LOGGED; do echo line $i; done; exit 1")
	fakeCassandra(t, never)
	config := Config{Engine: "cassandra", Dir: t.TempDir(), Port: AnyPort}
	for logged, want := range map[string]string{"1 2 3 4 5 6 7": "line 3\nline 4\nline 5\nline 6\nline 7", "8 9": "line 8\nline 9"} {
		t.Setenv("LC_LOGGED", logged)
		_, err := Up(t.Context(), config)
		want = filepath.Join(config.Dir, "node1", "log") + ":\n" + want
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Fatalf("error %q, want one that ends with %q", err, want)
		}
	}
}

// TestSession: a node is in a session of its own, out of reach of the terminal's signals.
func TestSession(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	p, err := startProcess(cmd, filepath.Join(t.TempDir(), "log"), func(Process) error { return nil })
	must(t, err)
	t.Cleanup(func() { Node{Process: p}.signal(os.Kill) })
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
	must(t, err)
	const session = 6 - 2 // after pid and name
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if got := fields[session-1]; got != fmt.Sprint(p.PID) {
		t.Errorf("session %s, want its own, %d", got, p.PID)
	}
}

func TestParseStat(t *testing.T) {
	rest := func(state, threads string) string {
		return " " + state + " 1 7 7 0 -1 4194560 9 9 0 0 0 0 0 0 20 0 " + threads + " 0 8123 5 5"
	}
	for stat, want := range map[string]bool{
		"7 (java)" + rest("S", "40"):         true,
		"7 (a) Z (b c)) x)" + rest("R", "1"): true,
		"7 (java)" + rest("Z", "12"):         true, // its ports may be open still
		"7 (java)" + rest("Z", "1"):          false,
		"7 (java)" + rest("X", "0"):          false,
	} {
		if start, running := parseStat(stat); start != "8123" || running != want {
			t.Errorf("%q: started %q, running %t; want 8123, %t", stat, start, running, want)
		}
	}
	if _, running := parseStat("7 (java) S 1"); running {
		t.Error("a line that is cut short is taken for a process")
	}
}

func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	unlock, err := lock(t.Context(), dir, "", func(string) { t.Error("waits, and nobody has the lock") })
	must(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	if _, err := lock(ctx, dir, "", func(string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context, which ended while it waited", err)
	}

	// The holder removes the folder, lock and all, while another one waits.
	waits, got := make(chan struct{}), make(chan error)
	var again func() error
	go func() {
		var err error
		again, err = lock(t.Context(), dir, "", func(string) { close(waits) })
		got <- err
	}()
	<-waits
	must(t, os.RemoveAll(dir))
	unlock()
	must(t, <-got)
	defer again()
	if _, err := lock(canceled(t), dir, "", func(string) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v: the lock that the waiting one got is of a folder that is no more", err)
	}
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func mustUp(t *testing.T, c Config) *Instance {
	t.Helper()
	in, err := Up(t.Context(), c)
	must(t, err)
	return in
}
