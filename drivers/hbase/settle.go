package hbase

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"github.com/tsuna/gohbase/region"
	"google.golang.org/protobuf/proto"
)

// settleInterval is how often Settle reads the state of compactions.
const settleInterval = 200 * time.Millisecond

// fleet are the region servers that have regions of the schemas applied to a store.
type fleet struct {
	*cluster
	compiler            *compiler
	info                sync.Once // reads the two settings of the servers
	serverWAL, serverGC string
}

// settle flushes the regions of the applied schemas. Then it waits until none of them has a
// compaction running or queued, and until the master knows their sizes. It does not wait for
// other tables of the cluster or for replicas.
func (f *fleet) settle(ctx context.Context) error {
	return f.everywhere(ctx, func(servers []server) error { return f.flushAll(ctx, servers) })
}

// everywhere calls do with the servers of our regions, and waits for their next reports. If a
// region has moved, it begins again: only those reports have the region's place.
func (f *fleet) everywhere(ctx context.Context, do func([]server) error) error {
	servers, all, err := f.servers(ctx)
	if err == nil && !all { // some tables are younger than the last reports
		if err = f.awaitReports(ctx); err == nil {
			servers, _, err = f.servers(ctx)
		}
	}
	for {
		if err == nil {
			err = do(servers)
		}
		again := isMoved(err)
		if err != nil && !again {
			return err
		}
		if err = f.awaitReports(ctx); err != nil || !again {
			return err
		}
		servers, _, err = f.servers(ctx)
	}
}

// flushAll makes the servers write their regions' memory to files, and waits until they
// compact none of them.
func (f *fleet) flushAll(ctx context.Context, servers []server) error {
	for _, server := range servers {
		if err := server.flush(ctx, f.timeout); err != nil {
			return err
		}
	}
	// For a moment between two compactions none is queued, so two polls in a row
	// must find none.
	for quiet := 0; quiet < 2; quiet++ {
		for _, server := range servers {
			busy, err := server.compacting(ctx, f.timeout)
			if err != nil {
				return err
			}
			if busy {
				quiet = -1
			}
		}
		if err := sleep(ctx, settleInterval); err != nil {
			return err
		}
	}
	return nil
}

// awaitReports waits until each live region server has sent the master one more report.
// Servers report every three seconds by default, and Observe returns what they reported.
func (f *fleet) awaitReports(ctx context.Context) error {
	before, err := f.reportTimes(ctx)
	if err != nil {
		return err
	}
	for {
		now, err := f.reportTimes(ctx)
		if err != nil {
			return err
		}
		maps.DeleteFunc(before, func(server string, at uint64) bool {
			later, alive := now[server]
			return !alive || later > at
		})
		if len(before) == 0 {
			return nil
		}
		if err := sleep(ctx, settleInterval); err != nil {
			return err
		}
	}
}

// reportTimes returns when each region server last reported, by its own clock.
func (f *fleet) reportTimes(ctx context.Context) (map[string]uint64, error) {
	status, err := f.status(ctx)
	if err != nil {
		return nil, err
	}
	at := make(map[string]uint64)
	for _, live := range status.GetLiveServers() {
		at[live.GetServer().String()] = live.GetServerLoad().GetReportEndTime()
	}
	return at, nil
}

// server is a region server that has some of our regions: those of the schemas applied to this
// store.
type server struct {
	addr    string
	user    string
	regions [][]byte // names of our regions
}

// servers returns the region servers with our regions, as they last reported them. all is true
// if the reports have regions of all our tables.
func (f *fleet) servers(ctx context.Context) (found []server, all bool, err error) {
	status, err := f.status(ctx)
	if err != nil {
		return nil, false, err
	}
	ours := f.compiler.names()
	missing := maps.Clone(ours)
	for _, live := range status.GetLiveServers() {
		at := live.GetServer()
		sv := server{user: f.user, addr: net.JoinHostPort(at.GetHostName(), strconv.Itoa(int(at.GetPort())))}
		for _, r := range live.GetServerLoad().GetRegionLoads() {
			name := r.GetRegionSpecifier().GetValue()
			if table := tableOf(string(name)); ours[table] {
				sv.regions = append(sv.regions, name)
				delete(missing, table)
			}
		}
		if len(sv.regions) > 0 {
			found = append(found, sv)
		}
	}
	return found, len(missing) == 0, nil
}

// flush makes the server write our regions' memory to files.
func (sv *server) flush(ctx context.Context, timeout time.Duration) error {
	// gohbase's copy of the protocol has no messages of FlushRegion. A request that only
	// names a region looks the same for CompactRegion, and flush does not read the answer.
	return sv.each(ctx, timeout, "FlushRegion",
		func(r *pb.RegionSpecifier) proto.Message { return &pb.CompactRegionRequest{Region: r} },
		&pb.CompactRegionResponse{}, func() {})
}

// compacting reports whether a compaction of one of our regions is under way or queued.
func (sv *server) compacting(ctx context.Context, timeout time.Duration) (busy bool, err error) {
	var answer pb.GetRegionInfoResponse
	err = sv.each(ctx, timeout, "GetRegionInfo",
		func(r *pb.RegionSpecifier) proto.Message {
			return &pb.GetRegionInfoRequest{Region: r, CompactionState: yes}
		},
		&answer, func() { busy = busy || answer.GetCompactionState() != pb.GetRegionInfoResponse_NONE })
	return busy, err
}

// adminService is the service of region servers for flushes and compactions.
const adminService = region.ClientType("AdminService")

// each sends a request for each of our regions, over a connection of its own:
// gohbase's client knows only one service of region servers.
func (sv *server) each(
	ctx context.Context, timeout time.Duration, method string,
	request func(*pb.RegionSpecifier) proto.Message, answer proto.Message, got func(),
) error {
	conn := region.NewClient(sv.addr, adminService, 1, 0, sv.user, timeout, nil, nil, quiet)
	if err := conn.Dial(ctx); err != nil {
		return fmt.Errorf("region server %s: %w", sv.addr, err)
	}
	defer conn.Close()
	s := &sender{rpc: onConn{conn}, timeout: timeout}
	for _, name := range sv.regions {
		c := newCall(method, nil, nil, request(&pb.RegionSpecifier{Type: regionName, Value: name}), answer)
		if err := s.send(ctx, c); err != nil {
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
