//go:build campaigns && unix

package campaigns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/workloads"
)

// victim is a run of workday with one model, under which a node of the engine
// dies.
type victim struct {
	*child
	model, engine string
	contact       string
	data          string
	workload      *workloads.Workload
}

// faultModels are the models that a node dies under, two at a time: the usual
// ones, or those that are named:
//
//	MAILBENCH_FAULT_MODELS=all go test -v -run Dies -timeout 30m ./cmd/campaigns
func faultModels(t *testing.T, usual string) []string {
	t.Helper()
	if names := os.Getenv("MAILBENCH_FAULT_MODELS"); names != "" {
		usual = names
	}
	models, err := pickModels(strings.Split(usual, ","))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range models {
		names = append(names, m.Name)
	}
	return names
}

// fault is how a node of an engine dies.
type fault struct {
	cluster  *launch.Instance
	engine   string
	settings []string      // of the driver
	measure  time.Duration // long enough for all of it
	// kill lets a node die under the runs, and returns when all that it served is
	// served again.
	kill func([]*victim) outage
	// remove takes deliveries of one model out of the store without mailbench's knowledge.
	remove map[string]func(v *victim, n int64)
}

// strike lets a node die under runs of the models, two at a time, and checks
// what they say of it.
func (f *fault) strike(t *testing.T, models []string) {
	for pair := range slices.Chunk(models, 2) {
		startAll(t, f.cluster, f.engine) // also nodes that the pair before killed
		victims := f.attackAll(t, pair)
		if f.ended(t) {
			// The one that is killed could be the last that serves, and the fault another one. Once more, with all nodes.
			for _, v := range victims {
				v.cmd.Process.Kill()
			}
			startAll(t, f.cluster, f.engine)
			victims = f.attackAll(t, pair)
		}
		o := f.kill(victims)
		for _, v := range victims {
			a := v.survived(o)
			if remove := f.remove[v.model]; remove != nil {
				// A move of unknown outcome may have left its message in two
				// folders; of one more, an audit must miss at least one.
				n := 2*a.Unknown + 1
				remove(v, n)
				v.missed(n)
			}
		}
	}
}

// attackAll starts runs of some models, and waits until all are under way.
func (f *fault) attackAll(t *testing.T, models []string) (victims []*victim) {
	t.Helper()
	for _, m := range models {
		victims = append(victims, f.attack(t, m))
	}
	for _, v := range victims {
		v.underway()
	}
	return victims
}

// ended reports whether a node has ended by itself, and logs what its log says of that.
func (f *fault) ended(t *testing.T) (ended bool) {
	t.Helper()
	for _, n := range f.cluster.Nodes() {
		if n.Running() {
			continue
		}
		ended = true
		var log bytes.Buffer
		if err := f.cluster.Log(t.Context(), &log, n.Name, 0, false); err != nil {
			t.Fatal(err)
		}
		lines := slices.DeleteFunc(strings.Split(log.String(), "\n"), func(line string) bool {
			return !slices.ContainsFunc([]string{"ABORTING", "Terminating", "JvmPauseMonitor", "exiting"}, func(word string) bool {
				return strings.Contains(line, word)
			})
		})
		t.Logf("%s ended by itself:\n%s", n.Name, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
	return ended
}

// startAll starts the nodes that are down, and waits until all nodes serve.
func startAll(t *testing.T, in *launch.Instance, engine string) {
	t.Helper()
	up, err := launch.Up(t.Context(), launch.Config{Engine: engine, Dir: in.Dir()})
	if err != nil {
		t.Fatal(err)
	}
	*in = *up
}

// attack starts a run. Its few workers are soon all waiting for a node that does
// not answer: then there is a gap.
func (f *fault) attack(t *testing.T, model string) *victim {
	t.Helper()
	sets := []string{
		"population.users=4", "population.messages=4", "population.folders=3", "phases.load.clients=4",
		"phases.warmup.duration=2s", "phases.measure.rate=20/s", fmt.Sprintf("phases.measure.duration=%s", f.measure.Round(time.Second)),
	}
	for _, s := range f.settings {
		sets = append(sets, "engines."+f.engine+"."+s)
	}
	w, err := workloads.Bundled("workday", sets...)
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{model: model, engine: f.engine, contact: strings.Join(f.cluster.Contact(), ","), data: filepath.Join(t.TempDir(), "data"), workload: w}
	args := []string{"workday", "-m", model, "-e", f.engine, "--contact", v.contact, "--data", v.data, "--verify", "--no-overhead", "--concurrency", "4"}
	args = append(args, "--fail-on=failed") // a dead node may leave operations that are never started
	for _, s := range sets {
		args = append(args, "--set", s)
	}
	v.child = startRun(t, args...)
	return v
}

// underway waits until the measured phase has acknowledged something.
func (v *victim) underway() {
	v.t.Helper()
	v.await("the measured phase", func() bool { return v.done("warmup") })
	v.grown(20)
}

// grown waits until the ledger has so many records more.
func (v *victim) grown(records int64) {
	v.t.Helper()
	const recordSize = 64
	size := func() int64 {
		f, err := os.Stat(filepath.Join(v.data, v.model+"-"+v.engine, "ledger"))
		if err != nil {
			v.t.Fatal(err)
		}
		return f.Size()
	}
	most := size() + records*recordSize
	v.await("acknowledged deliveries", func() bool { return size() >= most })
}

// namespace is the name in the run's keyspaces or tables.
func (v *victim) namespace() string {
	v.t.Helper()
	b, err := os.ReadFile(filepath.Join(v.data, v.model+"-"+v.engine, "dataset.json"))
	if err != nil {
		v.t.Fatal(err)
	}
	var d struct{ Namespace string }
	if err := json.Unmarshal(b, &d); err != nil || d.Namespace == "" {
		v.t.Fatalf("namespace of %s: %q, %v", v.model, d.Namespace, err)
	}
	return d.Namespace
}

// node is the node of that name as it is now.
func node(t *testing.T, in *launch.Instance, name string) launch.Node {
	t.Helper()
	for _, n := range in.Nodes() {
		if n.Name == name {
			return n
		}
	}
	t.Fatalf("no node %s in %v", name, in.Nodes())
	return launch.Node{}
}

// killNode ends a node's process at once, and returns when it is gone.
func killNode(t *testing.T, in *launch.Instance, name string) {
	t.Helper()
	now, err := launch.Open(in.Engine(), in.Dir()) // another process may have started it again
	if err != nil {
		t.Fatal(err)
	}
	*in = *now
	n := node(t, in, name)
	if !n.Running() {
		t.Fatalf("%s is not running", name)
	}
	if err := syscall.Kill(n.Process.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); n.Running(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("%s still runs", name)
		}
	}
}

// kill9 kills a node and makes sure that it is gone.
func kill9(t *testing.T, in *launch.Instance, name string) {
	t.Helper()
	killNode(t, in, name)
	if c, err := net.Dial("tcp", node(t, in, name).Address); err == nil {
		c.Close()
		t.Fatalf("%s still answers", name)
	}
}

// bringBack starts the one node that is down, as a user would, and no other. Its log, not
// another node's, then reports one start more: it says that it serves on its HOST and PORT.
func bringBack(t *testing.T, in *launch.Instance, engine, serving string, flags ...string) {
	t.Helper()
	mailbench := func(command string, args ...string) string {
		args = append([]string{"engine", command, engine, "--dir", in.Dir()}, args...)
		out, err := exec.CommandContext(t.Context(), "mailbench", args...).CombinedOutput()
		return fmt.Sprint(string(out), err)
	}
	down := slices.DeleteFunc(in.Nodes(), launch.Node.Running)
	if len(down) != 1 {
		t.Fatalf("%d nodes are down: %v", len(down), down)
	}
	name := down[0].Name
	host, port, err := net.SplitHostPort(down[0].Address)
	if err != nil {
		t.Fatal(err)
	}
	serving = strings.NewReplacer("HOST", host, "PORT", port).Replace(serving)
	starts := func() int { return strings.Count(mailbench("logs", "--node", name), serving) }
	before := starts()
	if before == 0 {
		t.Errorf("the log of %s has no %q", name, serving)
	}
	if out := mailbench("status"); !strings.Contains(out, fmt.Sprintf("1 of %d nodes of %s are down", len(in.Nodes()), engine)) {
		t.Errorf("status after %s died: %s", name, out)
	}
	out := mailbench("up", flags...)
	if n := strings.Count(out, "starting "+engine+" "); n != 1 || !strings.Contains(out, "starting "+engine+" "+name+" ") {
		t.Fatalf("up started %d nodes: %s", n, out)
	}
	n := starts()
	for until := time.Now().Add(time.Minute); n <= before && time.Now().Before(until); n = starts() {
		time.Sleep(100 * time.Millisecond) // the master knows a region server before the server's log says so
	}
	if n != before+1 {
		t.Errorf("the log of %s has %q %d times, expected %d", name, serving, n, before+1)
	}
	if out := mailbench("status"); !strings.HasSuffix(out, "<nil>") {
		t.Errorf("status after up: %s", out)
	}
}
