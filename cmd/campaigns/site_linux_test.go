//go:build campaigns

package campaigns

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/drivers/launch/live"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/subject"
)

// site is where the campaign strikes: a cluster of its own, or the embedded engine,
// whose only process is the client's.
type site struct {
	name   string // engine, or "datacenters": Cassandra's nodes in two
	engine string
	args   []string         // of each run
	in     *launch.Instance // nil: embedded
	disk   *disk            // of one node, or of the data folder; nil: this user may mount none
	full   string           // the node whose log is on that disk
	clock  string           // see agent
	turn   int              // of the nodes
	broken string           // why the cluster is of no more use
	failed int              // rounds that came to nothing
}

func newSite(t *testing.T, name string) *site {
	t.Helper()
	s := &site{name: name, engine: name}
	switch name {
	case "embedded":
		s.disk = newDisk(t, 1<<30)
		return s
	case "cassandra":
		s.in = live.Cassandra3(t)
		s.args = []string{"--set", "engines.cassandra.replication=3", "--set", "engines.cassandra.consistency=QUORUM", "--set", "engines.cassandra.timeout=8s"}
		// A node's log is next to that, so that it can complain.
		s.full = "node2"
		s.onDisk(t, filepath.Join(s.full, "commitlog"), 3<<30)
	case "datacenters":
		ownNetwork(t)
		s.engine, s.full = "cassandra", "node3" // in dc1, with node1
		s.in = live.CassandraDatacenters(t)
		s.args = []string{
			"--set", "engines.cassandra.replication=dc1:2,dc2:1", "--set", "engines.cassandra.local_dc=dc1", "--set", "engines.cassandra.timeout=8s",
		}
		s.onDisk(t, filepath.Join(s.full, "commitlog"), 3<<30)
	case "hbase":
		s.in = live.Start(t, launch.Config{Engine: name, Nodes: 2})
		s.args = []string{"--set", "engines.hbase.pre_split=6", "--set", "engines.hbase.timeout=5s"}
		s.onDisk(t, filepath.Join("shared", "hbase"), 3<<30)
	}
	s.args = append(s.args, "--contact", strings.Join(s.in.Contact(), ","))
	return s
}

// onDisk moves a folder of the cluster to a disk of its own.
func (s *site) onDisk(t *testing.T, folder string, size int64) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	if s.engine == "cassandra" {
		killNode(t, s.in, filepath.Dir(folder)) // it is that node's
	} else if err := s.in.Down(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(s.in.Dir(), folder)
	s.disk = newDisk(t, size)
	system(t, "cp", "-a", at+"/.", s.disk.dir)
	s.disk.bind(t, s.disk.dir, at)
	t.Cleanup(func() {
		for _, n := range s.in.Nodes() { // whoever has files there
			if n.Running() {
				killNode(t, s.in, n.Name)
			}
		}
	})
	if s.up(t); s.broken != "" {
		t.Fatal(s.broken)
	}
}

// up starts the nodes that do not run, and returns when all serve. If they do not, the site
// is broken; its other nodes still run.
func (s *site) up(t *testing.T) {
	t.Helper()
	in, err := launch.Up(t.Context(), launch.Config{Engine: s.engine, Dir: s.in.Dir()})
	if err == nil {
		s.in = in
		return
	}
	s.broken = err.Error()
	t.Log(s.broken)
	if s.in, err = launch.Open(s.engine, s.in.Dir()); err != nil {
		t.Fatal(err)
	}
}

// folder is where the data folder of a run goes. The embedded engine's files are on the
// small disk, and the ledger is not: else it would be the first to want room.
func (s *site) folder(t *testing.T, model string) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	if s.in != nil || s.disk == nil {
		return data
	}
	store := subject.StoreDir(filepath.Join(data, model+"-"+s.engine))
	if err := os.MkdirAll(store, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "mailbench-data"), []byte("made by TestFaults\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(s.disk.dir, "store")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s.disk.bind(t, dir, store)
	return data
}

// next is the node whose turn it is: each of Cassandra's, or the region server that
// has regions.
func (s *site) next() launch.Node {
	var nodes []launch.Node
	for _, n := range s.in.Nodes() {
		if strings.HasPrefix(n.Name, "node") || strings.HasPrefix(n.Name, "regionserver") {
			nodes = append(nodes, n)
		}
	}
	s.turn++
	return nodes[s.turn%len(nodes)]
}

func (s *site) dataset(t *testing.T, data, model string) *subject.Dataset {
	t.Helper()
	d, err := subject.ReadDataset(filepath.Join(data, model+"-"+s.engine))
	if err != nil || d == nil {
		t.Fatalf("data set of %s: %+v, %v", model, d, err)
	}
	return d
}

// audit audits what a run has left.
func (s *site) audit(t *testing.T, data, model string) (status int, a results.Audit, unaudited string) {
	t.Helper()
	args := append([]string{"--data", data, "-m", model, "-e", s.engine, "--verify=only"}, s.args...)
	p := startRun(t, args...)
	status = p.finish()
	a, unaudited = audited(t, p)
	return status, a, unaudited
}

// audited returns the findings of a run's audit, and why it did not finish.
func audited(t *testing.T, p *child) (a results.Audit, unaudited string) {
	t.Helper()
	found := leftBy(p)
	if len(found.Audits) > 0 {
		a = found.Audits[0]
	} else {
		unaudited = "no audit:\n" + p.printed("stderr")
	}
	for _, c := range found.Cells {
		if c.Phase == "audit" {
			unaudited = c.Error
		}
	}
	return a, unaudited
}

// leftBy returns the saved results of a run: nothing, if the engine was out of its reach.
func leftBy(p *child) *results.Run {
	p.t.Helper()
	if _, err := os.Stat(filepath.Join(p.path("out"), results.RunFile)); errors.Is(err, fs.ErrNotExist) {
		return &results.Run{}
	}
	return p.found()
}

// clean drops what a run keeps in the cluster.
func (s *site) clean(t *testing.T, data, model string) {
	t.Helper()
	if s.in == nil {
		return
	}
	namespace := s.dataset(t, data, model).Namespace
	args := append([]string{"engine", "clean", s.engine, namespace}, s.args...)
	if out, err := exec.Command("mailbench", args...).CombinedOutput(); err != nil {
		t.Errorf("clean %s: %v\n%s", namespace, err, out)
	}
}

// nodeKilled kills a node, waits a moment, and starts it again.
func nodeKilled(t *testing.T, s *site, _ *child) bool {
	n := s.next()
	kill9(t, s.in, n.Name)
	if s.engine == "hbase" {
		time.Sleep(10 * time.Second) // its regions move when ZooKeeper has missed it for 6 s
	}
	s.up(t)
	return true
}

// hung stops a process for 15 s. A region server that ZooKeeper has missed ends itself
// when it finds out.
func hung(t *testing.T, s *site, p *child) bool {
	const long = 15 * time.Second
	pid := p.cmd.Process.Pid
	var n launch.Node
	if s.in != nil {
		n = s.next()
		pid = n.Process.PID
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(long)
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if s.in == nil {
		return true
	}
	if s.engine == "hbase" {
		for end := time.Now().Add(20 * time.Second); n.Running() && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond)
		}
		t.Logf("%s runs after its hang: %v", n.Name, n.Running())
	}
	s.up(t)
	return true
}

// cut breaks all connections to a node every 200 ms, for 5 s.
func cut(t *testing.T, s *site, _ *child) bool {
	n := s.next()
	host, port, err := net.SplitHostPort(n.Address)
	if err != nil {
		t.Fatal(err)
	}
	broken := 0
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		out, err := exec.Command("ss", "-K", "-t", "-n", "-H", "state", "established", "dst", host, "dport", "=", port).Output()
		if err != nil {
			t.Fatalf("ss -K needs root and a kernel with INET_DIAG_DESTROY: %v", err)
		}
		broken += strings.Count(string(out), "\n")
	}
	t.Logf("%s: %d connections broken", n.Name, broken)
	return broken > 0
}
