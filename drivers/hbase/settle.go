package hbase

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"github.com/tsuna/gohbase/region"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
)

// settleInterval is how often Settle reads the state of compactions.
const settleInterval = 200 * time.Millisecond

// Settle implements drivers.Settler. It flushes the regions of the applied schemas. Then it waits until none of them
// has a compaction running or queued, and until the master knows their sizes. It does not wait for
// other tables of the cluster or for replicas.
func (s *Store) Settle(ctx context.Context) error {
	return s.During("settle", func() error {
		return s.everywhere(ctx, func(servers []server) error { return flushAll(ctx, servers) })
	})
}

// everywhere calls do with the servers of our regions, and waits for their next reports. If a
// region has moved, it begins again: only those reports have the region's place.
func (s *Store) everywhere(ctx context.Context, do func([]server) error) error {
	servers, all, err := s.servers(ctx)
	if err == nil && !all { // some tables are younger than the last reports
		if err = s.awaitReports(ctx); err == nil {
			servers, _, err = s.servers(ctx)
		}
	}
	for {
		if err == nil {
			err = do(servers)
		}
		again := rpc.Moved(err)
		if err != nil && !again {
			return err
		}
		if err = s.awaitReports(ctx); err != nil || !again {
			return err
		}
		servers, _, err = s.servers(ctx)
	}
}

// flushAll makes the servers write their regions' memory to files, and waits until they
// compact none of them.
func flushAll(ctx context.Context, servers []server) error {
	for _, server := range servers {
		// gohbase's copy of the protocol has no messages of FlushRegion. A request that only
		// names a region looks the same for CompactRegion, and nothing reads the answer.
		err := server.each(ctx, "FlushRegion",
			func(r *pb.RegionSpecifier) proto.Message { return &pb.CompactRegionRequest{Region: r} },
			&pb.CompactRegionResponse{}, func() {})
		if err != nil {
			return err
		}
	}
	// For a moment between two compactions none is queued, so two polls in a row
	// must find none.
	for quiet := 0; quiet < 2; quiet++ {
		for _, server := range servers {
			busy, err := server.compacting(ctx)
			if err != nil {
				return err
			}
			if busy {
				quiet = -1
			}
		}
		if err := drivers.Pause(ctx, settleInterval); err != nil {
			return err
		}
	}
	return nil
}

// awaitReports waits until each live region server has sent the master one more report.
// Servers report every three seconds by default, and Observe returns what they reported.
func (s *Store) awaitReports(ctx context.Context) error {
	before, _, err := s.servers(ctx)
	for err == nil {
		now, _, failed := s.servers(ctx)
		if failed != nil || !slices.ContainsFunc(now, func(n server) bool {
			return slices.ContainsFunc(before, func(b server) bool { return b.name == n.name && b.reported >= n.reported })
		}) {
			return failed
		}
		err = drivers.Pause(ctx, settleInterval)
	}
	return err
}

// server is a live region server, as it last reported to the master.
type server struct {
	*settings
	name      string // with the time of its start
	host      string
	addr      string
	info      uint32   // its info port
	heap      uint32   // in MiB
	reported  uint64   // when, by its own clock
	regions   [][]byte // names of our regions: those of the schemas applied to this store
	diskBytes int64    // of our regions; HBase reports whole MiB
}

// servers returns the live region servers, as they last reported them. all is true
// if the reports have regions of all our tables.
func (s *Store) servers(ctx context.Context) (live []server, all bool, err error) {
	status, err := s.status(ctx)
	if err != nil {
		return nil, false, err
	}
	ours := make(map[string]bool) // names of HBase tables
	for t := range s.tables.All() {
		ours[string(t.hbase)] = true
	}
	missing := maps.Clone(ours)
	for _, sv := range status.GetLiveServers() {
		at, load := sv.GetServer(), sv.GetServerLoad()
		sv := server{
			settings: s.settings, name: at.String(), addr: net.JoinHostPort(at.GetHostName(), strconv.Itoa(int(at.GetPort()))),
			host: at.GetHostName(), info: load.GetInfoServerPort(),
			heap: load.GetMaxHeap_MB(), reported: load.GetReportEndTime(),
		}
		for _, r := range load.GetRegionLoads() {
			name := r.GetRegionSpecifier().GetValue()
			if table := tableOf(string(name)); ours[table] {
				sv.regions = append(sv.regions, name)
				sv.diskBytes += int64(r.GetStorefileSize_MB()) << 20
				delete(missing, table)
			}
		}
		live = append(live, sv)
	}
	return live, len(missing) == 0, nil
}

// compacting reports whether a compaction of one of our regions is under way or queued.
func (sv *server) compacting(ctx context.Context) (busy bool, err error) {
	var answer pb.GetRegionInfoResponse
	err = sv.each(ctx, "GetRegionInfo",
		func(r *pb.RegionSpecifier) proto.Message {
			return &pb.GetRegionInfoRequest{Region: r, CompactionState: proto.Bool(true)}
		},
		&answer, func() { busy = busy || answer.GetCompactionState() != pb.GetRegionInfoResponse_NONE })
	return busy, err
}

// adminService is the service of region servers for flushes and compactions.
const adminService = region.ClientType("AdminService")

// each sends a request for each of our regions, over a connection of its own:
// gohbase's client knows only one service of region servers.
func (sv *server) each(
	ctx context.Context, method string, request func(*pb.RegionSpecifier) proto.Message, answer proto.Message, got func(),
) error {
	if len(sv.regions) == 0 {
		return nil
	}
	conn := region.NewClient(sv.addr, adminService, 1, 0, sv.user, sv.timeout, nil, nil, quiet)
	if err := conn.Dial(ctx); err != nil {
		return fmt.Errorf("region server %s: %w", sv.addr, err)
	}
	defer conn.Close()
	s := &rpc.Sender{RPC: onConn{conn}, Timeout: sv.timeout}
	for _, name := range sv.regions {
		c := rpc.NewCall(method, nil, nil, request(&pb.RegionSpecifier{Type: rpc.RegionName, Value: name}), answer)
		if err := s.Send(ctx, c); err != nil {
			return fmt.Errorf("region server %s: %s: %w", sv.addr, method, err)
		}
		got()
	}
	return nil
}

// onConn sends calls over one connection.
type onConn struct{ conn hrpc.RegionClient }

// SendRPC implements gohbase.RPCClient.
func (o onConn) SendRPC(c hrpc.Call) (proto.Message, error) {
	o.conn.QueueRPC(c)
	select {
	case r := <-c.ResultChan():
		return r.Msg, r.Error
	case <-c.Context().Done():
		return nil, c.Context().Err()
	}
}

// tableOf returns the HBase table of a region. The region's name begins with that of the table.
func tableOf(region string) string {
	table, _, _ := strings.Cut(region, ",")
	return table
}
