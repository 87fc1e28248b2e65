package hbase

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
)

// quiet discards gohbase's log. Failures are returned as errors.
var quiet = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))

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
	s.client = gohbase.NewClient(quorum, options...)
	s.regions = s.client.(gohbase.RPCClient)
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
	s.client.Close()
	if conn := s.masterConn.Load(); conn != nil {
		(*conn).Close()
	}
	return nil
}

func (s *Store) newSender(counts *drivers.Meter) *rpc.Sender {
	return &rpc.Sender{
		Client: s.client, RPC: s.regions, Timeout: s.timeout, WAL: &s.wal, Counts: counts,
	}
}

// askMaster sends a request to the master.
func (s *Store) askMaster(ctx context.Context, method string, request, answer proto.Message) error {
	call := rpc.NewCall(method, nil, nil, request, answer)
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
