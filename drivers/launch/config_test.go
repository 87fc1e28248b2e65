package launch

import (
	"encoding/xml"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// TestLayouts: every process of every layout has addresses of its own, on
// loopback, among the ports that an instance takes.
func TestLayouts(t *testing.T) {
	for _, f := range engines {
		for count := f.MinNodes; count <= f.MaxNodes; count++ {
			seen := make(map[string]bool)
			for _, n := range f.layOut(f.Port, count) {
				if !slices.Contains(n.Listens, n.Address) {
					t.Errorf("%s %d: %s listens on %q, without its address %s", f.Name, count, n.Name, n.Listens, n.Address)
				}
				for _, address := range append(n.Listens, n.Name) {
					if seen[address] {
						t.Errorf("%s %d: %s has %s, as another does", f.Name, count, n.Name, address)
					}
					seen[address] = true
				}
				for _, address := range n.Listens {
					host, port, err := net.SplitHostPort(address)
					must(t, err)
					number, err := strconv.Atoi(port)
					must(t, err)
					if !net.ParseIP(host).IsLoopback() || number < f.Port || number > f.Port+65535-maxPort {
						t.Errorf("%s %d: %s listens on %s", f.Name, count, n.Name, address)
					}
				}
			}
		}
	}
}

// TestPoms: the versions that are reported are those that are fetched, and all are pinned.
func TestPoms(t *testing.T) {
	for _, f := range engines {
		_, src, err := jarsOf(&f)
		must(t, err)
		type artifact struct {
			ID      string `xml:"artifactId"`
			Version string `xml:"version"`
		}
		var pom struct {
			Dependencies []artifact `xml:"dependencies>dependency"`
			Plugins      []artifact `xml:"build>plugins>plugin"`
		}
		must(t, xml.Unmarshal([]byte(src), &pom))
		if len(pom.Dependencies) == 0 || len(pom.Plugins) != 1 {
			t.Fatalf("%s: %+v", f.Name, pom)
		}
		for _, d := range pom.Dependencies {
			if version, _, _ := strings.Cut(d.Version, "-"); version != f.version {
				t.Errorf("%s: fetches %s %s, and tells of %s", f.Name, d.ID, d.Version, f.version)
			}
		}
		if pom.Plugins[0].Version == "" {
			t.Errorf("%s: the plugin's version is not pinned", f.Name)
		}
	}
}

// awkward is a folder whose name is none for YAML, XML or a URL.
const awkward = `it's "a" <b> & 100% #c`

func configured(t *testing.T, e *Engine, count int) (*Instance, []command) {
	t.Helper()
	in := &Instance{engine: e, dir: filepath.Join(t.TempDir(), awkward), state: &state{Config: Config{Nodes: count, Port: 19500, HeapBytes: e.heap}}}
	in.state.Nodes = e.layOut(in.state.Port, count)
	var commands []command
	for i := range in.state.Nodes {
		n := &in.state.Nodes[i]
		must(t, os.MkdirAll(in.nodeDir(n), 0o755))
		c, err := e.command(in, n)
		must(t, err)
		commands = append(commands, c)
	}
	return in, commands
}

func TestCassandraConfiguration(t *testing.T) {
	in, commands := configured(t, &cassandra, 3)
	for i, c := range commands {
		n := &in.state.Nodes[i]
		src, err := os.ReadFile(filepath.Join(in.nodeDir(n), "cassandra.yaml"))
		must(t, err)
		var conf map[string]any
		must(t, yaml.Unmarshal(src, &conf))
		host := "127.0.0." + strconv.Itoa(i+1)
		for key, want := range map[string]any{
			"listen_address": host, "rpc_address": host, "native_transport_port": 19500, "storage_port": 19501,
			"commitlog_directory": filepath.Join(in.nodeDir(n), "commitlog"), "commitlog_sync": "periodic", "auto_snapshot": false,
		} {
			if conf[key] != want {
				t.Errorf("%s: %s is %v, want %v", n.Name, key, conf[key], want)
			}
		}
		if slices.ContainsFunc(c.flags, func(flag string) bool {
			return strings.Contains(strings.ToLower(flag), "jmx") && !strings.Contains(flag, "exports") && strings.HasPrefix(flag, "-D")
		}) {
			t.Errorf("%s: JMX is on: %q", n.Name, c.flags)
		}
	}
	if !slices.Contains(commands[0].flags, "-XX:+UseSerialGC") {
		t.Error("a small heap is not collected by the serial collector")
	}
	in.state.HeapBytes = g1Heap
	c, err := in.engine.command(in, &in.state.Nodes[0])
	must(t, err)
	if !slices.Contains(c.flags, "-XX:+UseG1GC") || slices.Contains(c.flags, "-XX:+UseSerialGC") {
		t.Error("a large heap is not collected by G1")
	}
}

// TestCassandraDatacenters: nodes are spread over the datacenters in turn, each into a rack of its own.
func TestCassandraDatacenters(t *testing.T) {
	in, _ := configured(t, &cassandra, 3)
	in.state.Datacenters = 2
	for i, want := range []string{"dc=dc1\nrack=rack1\n", "dc=dc2\nrack=rack1\n", "dc=dc1\nrack=rack2\n"} {
		n := &in.state.Nodes[i]
		c, err := in.engine.command(in, n)
		must(t, err)
		file := filepath.Join(in.nodeDir(n), "cassandra-rackdc.properties")
		if told, err := os.ReadFile(file); err != nil || !strings.HasSuffix(string(told), want) ||
			!slices.Contains(c.flags, "-Dcassandra-rackdc.properties="+fileURL(file)) {
			t.Errorf("%s: %q, %v, flags %q; want %q", n.Name, told, err, c.flags, want)
		}
		src, err := os.ReadFile(filepath.Join(in.nodeDir(n), "cassandra.yaml"))
		must(t, err)
		if replicas := []string{"2", "1", "2"}[i]; !strings.Contains(string(src), "endpoint_snitch: GossipingPropertyFileSnitch\n") ||
			!strings.Contains(string(src), "allocate_tokens_for_local_replication_factor: "+replicas+"\n") {
			t.Errorf("%s: %s", n.Name, src)
		}
	}
}

// TestCassandraOptions: given options replace the defaults, but none that keeps a node on loopback.
func TestCassandraOptions(t *testing.T) {
	in, _ := configured(t, &cassandra, 1)
	in.state.Options = map[string]string{"commitlog_sync": "batch", "concurrent_reads": "7", "storage_compatibility_mode": "CASSANDRA_4"}
	n := &in.state.Nodes[0]
	_, err := in.engine.command(in, n)
	must(t, err)
	src, err := os.ReadFile(filepath.Join(in.nodeDir(n), "cassandra.yaml"))
	must(t, err)
	var conf map[string]any
	must(t, yaml.Unmarshal(src, &conf))
	for name, want := range map[string]any{
		"commitlog_sync": "batch", "commitlog_sync_period": nil, "concurrent_reads": 7,
		"storage_compatibility_mode": "CASSANDRA_4", "paxos_variant": "v2", "rpc_address": "127.0.0.1",
	} {
		if conf[name] != want {
			t.Errorf("%s is %v, want %v", name, conf[name], want)
		}
	}
	for _, wrong := range []map[string]string{
		{"rpc_address": "0.0.0.0"},
		{"authenticator": "AllowAllAuthenticator"},
		{"concurrent_reads": "7\nrpc_address: 0.0.0.0"},
		{"a: b\nrpc_address": "0.0.0.0"},
		{"concurrent_reads": ""},
	} {
		c := Config{Engine: "cassandra", Options: wrong}
		if err := c.Check(); err == nil {
			t.Errorf("options %q were taken", wrong)
		}
	}
	for _, c := range []Config{{Engine: "cassandra", Nodes: 2, Datacenters: 3}, {Engine: "hbase", Datacenters: 1}, {Engine: "cassandra", Datacenters: -1}} {
		if err := c.Check(); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

func TestHBaseConfiguration(t *testing.T) {
	for _, count := range []int{0, 2} {
		in, commands := configured(t, &hbase, count)
		for i, c := range commands {
			n := &in.state.Nodes[i]
			src, err := os.ReadFile(filepath.Join(in.nodeDir(n), "hbase-site.xml"))
			must(t, err)
			var site struct {
				Properties []struct {
					Name  string `xml:"name"`
					Value string `xml:"value"`
				} `xml:"property"`
			}
			must(t, xml.Unmarshal(src, &site))
			conf := make(map[string]string)
			for _, p := range site.Properties {
				conf[p.Name] = p.Value
			}
			_, port, err := net.SplitHostPort(n.Listens[len(n.Listens)-1])
			must(t, err)
			for key, want := range map[string]string{
				"hbase.rootdir": "file://" + filepath.Join(in.dir, "shared", "hbase"), "hbase.cluster.distributed": strconv.FormatBool(count > 0),
				"hbase.zookeeper.property.clientPort": "19500", "hbase.zookeeper.property.clientPortAddress": "127.0.0.1",
				"hbase.master.port": "19501", "hbase.regionserver.port": port,
				"hbase.master.ipc.address": "127.0.0.1", "hbase.regionserver.ipc.address": "127.0.0.1",
				"hbase.master.info.port": "-1", "hbase.regionserver.info.port": "-1",
				"hbase.coprocessor.user.enabled":   "false",
				"hbase.coprocessor.region.classes": "org.apache.hadoop.hbase.coprocessor.MultiRowMutationEndpoint",
			} {
				if conf[key] != want {
					t.Errorf("%s: %s is %q, want %q", n.Name, key, conf[key], want)
				}
			}
			want := map[string]string{standalone: "HMaster", zookeeper: "HQuorumPeer", master: "HMaster"}[n.Name]
			if want == "" {
				want = "HRegionServer"
			}
			if !strings.HasSuffix(c.main, "."+want) {
				t.Errorf("%s runs %s, want %s", n.Name, c.main, want)
			}
		}
	}
}

func TestContact(t *testing.T) {
	c, _ := configured(t, &cassandra, 3)
	if got, want := strings.Join(c.Contact(), " "), "127.0.0.1:19500 127.0.0.2:19500 127.0.0.3:19500"; got != want {
		t.Errorf("contact of Cassandra: %s, want %s", got, want)
	}
	h, _ := configured(t, &hbase, 2)
	if got, want := strings.Join(h.Contact(), " "), "127.0.0.1:19500"; got != want {
		t.Errorf("contact of HBase: %s, want %s", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
