package hbase

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"github.com/tsuna/gohbase/region"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
)

// quiet discards gohbase's log. Failures are returned as errors.
var quiet = slog.New(slog.DiscardHandler)

// client is gohbase's client of region servers.
type client interface {
	gohbase.Client
	gohbase.RPCClient
}

// connect connects to an HBase. It bounds the time by the setting connect_timeout.
func (s *Store) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.connectTimeout)
	defer cancel()
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	var refused error // by ZooKeeper's nodes: gohbase itself would wait for one forever
	if !slices.ContainsFunc(s.contact, func(addr string) bool {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			conn.Close()
		}
		refused = errors.Join(refused, err)
		return err == nil
	}) {
		return drivers.Unreachable(fmt.Errorf("ZooKeeper of HBase at %s: %w", strings.Join(s.contact, ", "), refused))
	}
	quorum := strings.Join(s.contact, ",")
	options := s.clientOptions(refuse)
	s.regions = gohbase.NewClient(quorum, options...).(client)
	s.master = gohbase.NewAdminClient(quorum, options...).(gohbase.RPCClient)
	status, err := s.status(ctx)
	if err != nil {
		s.Close()
		var foreign *rpc.ForeignError
		if errors.As(context.Cause(ctx), &foreign) {
			err = foreign
		} else if late := errors.Is(err, rpc.ErrTimeout); late || errors.Is(err, context.DeadlineExceeded) {
			within, setting := s.connectTimeout, "connect_timeout"
			if late {
				within, setting = s.timeout, "timeout"
			}
			err = fmt.Errorf("no answer within %v (setting %s): this is no ZooKeeper, or no master of HBase is registered in it "+
				"at %s (setting zk_root), or the master is not ready", within, setting, s.zkRoot)
		}
		return drivers.Unreachable(fmt.Errorf("HBase's master, by ZooKeeper at %s: %w", quorum, err))
	}
	s.version = "hbase " + status.GetHbaseVersion().GetVersion()
	return nil
}

// clientOptions returns the options of gohbase's clients. foreign is called when something else than ZooKeeper or
// HBase answers.
func (s *settings) clientOptions(foreign func(error)) []gohbase.Option {
	return []gohbase.Option{
		gohbase.Logger(quiet), gohbase.ZookeeperRoot(s.zkRoot), gohbase.RpcQueueSize(1), gohbase.EffectiveUser(s.user),
		// gohbase must not close a slow server's connection before the calls on
		// it reach their own timeout.
		gohbase.RegionReadTimeout(s.timeout + time.Second),
		gohbase.ZooKeeperDialer(rpc.ZooKeeperDialer(foreign)),
		gohbase.RegionDialer(rpc.RegionDialer(foreign)),
	}
}

// Close implements drivers.Store. It waits for the calls under way, which all end within the
// timeout of a call. A call made from within a yield is refused. gohbase cannot close its client
// of the master, so Close closes that client's connection.
func (s *Store) Close() error {
	if !s.Gate.Close() {
		return nil
	}
	s.regions.Close()
	if conn := s.masterConn.Load(); conn != nil {
		(*conn).Close()
	}
	return nil
}

func (s *Store) newSender(counts *drivers.Meter) *rpc.Sender {
	return &rpc.Sender{
		Client: s.regions, RPC: s.regions, Timeout: s.timeout, WAL: &s.wal, Counts: counts,
	}
}

// askMaster sends a request to the master.
func (s *Store) askMaster(ctx context.Context, method string, request, answer proto.Message) error {
	call := rpc.NewCall(method, request, answer)
	err := (&rpc.Sender{RPC: s.master, Timeout: s.timeout}).Send(ctx, call)
	if conn := call.Conn(); conn != nil {
		s.masterConn.Store(&conn)
	}
	return err
}

// run sends a request that begins a procedure of the master, and waits until the master has completed it.
func (s *Store) run(ctx context.Context, method string, request proto.Message, answer interface {
	proto.Message
	GetProcId() uint64
},
) error {
	if err := s.askMaster(ctx, method, request, answer); err != nil {
		return err
	}
	id := answer.GetProcId()
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	for {
		var p pb.GetProcedureResultResponse
		if err := s.askMaster(ctx, "getProcedureResult", &pb.GetProcedureResultRequest{ProcId: &id}, &p); err != nil {
			return err
		}
		if p.GetState() != pb.GetProcedureResultResponse_RUNNING {
			if e := p.GetException().GetGenericException(); e != nil {
				return rpc.NewException(e.GetClassName(), e.GetMessage())
			}
			return nil
		}
		if err := drivers.Pause(ctx, pollInterval); err != nil {
			return err
		}
	}
}

// status reads the cluster's status from the master.
func (s *Store) status(ctx context.Context) (*pb.ClusterStatus, error) {
	var answer pb.GetClusterStatusResponse
	err := s.askMaster(ctx, "GetClusterStatus", &pb.GetClusterStatusRequest{}, &answer)
	return answer.GetClusterStatus(), err
}

const (
	// pollInterval is the time between two polls of the master.
	pollInterval = 20 * time.Millisecond
	// tableTimeout bounds the creation or removal of one table.
	tableTimeout = 2 * time.Minute
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
	for first := true; ; first = false {
		servers, all, err := s.servers(ctx)
		again := err == nil && first && !all // some tables are younger than the last reports
		if err == nil && !again {
			err = do(servers)
			again = rpc.Moved(err)
		}
		if err != nil && !again {
			return err
		}
		if err := s.awaitReports(ctx); err != nil || !again {
			return err
		}
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
	addr      string
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
			heap: load.GetMaxHeap_MB(), reported: load.GetReportEndTime(),
		}
		for _, r := range load.GetRegionLoads() {
			name := r.GetRegionSpecifier().GetValue()
			if table, _, _ := strings.Cut(string(name), ","); ours[table] { // a region's name begins with that of its table
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
		c := rpc.NewCall(method, request(&pb.RegionSpecifier{Type: rpc.RegionName, Value: name}), answer)
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
