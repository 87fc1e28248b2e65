package launch

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// hbase runs as one process, or as ZooKeeper, master and region servers. The
// ports from the first up are ZooKeeper's, the master's and the region servers'.
type hbase struct{}

// The names of HBase's nodes other than region servers. standalone is all of HBase in
// one process.
const (
	standalone = "hbase"
	zookeeper  = "zookeeper"
	master     = "master"
)

func (hbase) facts() Facts {
	return Facts{
		Name: "hbase", Port: 2181, Unit: "region server", MaxNodes: 2,
		Nodes:   "HBase region servers in processes of their own; 0 is one process for all of HBase",
		version: "2.6.4", sums: sums("hbase"), download: "117 MB", protocol: "ZooKeeper",
		heap: 1024 * mib, overhead: 200 * mib, // with 512 MiB it ran out of memory under 560 MB of mail
		// HBase closes its regions in a second or two. A standalone HBase then
		// tries for 20 s to reach its ZooKeeper, which has already stopped.
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

func (hbase) contact(nodes []Node) []string { return []string{nodes[0].Address} }

func (hbase) command(in *Instance, n *Node) (command, error) {
	dir, shared := in.nodeDir(n), filepath.Join(in.dir, sharedDir)
	_, regionPort, err := net.SplitHostPort(n.Listens[len(n.Listens)-1])
	if err != nil {
		return command{}, err
	}
	_, err = writeConfig(dir, "hbase-site.xml", "hbase-site.xml.tmpl", map[string]any{
		"Root": filepath.Join(shared, "hbase"), "ZooKeeper": filepath.Join(shared, "zookeeper"),
		"Tmp": filepath.Join(dir, "tmp"), "Distributed": n.Name != standalone,
		"Port": in.state.Port, "MasterPort": in.state.Port + 1, "RegionPort": regionPort,
		"RegionServers": max(in.state.Count, 1),
	})
	if err != nil {
		return command{}, err
	}
	// The info port tells results the log and the collector. It wants the folder of its pages, which no
	// jar has; what is asked needs none of them.
	if err := os.MkdirAll(filepath.Join(dir, "hbase-webapps", "regionserver"), 0o700); err != nil {
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
