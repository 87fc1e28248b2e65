package hbase

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// recorder counts the scanners that are opened, and those that are closed by a
// call, and writes down what is sent.
type recorder struct {
	gohbase.RPCClient
	opened, closed atomic.Int64
	sent           []string // methods; "3 at once" is a multi of three rows
	uncached       int      // scanners that leave the block cache alone
	conditions     int      // calls with a condition
}

func (r *recorder) SendRPC(c hrpc.Call) (proto.Message, error) {
	if own, ok := c.(*call); ok && own.method == "Scan" {
		switch request := own.request.(*pb.ScanRequest); {
		case request.GetCloseScanner():
			r.closed.Add(1)
		case request.ScannerId == nil:
			r.opened.Add(1)
			if request.Scan.CacheBlocks != nil && !request.Scan.GetCacheBlocks() {
				r.uncached++
			}
		}
	}
	m, err := r.RPCClient.SendRPC(c)
	if own, ok := c.(*call); ok {
		r.sent = append(r.sent, own.method)
		if request, ok := own.request.(*pb.MutateRequest); ok && request.Condition != nil {
			r.conditions++
		}
	}
	return m, err
}

// batches is a client whose multis a recorder writes down.
type batches struct {
	gohbase.Client
	*recorder
}

func (b batches) SendBatch(ctx context.Context, calls []hrpc.Call) ([]hrpc.RPCResult, bool) {
	b.sent = append(b.sent, fmt.Sprint(len(calls), " at once"))
	return b.Client.SendBatch(ctx, calls)
}

// fakeRegion is a region of a table on a fake server.
type fakeRegion struct {
	hrpc.RegionInfo
	first, last []byte
	client      hrpc.RegionClient
}

func (r *fakeRegion) Name() []byte              { return []byte("region") }
func (r *fakeRegion) StartKey() []byte          { return r.first }
func (r *fakeRegion) StopKey() []byte           { return r.last }
func (r *fakeRegion) Client() hrpc.RegionClient { return r.client }

// fakeConn is a connection to a region server that is whole or has failed.
type fakeConn struct {
	hrpc.RegionClient
	failed error
}

func (c *fakeConn) Dial(context.Context) error { return c.failed }

// sendFunc answers a call in place of HBase.
type sendFunc func(c *call) error

func (f sendFunc) SendRPC(c hrpc.Call) (proto.Message, error) {
	return nil, f(c.(*call))
}

// newFake returns a sender to a fake HBase.
func newFake(rpc gohbase.RPCClient, timeout time.Duration) *sender {
	return &sender{rpc: rpc, timeout: timeout}
}
