//go:build unix

package cassandra

import (
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/drivertest"
	"github.com/mailbench/mailbench/drivers/launch"
	"github.com/mailbench/mailbench/drivers/launch/live"
)

// silence stops a node's process: it goes on accepting connections, and answers nothing. It goes
// on with the end of the test.
func silence(t *testing.T, in *launch.Instance, node string) (address string) {
	t.Helper()
	for _, n := range in.Nodes() {
		if n.Name != node {
			continue
		}
		p, err := os.FindProcess(n.Process.PID)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Signal(syscall.SIGCONT); err != nil {
				t.Error(err)
			}
		})
		return n.Address
	}
	t.Fatalf("no %s", node)
	return ""
}

// TestDatacenters runs on three nodes in two datacenters.
func TestDatacenters(t *testing.T) {
	in := live.CassandraDatacenters(t)
	t.Run("replication", func(t *testing.T) { replication(t, in) })
	t.Run("consistency", func(t *testing.T) { consistency(t, in) })
	t.Run("rack", func(t *testing.T) { rack(t, in) })
	t.Run("addresses", func(t *testing.T) { translated(t, in) })
	t.Run("silent node", func(t *testing.T) { silentNode(t, in) })
}

// inDC1 opens a store whose requests go to dc1.
func inDC1(t *testing.T, in *launch.Instance, settings map[string]string) *Store {
	t.Helper()
	all := map[string]string{"local_dc": "dc1"}
	maps.Copy(all, settings)
	o := drivers.Options{Contact: in.Contact()[:1], Namespace: newNamespace(), Settings: all}
	return drivertest.OpenLive(t, Engine(), o).(*Store)
}

// replication: rows have replicas in the datacenters that the setting names, and EACH_QUORUM needs
// several.
func replication(t *testing.T, in *launch.Instance) {
	st := inDC1(t, in, map[string]string{"replication": "dc1:2,dc2:1", "consistency": "EACH_QUORUM", "compression": "snappy"})
	r := run(t, st, schemaOf(t, "large", largeBody))
	r.write("put", drivers.Int(1), drivers.Blob(make([]byte, 1000)))
	there, err := readKeyspace(t.Context(), st.session, "mailbench_"+st.Namespace+"_large")
	if err != nil {
		t.Fatal(err)
	}
	if has, _ := there["keyspaces"][0]["replication"].(map[string]string); has["dc1"] != "2" || has["dc2"] != "1" {
		t.Errorf("replication %v", has)
	}
	if c, err := st.Compare(t.Context(), r.schema); err != nil || len(c.Drifts) > 0 {
		t.Errorf("differences %+v, %v", c, err)
	}
	if err := st.Settle(t.Context()); err != nil {
		t.Error(err)
	}
	if got := st.Observe().Settings["replication"]; got != "dc1:2,dc2:1" {
		t.Errorf("replication is told as %s", got)
	}
	for _, c := range []struct{ replication, consistency, want string }{
		{"2", "EACH_QUORUM", "rows have replicas in dc1 only"},
		{"dc2:1", "LOCAL_QUORUM", "no replicas in the local datacenter dc1"},
		{"dc1:2,dc2:2", "LOCAL_QUORUM", "2 replicas of a row need as many nodes; those of datacenter dc2 are 1"},
		{"dc1:2,dc3:1", "LOCAL_QUORUM", "the cluster has no datacenter dc3; it has dc1, dc2"},
		{"dc1:1", "TWO", "consistency TWO needs 2 replicas of a row; there are only 1"},
	} {
		st, err := Engine().Open(t.Context(), drivers.Options{Contact: in.Contact()[:1], Settings: map[string]string{
			"local_dc": "dc1", "replication": c.replication, "consistency": c.consistency,
		}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("replication %s with %s: %v, %v; want %q", c.replication, c.consistency, st, err, c.want)
		}
	}
}

// consistency: each can be used, also those that system tables, which a node has alone, do not give.
func consistency(t *testing.T, in *launch.Instance) {
	for _, name := range []string{
		"ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE",
	} {
		st := inDC1(t, in, map[string]string{"replication": "dc1:2,dc2:1", "consistency": name})
		r := run(t, st, schemaOf(t, "flags", flagsBody))
		to := record(t, st)
		row := []drivers.Value{drivers.Text("p"), drivers.Int(1), drivers.Blob([]byte("v"))}
		if err := r.session.Batch(t.Context(), r.stmt("logged"), []drivers.Call{{Args: row}}); err != nil {
			t.Errorf("%s: batch: %v", name, err)
		}
		r.write("log", row...)
		got := r.read("read", row[0])
		for ctx := t.Context(); got != "1 v" && strings.HasSuffix(name, "ONE") && ctx.Err() == nil; got = r.read("read", row[0]) {
			time.Sleep(10 * time.Millisecond) // another replica may have the row later
		}
		if got != "1 v" {
			t.Errorf("%s: read %q", name, got)
		}
		used := slices.Compact(to.consistencies)
		if len(to.consistencies) < 3 || !slices.Equal(used, []gocql.Consistency{st.settings.consistency}) {
			t.Errorf("%d requests had the consistencies %v, want 3 or more of %s", len(to.consistencies), used, name)
		}
	}
}

// rack: requests go to the rack that the setting names, and none to another datacenter.
func rack(t *testing.T, in *launch.Instance) {
	nodes := in.Nodes()
	for name, node := range map[string]int{"rack1": 0, "rack2": 2} {
		st := inDC1(t, in, map[string]string{"rack": name, "replication": "2"})
		r := run(t, st, schemaOf(t, "large", largeBody))
		for k := range int32(20) {
			args := []drivers.Value{drivers.Int(k), drivers.Blob([]byte("v"))}
			r.write("put", args...)
			q := st.session.Query("SELECT v FROM mailbench_"+st.Namespace+"_large.large WHERE p = ?", k)
			next := st.nodes.Pick(q)
			first := next().Info().HostnameAndPort()
			if first != nodes[node].Address {
				t.Errorf("%s: row %d is asked of %s, want %s", name, k, first, nodes[node].Address)
			}
			for h := next(); h != nil; h = next() {
				if h.Info().DataCenter() != "dc1" {
					t.Errorf("%s: row %d may be asked of %s of another datacenter", name, k, h.Info().HostnameAndPort())
				}
			}
		}
	}
	_, err := Engine().Open(t.Context(), drivers.Options{Contact: in.Contact()[:1], Settings: map[string]string{
		"local_dc": "dc1", "rack": "rack7",
	}})
	if err == nil || !strings.Contains(err.Error(), "no rack rack7; it has rack1, rack2") {
		t.Errorf("an unknown rack: %v", err)
	}
}

// translated: nodes are reached where the setting says, each at an address and port of its own.
func translated(t *testing.T, in *launch.Instance) {
	var contact, addresses []string
	var through atomic.Int64
	for _, i := range []int{0, 2} {
		node := in.Nodes()[i].Address
		at := forward(t, node, &through)
		contact, addresses = append(contact, at), append(addresses, node+"="+at)
	}
	o := drivers.Options{Contact: contact, Namespace: newNamespace(), Settings: map[string]string{
		"local_dc": "dc1", "addresses": strings.Join(addresses, ","), "connections": "3",
	}}
	st := drivertest.OpenLive(t, Engine(), o).(*Store)
	if missing := st.Observe().Missing; len(missing) > 0 {
		t.Errorf("missing %q", missing)
	}
	for _, h := range st.nodes.all() {
		if at := h.HostnameAndPort(); !slices.Contains(contact, at) {
			t.Errorf("a node is reached at %s, want one of %q", at, contact)
		}
	}
	if n := through.Load(); n < 4 { // one for control, one at least for each node
		t.Errorf("%d connections", n)
	}
}

// forward listens on a free port and passes connections on to an address.
func forward(t *testing.T, to string, count *atomic.Int64) (at string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
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
			count.Add(1)
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			for _, ends := range [][2]net.Conn{{in, out}, {out, in}} {
				go func() {
					_, _ = io.Copy(ends[0], ends[1])
					ends[0].Close()
				}()
			}
		}
	}()
	return l.Addr().String()
}

// silentNode: a node that accepts connections and never answers does not keep a run from
// the others, and is named.
func silentNode(t *testing.T, in *launch.Instance) {
	open := func(t *testing.T, settings map[string]string) *Store {
		t.Helper()
		began := time.Now()
		o := drivers.Options{Contact: in.Contact()[:1], Namespace: newNamespace(), Settings: settings}
		st := drivertest.OpenLive(t, Engine(), o).(*Store)
		if took := time.Since(began); took >= st.settings.client.ConnectTimeout { // then it waited for the silent node
			t.Errorf("opened after %v", took)
		}
		return st
	}
	t.Run("of another datacenter", func(t *testing.T) {
		silence(t, in, "node2")
		st := open(t, map[string]string{"local_dc": "dc1"})
		if o := st.Observe(); len(o.Missing) > 0 {
			t.Errorf("missing %q, want only nodes that get requests to be told", o.Missing)
		}
		if _, err := Engine().Open(t.Context(), drivers.Options{Contact: in.Contact()[:1]}); err == nil ||
			!strings.Contains(err.Error(), "datacenters dc1, dc2: name yours in the setting local_dc") {
			t.Errorf("without local_dc: %v", err)
		}
		if _, err := Engine().Open(t.Context(), drivers.Options{
			Contact: in.Contact()[:1], Settings: map[string]string{"local_dc": "dc3"},
		}); err == nil || !strings.Contains(err.Error(), "no datacenter dc3; it has dc1, dc2") {
			t.Errorf("with an unknown local_dc: %v", err)
		}
	})
	t.Run("of the same datacenter", func(t *testing.T) {
		address := silence(t, in, "node3")
		st := open(t, map[string]string{"local_dc": "dc1", "replication": "1", "consistency": "ONE"})
		if o := st.Observe(); !slices.Equal(o.Missing, []string{address}) {
			t.Errorf("missing %q, want %q", o.Missing, address)
		}
	})
	t.Run("among the contacts", func(t *testing.T) {
		address := silence(t, in, "node3")
		o := drivers.Options{Contact: []string{address, in.Contact()[0]}, Settings: map[string]string{
			"local_dc": "dc1", "connect_timeout": "5s",
		}}
		for range 4 { // gocql tries the contacts in random order
			st, err := Engine().Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			st.Close()
		}
	})
}

// TestSilentContact: if no contact answers, it is said which, and how long it took.
func TestSilentContact(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = Engine().Reach(t.Context(), drivers.Options{
		Contact: []string{l.Addr().String()}, Settings: map[string]string{"connect_timeout": "200ms"},
	})
	if err == nil || !strings.Contains(err.Error(), "cassandra cannot be reached at "+l.Addr().String()+": ") {
		t.Errorf("open: %v", err)
	}
}
