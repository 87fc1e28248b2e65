package rpc

import (
	"context"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
)

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
type sendFunc func(c *Call) error

func (f sendFunc) SendRPC(c hrpc.Call) (proto.Message, error) {
	return nil, f(c.(*Call))
}

// scanFunc answers a request of a scan in place of HBase.
type scanFunc func(c *ScanCall) (*pb.ScanResponse, error)

func (f scanFunc) SendRPC(c hrpc.Call) (proto.Message, error) { return f(c.(*ScanCall)) }

// newFake returns a sender to a fake HBase.
func newFake(rpc gohbase.RPCClient, timeout time.Duration) *Sender {
	return &Sender{RPC: rpc, Timeout: timeout, Counts: new(drivers.Meter)}
}
