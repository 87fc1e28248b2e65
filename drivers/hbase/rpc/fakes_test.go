package rpc

import (
	"context"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"google.golang.org/protobuf/proto"
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

// newFake returns a sender to a fake HBase.
func newFake(rpc gohbase.RPCClient, timeout time.Duration) *Sender {
	return &Sender{RPC: rpc, Timeout: timeout}
}
