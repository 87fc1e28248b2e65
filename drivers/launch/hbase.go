package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
)

// hbase runs as one process, or as ZooKeeper, master and region servers. The
// ports from the first up are ZooKeeper's, the master's and the region servers'.
type hbase struct{}

// Names of its nodes, beside region servers: standalone is all of HBase.
const (
	standalone = "hbase"
	zookeeper  = "zookeeper"
	master     = "master"
)

// The probe's table, which is there only while HBase is asked whether it serves.
const (
	probeTable  = "mailbench_probe"
	probeFamily = "p"
	probeKey    = "k"
)

func (hbase) facts() facts {
	return facts{
		name: "hbase", version: "2.6.4", download: "117 MB", port: 2181, maxNodes: 2, unit: "region server", protocol: "ZooKeeper",
		heap: 512 * mib, overhead: 200 * mib,
		// Regions are closed in a second or two. In one process with its
		// ZooKeeper, which is gone by then, HBase goes on for 20 s to sign off there.
		patience: 10 * time.Second,
	}
}

func (hbase) nodes(port, count int) []Node {
	at := func(i int) string { return hostPort("127.0.0.1", port+i) }
	if count == 0 {
		return []Node{{Name: standalone, Address: at(0), Listens: []string{at(0), at(1), at(2)}}}
	}
	nodes := []Node{
		{Name: zookeeper, Address: at(0), Listens: []string{at(0)}},
		{Name: master, Address: at(1), Listens: []string{at(1)}},
	}
	for i := range count {
		address := at(2 + i)
		nodes = append(nodes, Node{Name: fmt.Sprintf("regionserver%d", i+1), Address: address, Listens: []string{address}})
	}
	return nodes
}

func (hbase) command(in *Instance, n *Node) (command, error) {
	dir, shared := in.nodeDir(n), filepath.Join(in.dir, sharedDir)
	_, regionPort, err := net.SplitHostPort(n.Listens[len(n.Listens)-1])
	if err != nil {
		return command{}, err
	}
	_, err = writeConfig(dir, "hbase-site.xml", "hbase-site.xml.tmpl", map[string]any{
		"Root": filepath.Join(shared, "hbase"), "ZooKeeper": filepath.Join(shared, "zookeeper"), "Tmp": filepath.Join(dir, "tmp"),
		"Distributed": n.Name != standalone, "Port": in.state.Port, "MasterPort": in.state.Port + 1, "RegionPort": regionPort,
	})
	if err != nil {
		return command{}, err
	}
	log4j, err := writeConfig(dir, "log4j.properties", "log4j.properties", nil)
	if err != nil {
		return command{}, err
	}
	flags := []string{
		"-Dlog4j.configuration=" + fileURL(log4j),
		"-Djava.net.preferIPv4Stack=true",
		"-Dzookeeper.admin.enableServer=false", // an HTTP server on all addresses
		"--add-modules", "jdk.unsupported",
	}
	flags = append(flags, opens(
		"java.base/java.nio", "java.base/sun.nio.ch", "java.base/java.lang", "java.base/jdk.internal.ref",
		"java.base/java.lang.reflect", "java.base/java.util", "java.base/java.util.concurrent")...)
	flags = append(flags, exports("java.base/jdk.internal.misc", "java.security.jgss/sun.security.krb5")...)
	class := "master.HMaster"
	switch n.Name {
	case standalone, master:
	case zookeeper:
		class = "zookeeper.HQuorumPeer"
	default:
		class = "regionserver.HRegionServer"
	}
	return command{flags: flags, main: "org.apache.hadoop.hbase." + class, args: []string{"start"}}, nil
}

// probe makes a table, writes to it, reads what it wrote and drops the table:
// the master says that it is initialized long before that works.
func (hbase) probe(ctx context.Context, nodes []Node) error {
	quorum := nodes[0].Address
	// gohbase waits for a ZooKeeper that is not there without an end.
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", quorum)
	if err != nil {
		return err
	}
	conn.Close()
	quiet := gohbase.Logger(slog.New(slog.DiscardHandler))
	// gohbase's admin client cannot be closed, only its connections can.
	var open connections
	defer open.close()
	admin := gohbase.NewAdminClient(quorum, quiet, gohbase.RegionDialer(open.dial))
	client := gohbase.NewClient(quorum, quiet, gohbase.RpcQueueSize(1))
	defer client.Close()
	if err := servesRegions(ctx, admin, nodes); err != nil {
		return err
	}
	if err := dropProbe(ctx, admin); err != nil { // left by a process that was killed
		return err
	}
	families := map[string]map[string]string{probeFamily: nil}
	if err := admin.CreateTable(hrpc.NewCreateTable(ctx, []byte(probeTable), families)); err != nil {
		return fmt.Errorf("create table %s: %w", probeTable, err)
	}
	return errors.Join(writeProbe(ctx, client), dropProbe(ctx, admin))
}

// connections are those that a dialer has made.
type connections struct {
	mu  sync.Mutex
	all []net.Conn
}

func (c *connections) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = append(c.all, conn)
	}
	return conn, err
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.all {
		conn.Close()
	}
}

// statusCall is gohbase's call with a context, which its own lacks.
type statusCall struct {
	*hrpc.ClusterStatus
	ctx context.Context
}

func (c statusCall) Context() context.Context { return c.ctx }

// servesRegions asks the master whether every region server process has
// reported to it.
func servesRegions(ctx context.Context, admin gohbase.AdminClient, nodes []Node) error {
	answer, err := admin.(gohbase.RPCClient).SendRPC(statusCall{hrpc.NewClusterStatus(), ctx})
	if err != nil {
		return fmt.Errorf("ask the master for its region servers: %w", err)
	}
	// A server's start code is when it was started, in milliseconds: that of a
	// server that was killed, and is not missed yet, is older.
	since := make(map[string]int64)
	for _, live := range answer.(*pb.GetClusterStatusResponse).GetClusterStatus().GetLiveServers() {
		port := strconv.Itoa(int(live.GetServer().GetPort()))
		since[port] = max(since[port], int64(live.GetServer().GetStartCode()))
	}
	for _, n := range nodes {
		if n.Name == zookeeper || n.Name == master {
			continue
		}
		_, port, err := net.SplitHostPort(n.Listens[len(n.Listens)-1])
		if err != nil {
			return err
		}
		if since[port] < n.Process.Started.UnixMilli() {
			return fmt.Errorf("%s has not reported to the master", n.Name)
		}
	}
	return nil
}

func writeProbe(ctx context.Context, client gohbase.Client) error {
	value := []byte(time.Now().String())
	put, err := hrpc.NewPutStr(ctx, probeTable, probeKey, map[string]map[string][]byte{probeFamily: {"q": value}})
	if err != nil {
		return err
	}
	if _, err := client.Put(put); err != nil {
		return fmt.Errorf("write to table %s: %w", probeTable, err)
	}
	get, err := hrpc.NewGetStr(ctx, probeTable, probeKey)
	if err != nil {
		return err
	}
	row, err := client.Get(get)
	if err != nil {
		return fmt.Errorf("read from table %s: %w", probeTable, err)
	}
	if len(row.Cells) != 1 || !bytes.Equal(row.Cells[0].Value, value) {
		return fmt.Errorf("table %s: what was written is not read", probeTable)
	}
	return nil
}

func dropProbe(ctx context.Context, admin gohbase.AdminClient) error {
	list, err := hrpc.NewListTableNames(ctx, hrpc.ListRegex(probeTable))
	if err != nil {
		return err
	}
	found, err := admin.ListTableNames(list)
	if err != nil || len(found) == 0 {
		return err
	}
	if err := admin.DisableTable(hrpc.NewDisableTable(ctx, []byte(probeTable))); err != nil {
		// A process that was killed between the two left it disabled.
		if drop := admin.DeleteTable(hrpc.NewDeleteTable(ctx, []byte(probeTable))); drop == nil {
			return nil
		}
		return fmt.Errorf("disable table %s: %w", probeTable, err)
	}
	if err := admin.DeleteTable(hrpc.NewDeleteTable(ctx, []byte(probeTable))); err != nil {
		return fmt.Errorf("drop table %s: %w", probeTable, err)
	}
	return nil
}
