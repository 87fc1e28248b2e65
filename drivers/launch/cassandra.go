package launch

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/gocql/gocql"
)

// cassandra runs each node on its own loopback address. All nodes use the same ports
// for the native protocol and for internode traffic. There is no JMX: whoever reaches a
// node's JMX without a password runs code as its user.
var cassandra = Engine{
	Name: "cassandra", Port: 9042, Unit: "node", Nodes: "Cassandra nodes, on 127.0.0.1 and up", MinNodes: 1, MaxNodes: 3,
	version: "5.0.9", sums: configFile("cassandra.sha256"), download: "66 MB", protocol: "CQL", shell: "cqlsh",
	heap: 512 * mib, overhead: 400 * mib, patience: 30 * time.Second, oneByOne: true, anyNode: true,
	layOut: cassandraNodes, command: cassandraCommand, probe: probeCassandra,
}

func cassandraNodes(port, count int) []Node {
	nodes := make([]Node, count)
	for i := range nodes {
		host := fmt.Sprintf("127.0.0.%d", i+1)
		address := hostPort(host, port)
		nodes[i] = Node{
			Name: fmt.Sprintf("node%d", i+1), Address: address,
			Listens: []string{address, hostPort(host, port+1)},
		}
	}
	return nodes
}

// g1Heap is the smallest heap for G1, Cassandra's default collector. With a smaller
// heap the serial collector takes less memory and processor time.
const g1Heap = 2 << 30

func cassandraCommand(in *Instance, n *Node) (command, error) {
	dir := in.nodeDir(n)
	host, _, err := net.SplitHostPort(n.Address)
	if err != nil {
		return command{}, err
	}
	certificate, err := in.certificate()
	if err != nil {
		return command{}, err
	}
	rackdc, snitch, replicas, err := in.place(dir, n)
	if err != nil {
		return command{}, err
	}
	yaml, err := writeConfig(dir, "cassandra.yaml", "cassandra.yaml.tmpl", map[string]any{
		"Certificate": certificate, "Snitch": snitch, "Options": in.options(),
		"Nodes": replicas, "Host": host, "Port": in.state.Port, "StoragePort": in.state.Port + 1,
		"Seed": "127.0.0.1",
		"Data": filepath.Join(dir, "data"), "CommitLog": filepath.Join(dir, "commitlog"),
		"Hints": filepath.Join(dir, "hints"), "SavedCaches": filepath.Join(dir, "saved_caches"),
	})
	if err != nil {
		return command{}, err
	}
	logback, err := writeConfig(dir, "logback.xml", "logback.xml", nil)
	if err != nil {
		return command{}, err
	}
	collector := "-XX:+UseSerialGC"
	if in.state.HeapBytes >= g1Heap {
		collector = "-XX:+UseG1GC"
	}
	flags := []string{
		collector, "-Dcassandra.config=" + fileURL(yaml), "-Dcassandra.storagedir=" + dir,
		"-Dlogback.configurationFile=" + fileURL(logback),
		"-Dcassandra-rackdc.properties=" + fileURL(rackdc),
	}
	return command{flags: flags, main: "org.apache.cassandra.service.CassandraDaemon"}, nil
}

// place writes the file with a node's datacenter and rack. It returns the snitch that reads it, and the number of nodes
// in that datacenter. Without Datacenters it is SimpleSnitch, for which all nodes are in datacenter1.
func (in *Instance) place(dir string, n *Node) (file, snitch string, nodes int, err error) {
	dcs, count := max(in.state.Datacenters, 1), len(in.state.Nodes)
	at := slices.IndexFunc(in.state.Nodes, func(other Node) bool { return other.Name == n.Name })
	file, err = writeConfig(dir, "cassandra-rackdc.properties", "cassandra-rackdc.properties.tmpl", map[string]any{
		"DC": at%dcs + 1, "Rack": at/dcs + 1,
	})
	snitch = "SimpleSnitch"
	if in.state.Datacenters > 0 {
		snitch = "GossipingPropertyFileSnitch"
	}
	return file, snitch, (count - at%dcs + dcs - 1) / dcs, err
}

// defaultOptions are options that the user may replace. The first two are as in the yaml that
// Cassandra ships: a kill of the process may take what one node acknowledged in the last 100 ms
// (CASSANDRA-13987), a loss of power the last 10 s. A dropped table is gone; Cassandra would keep
// a snapshot of it forever. Files and Paxos are those of this version: the shipped yaml keeps
// those of 4.x, so that a cluster can go back to it.
var defaultOptions = map[string]string{
	"commitlog_sync": "periodic", "commitlog_sync_period": "10000ms",
	"auto_snapshot":              "false",
	"storage_compatibility_mode": "NONE", "paxos_variant": "v2",
	"num_tokens": "16",
}

// options returns the lines of cassandra.yaml that a user may replace.
func (in *Instance) options() (lines []string) {
	all := maps.Clone(defaultOptions)
	if sync := in.state.Options["commitlog_sync"]; sync != "" && sync != "periodic" {
		delete(all, "commitlog_sync_period") // it is for periodic alone
	}
	maps.Copy(all, in.state.Options)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		lines = append(lines, name+": "+all[name])
	}
	return lines
}

// probeCassandra reads, through each node, a row that has a replica on every node, at the
// consistency level that needs all of them. It succeeds when every node sees all others.
func probeCassandra(ctx context.Context, in *Instance, nodes []*Node) error {
	var as *login
	if in.state.Auth {
		var err error
		if as, err = in.secure(ctx, nodes[0].Address); err != nil {
			return err
		}
	}
	consistency := []gocql.Consistency{gocql.One, gocql.Two, gocql.Three}[len(nodes)-1]
	for _, n := range nodes {
		if err := readThrough(ctx, n.Address, as, consistency); err != nil {
			return fmt.Errorf("%s (%s): %w", n.Name, n.Address, err)
		}
	}
	return nil
}

func readThrough(ctx context.Context, address string, as *login, consistency gocql.Consistency) error {
	s, err := connect(address, as, consistency)
	if err != nil {
		return err
	}
	defer s.Close()
	// This keyspace of Cassandra's own exists from the start and has three replicas.
	const query = `SELECT view_name FROM system_distributed.view_build_status
		WHERE keyspace_name = 'mailbench' AND view_name = 'probe'`
	return s.Query(query).WithContext(ctx).Exec()
}

// connect opens a session that uses this node and no other.
func connect(address string, as *login, consistency gocql.Consistency) (*gocql.Session, error) {
	c := gocql.NewCluster(address)
	c.DisableInitialHostLookup = true
	c.ProtoVersion = 4
	c.NumConns = 1
	c.Consistency = consistency
	c.ConnectTimeout, c.Timeout = 5*time.Second, 5*time.Second
	c.Logger = log.New(io.Discard, "", 0) // it reports refused connections until the node is up
	if as != nil {
		c.Authenticator = gocql.PasswordAuthenticator{Username: as.user, Password: as.password}
		c.SslOpts = &gocql.SslOptions{
			Config:                 &tls.Config{RootCAs: as.authorities, MinVersion: tls.VersionTLS12},
			EnableHostVerification: true,
		}
	}
	return c.CreateSession()
}

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

func fileURL(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }
