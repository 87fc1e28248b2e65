package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
)

// hbase runs as one process, or as ZooKeeper, master and region servers. The
// ports from the first up are ZooKeeper's, the master's and the region servers'.
var hbase = Engine{
	Name: "hbase", Port: 2181, Unit: "region server", Flag: "regionservers", MaxNodes: 2,
	Nodes:   "HBase region servers in processes of their own; 0 is one process for all of HBase",
	version: "2.6.4", sums: configFile("hbase.sha256"), download: "117 MB", protocol: "ZooKeeper",
	heap: 1024 * mib, overhead: 200 * mib, // with 512 MiB it ran out of memory under 560 MB of mail
	// HBase closes its regions in a second or two. A standalone HBase then
	// tries for 20 s to reach its ZooKeeper, which has already stopped.
	patience: 10 * time.Second,
	layOut:   hbaseNodes, command: hbaseCommand, probe: probeHBase,
}

// The names of HBase's nodes other than region servers. standalone is all of HBase in
// one process.
const (
	standalone = "hbase"
	zookeeper  = "zookeeper"
	master     = "master"
)

func hbaseNodes(port, count int) []Node {
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", port+i) }
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

func hbaseCommand(in *Instance, n *Node) (command, error) {
	dir, shared := in.nodeDir(n), filepath.Join(in.dir, sharedDir)
	_, regionPort, _ := net.SplitHostPort(n.Listens[len(n.Listens)-1]) // as hbaseNodes writes it
	_, err := writeConfig(dir, "hbase-site.xml", "hbase-site.xml.tmpl", map[string]any{
		"Root": filepath.Join(shared, "hbase"), "ZooKeeper": filepath.Join(shared, "zookeeper"),
		"Tmp": filepath.Join(dir, "tmp"), "Distributed": n.Name != standalone,
		"Port": in.state.Port, "MasterPort": in.state.Port + 1, "RegionPort": regionPort,
		"RegionServers": max(in.state.Config.Nodes, 1),
	})
	log4j, lerr := writeConfig(dir, "log4j.properties", "log4j.properties", nil)
	class := "master.HMaster"
	switch n.Name {
	case standalone, master:
	case zookeeper:
		class = "zookeeper.HQuorumPeer"
	default:
		class = "regionserver.HRegionServer"
	}
	return command{
		flags: []string{"-Dlog4j.configuration=" + fileURL(log4j)},
		main:  "org.apache.hadoop.hbase." + class, args: []string{"start"},
	}, errors.Join(err, lerr)
}

// probeTable exists only during a probe.
const probeTable = "mailbench_probe"

// probeHBase creates a table, increments a row of it and drops the table. The master
// reports that it is initialized long before that works.
func probeHBase(ctx context.Context, _ *Instance, nodes []*Node) error {
	quorum := nodes[0].Address
	// gohbase would wait for a missing ZooKeeper forever.
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", quorum)
	if err != nil {
		return err
	}
	conn.Close()
	quiet := gohbase.Logger(slog.New(slog.DiscardHandler))
	// gohbase's admin client cannot be closed: its connection ends with this process, or with HBase.
	admin := gohbase.NewAdminClient(quorum, quiet)
	client := gohbase.NewClient(quorum, quiet, gohbase.RpcQueueSize(1))
	defer client.Close()
	// A master that may not be ready gets 3 s. gohbase doubles its pauses, up to seconds in which the master
	// becomes ready, and a new probe sends its request immediately. On a busy machine an answer takes longer,
	// so the bound grows with the youngest node's age.
	youngest := slices.MaxFunc(nodes, func(a, b *Node) int { return a.Process.Started.Compare(b.Process.Started) })
	ready, cancel := context.WithTimeout(ctx, max(3*time.Second, time.Since(youngest.Process.Started)/4))
	defer cancel()
	if err := servesRegions(ready, admin, nodes); err != nil {
		return err
	}
	list, err := hrpc.NewListTableNames(ready, hrpc.ListRegex(probeTable))
	if err != nil {
		return err
	}
	left, err := admin.ListTableNames(list)
	if err == nil && len(left) > 0 { // by a probe that was killed
		err = dropProbe(ctx, admin)
	}
	if err != nil {
		return err
	}
	families := map[string]map[string]string{"p": nil}
	if err := admin.CreateTable(hrpc.NewCreateTable(ctx, []byte(probeTable), families)); err != nil {
		return fmt.Errorf("create table %s: %w", probeTable, err)
	}
	increment, err := hrpc.NewIncStrSingle(ctx, probeTable, "k", "p", "q", 1)
	if err == nil {
		_, err = client.Increment(increment) // the region server reads the row and writes it
	}
	if err != nil {
		err = fmt.Errorf("write to table %s: %w", probeTable, err)
	}
	return errors.Join(err, dropProbe(ctx, admin))
}

// statusCall adds a context to gohbase's call.
type statusCall struct {
	*hrpc.ClusterStatus
	ctx context.Context
}

func (c statusCall) Context() context.Context { return c.ctx }

// servesRegions reads from the master whether every region server process has
// reported to it.
func servesRegions(ctx context.Context, admin gohbase.AdminClient, nodes []*Node) error {
	answer, err := admin.(gohbase.RPCClient).SendRPC(statusCall{hrpc.NewClusterStatus(), ctx})
	if err != nil {
		return fmt.Errorf("read the region servers of the master: %w", err)
	}
	// A server's start code is its start time in milliseconds. The master may still
	// list a killed server; its start code is older.
	since := make(map[string]int64)
	for _, live := range answer.(*pb.GetClusterStatusResponse).GetClusterStatus().GetLiveServers() {
		port := strconv.Itoa(int(live.GetServer().GetPort()))
		since[port] = max(since[port], int64(live.GetServer().GetStartCode()))
	}
	for _, n := range nodes {
		if n.Name == zookeeper || n.Name == master {
			continue
		}
		_, port, _ := net.SplitHostPort(n.Listens[len(n.Listens)-1])
		if since[port] < n.Process.Started.UnixMilli() {
			return fmt.Errorf("%s has not reported to the master", n.Name)
		}
	}
	return nil
}

// dropProbe drops the table. A process that was killed between disable and delete left it disabled.
func dropProbe(ctx context.Context, admin gohbase.AdminClient) error {
	disable := admin.DisableTable(hrpc.NewDisableTable(ctx, []byte(probeTable)))
	if err := admin.DeleteTable(hrpc.NewDeleteTable(ctx, []byte(probeTable))); err != nil {
		return fmt.Errorf("drop table %s: %w", probeTable, errors.Join(disable, err))
	}
	return nil
}
