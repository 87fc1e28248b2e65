package hbase

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/launch"
)

// The test is three processes: who runs it; the host, in a network namespace of its own, so
// that the ports of compose.yaml are free there; and the container. Both namespaces are
// gone when their processes are, whatever happens. netnsRole says which one this is.
const (
	netnsRole = "MAILBENCH_NETNS" // 1: who runs it
	netnsJars = "MAILBENCH_NETNS_JARS"
	netnsRoot = "MAILBENCH_NETNS_ROOT"

	hostAddress      = "10.77.0.1"
	containerAddress = "10.77.0.2"
)

// TestContainer proves, without Docker, that the HBase of docker/compose.yaml can be reached
// from outside of its container: it starts what docker/hbase says in namespaces of its own,
// publishes the ports that the compose file publishes, and uses the driver on the other side.
func TestContainer(t *testing.T) {
	runtime.LockOSThread() // a child dies with the thread that started it
	switch os.Getenv(netnsRole) {
	case "":
		t.Skip("make check CHECK=netns runs this: it boots an HBase in network namespaces")
	case "host":
		host(t)
		return
	case "container":
		t.Fatal(contain(readImage(t)))
	}
	if os.Geteuid() != 0 {
		t.Fatal("only root may make network namespaces: sudo make check CHECK=netns")
	}
	jars, err := launch.Jars(t.Context(), "hbase", func(step string) { t.Log(step) })
	if err != nil {
		t.Fatal(err)
	}
	cmd := again(t.Context(), "host", syscall.CLONE_NEWNET)
	cmd.Env = append(cmd.Env, netnsJars+"="+jars, netnsRoot+"="+t.TempDir())
	out, err := cmd.CombinedOutput()
	t.Logf("on the host's side:\n%s", out)
	if err != nil {
		t.Error(err)
	}
}

// again is this test as a process in another role, in new namespaces. It does not outlive
// this process.
func again(ctx context.Context, role string, namespaces uintptr) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestContainer$", "-test.v")
	cmd.Env = append(os.Environ(), netnsRole+"="+role)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// host starts the container, publishes its ports and uses it.
func host(t *testing.T) {
	im := readImage(t)
	ip(t, "link", "set", "lo", "up")
	cmd := again(t.Context(), "container",
		syscall.CLONE_NEWNET|syscall.CLONE_NEWNS|syscall.CLONE_NEWPID|syscall.CLONE_NEWUTS|syscall.CLONE_NEWIPC)
	name := filepath.Join(os.Getenv(netnsRoot), "log")
	log, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	plugged, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		_ = cmd.Process.Kill() // an error is that it has ended
		<-ended
		if b, err := os.ReadFile(name); t.Failed() {
			t.Logf("in the container (%v):\n%s", err, b[max(0, len(b)-16<<10):])
		}
	}()
	ip(t, "link", "add", "veth", "type", "veth", "peer", "name", "eth0", "netns", fmt.Sprint(cmd.Process.Pid))
	ip(t, "addr", "add", hostAddress+"/24", "dev", "veth")
	ip(t, "link", "set", "veth", "up")
	if err := plugged.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range im.ports {
		publish(t, p[0], net.JoinHostPort(containerAddress, p[1]))
	}
	use(t, im.ports, ended)
}

// publish forwards connections, as Docker does for a port that it publishes.
func publish(t *testing.T, listen, to string) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				out, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer out.Close()
				go func() {
					_, _ = io.Copy(out, in)
					_ = out.(*net.TCPConn).CloseWrite()
				}()
				_, _ = io.Copy(in, out)
			}()
		}
	}()
}

// use waits until HBase answers, and has the driver make a table, write, read, scan and drop.
func use(t *testing.T, ports [][2]string, ended <-chan error) {
	s := parse(t, `
schema: 1
name: reached
tables: {mail: {partition: [p text], clustering: [k int], columns: {a: int}}}
patterns:
  put: {put: mail, columns: a}
  get: {get: mail, columns: a}
  all: {scan: mail, columns: [a, p]}
`)
	st := answering(t, ports, ended)
	if err := st.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w := newWorker(t, st, s)
	for k := range 3 {
		w.write("put", drivers.Text("ann"), drivers.Int(int32(k)), drivers.Int(int32(10+k)))
	}
	if got := w.numbers("get", drivers.Text("ann"), drivers.Int(1)); !slices.Equal(got, []int{11}) {
		t.Errorf("get: %v, want 11", got)
	}
	if got := w.numbers("all"); !slices.Equal(got, []int{10, 11, 12}) {
		t.Errorf("scan: %v, want 10, 11 and 12", got)
	}
	found, err := st.Namespaces(t.Context())
	if err != nil || len(found) != 1 || found[0].Name != "netns" {
		t.Errorf("namespaces %+v, %v; want netns", found, err)
	}
	if _, err := st.Drop(t.Context()); err != nil {
		t.Error(err)
	}
	if found, err = st.Namespaces(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("after the drop: namespaces %+v, %v", found, err)
	}
	t.Logf("%s, reached at %s: put, get, scan and drop", st.Capabilities().Version, ports[0][0])
}

// answering opens a store as soon as every port of the container can be reached. HBase takes
// half a minute to start, and minutes on a machine that is busy.
func answering(t *testing.T, ports [][2]string, ended <-chan error) *Store {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	for _, p := range ports {
		to := net.JoinHostPort(containerAddress, p[1])
		for {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
			if err == nil {
				conn.Close()
				break
			}
			select {
			case end := <-ended:
				t.Fatalf("HBase has ended: %v", end)
			case <-ctx.Done():
				t.Fatalf("nobody listens at %s, which is published as %s: %v", to, p[0], err)
			case <-time.After(time.Second):
			}
		}
	}
	// The master answers calls only when it is initialized, and makes tables later still.
	o := drivers.Options{
		Contact: []string{ports[0][0]}, Namespace: "netns", Settings: map[string]string{"connect_timeout": "5m", "timeout": "5m"},
	}
	for {
		st, err := Engine().Open(ctx, o)
		if err == nil {
			t.Cleanup(func() { st.Close() })
			return st.(*Store)
		}
		if ctx.Err() != nil || len(ended) > 0 {
			t.Fatalf("HBase cannot be reached at %s: %v", ports[0][0], err)
		}
		t.Log(err)
	}
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
