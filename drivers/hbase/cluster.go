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
	"sync/atomic"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/plan"
)

// cluster is the connection to an HBase: to its region servers and to its master.
type cluster struct {
	plan.Gate
	*settings
	version string
	client  gohbase.Client
	regions gohbase.RPCClient // client, as the interface that sends our own calls
	master  gohbase.RPCClient

	masterConn atomic.Pointer[hrpc.RegionClient] // the last connection to the master
}

// quiet discards gohbase's log. Failures are returned as errors.
var quiet = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))

// connect connects to an HBase. It bounds the time by the setting connect_timeout.
func connect(ctx context.Context, set *settings) (*cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, set.connectTimeout)
	defer cancel()
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	var refused error // by ZooKeeper's nodes: gohbase itself would wait for one forever
	if !slices.ContainsFunc(set.contact, func(addr string) bool {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			conn.Close()
		}
		refused = errors.Join(refused, err)
		return err == nil
	}) {
		return nil, fmt.Errorf("ZooKeeper of HBase at %s: %w: %w", strings.Join(set.contact, ", "), drivers.ErrUnreachable,
			refused)
	}
	quorum := strings.Join(set.contact, ",")
	options := set.client(refuse)
	c := &cluster{Gate: plan.Gate{Engine: "HBase"}, settings: set, client: gohbase.NewClient(quorum, options...)}
	c.regions = c.client.(gohbase.RPCClient)
	c.master = gohbase.NewAdminClient(quorum, options...).(gohbase.RPCClient)
	status, err := c.status(ctx)
	if err != nil {
		c.close()
		var foreign *rpc.ForeignError
		if errors.As(context.Cause(ctx), &foreign) {
			err = foreign
		} else if late := errors.Is(err, rpc.ErrTimeout); late || errors.Is(err, context.DeadlineExceeded) {
			within, setting := set.connectTimeout, "connect_timeout"
			if late {
				within, setting = set.timeout, "timeout"
			}
			err = fmt.Errorf("no answer within %v (setting %s): this is no ZooKeeper, or no master of HBase is registered in it "+
				"at %s (setting zk_root), or the master is not ready", within, setting, set.zkRoot)
		}
		return nil, fmt.Errorf("HBase's master, by ZooKeeper at %s: %w: %w", quorum, drivers.ErrUnreachable, err)
	}
	c.version = "hbase " + status.GetHbaseVersion().GetVersion()
	return c, nil
}

// client returns the options of gohbase's clients. foreign is called when something else than ZooKeeper or
// HBase answers.
func (s *settings) client(foreign func(error)) []gohbase.Option {
	return []gohbase.Option{
		gohbase.Logger(quiet), gohbase.ZookeeperRoot(s.zkRoot), gohbase.RpcQueueSize(1), gohbase.EffectiveUser(s.user),
		// gohbase must not close a slow server's connection before the calls on
		// it reach their own timeout.
		gohbase.RegionReadTimeout(s.timeout + time.Second),
		gohbase.ZooKeeperDialer(rpc.ZooKeeperDialer(foreign)),
		gohbase.RegionDialer(rpc.RegionDialer(foreign)),
	}
}

// close waits for the calls under way. gohbase cannot close its client of the master, so close
// closes that client's connection.
func (c *cluster) close() {
	if !c.Gate.Close() {
		return
	}
	c.client.Close()
	if conn := c.masterConn.Load(); conn != nil {
		(*conn).Close()
	}
}

func (c *cluster) newSender(counts *drivers.Meter) *rpc.Sender {
	return &rpc.Sender{
		Client: c.client, RPC: c.regions, Timeout: c.timeout, WAL: &c.wal, Counts: counts,
	}
}

// askMaster sends a request to the master.
func (c *cluster) askMaster(ctx context.Context, method string, request, answer proto.Message) error {
	call := rpc.NewCall(method, nil, nil, request, answer)
	err := (&rpc.Sender{RPC: c.master, Timeout: c.timeout}).Send(ctx, call)
	if conn := call.Conn(); conn != nil {
		c.masterConn.Store(&conn)
	}
	return err
}

// run sends a request that begins a procedure of the master, and waits until the master has completed it.
func (c *cluster) run(ctx context.Context, method string, request proto.Message, answer interface {
	proto.Message
	GetProcId() uint64
},
) error {
	if err := c.askMaster(ctx, method, request, answer); err != nil {
		return err
	}
	id := answer.GetProcId()
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	for {
		var p pb.GetProcedureResultResponse
		if err := c.askMaster(ctx, "getProcedureResult", &pb.GetProcedureResultRequest{ProcId: &id}, &p); err != nil {
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
func (c *cluster) status(ctx context.Context) (*pb.ClusterStatus, error) {
	var answer pb.GetClusterStatusResponse
	err := c.askMaster(ctx, "GetClusterStatus", &pb.GetClusterStatusRequest{}, &answer)
	return answer.GetClusterStatus(), err
}

const (
	// pollInterval is the time between two polls of the master.
	pollInterval = 20 * time.Millisecond
	// tableTimeout bounds the creation or removal of one table.
	tableTimeout = 2 * time.Minute
)
