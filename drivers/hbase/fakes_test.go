package hbase

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers/hbase/rpc"
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
	if own, ok := c.(*rpc.ScanCall); ok {
		switch request := own.Request; {
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
	r.sent = append(r.sent, c.Name())
	if own, ok := c.(*rpc.Call); ok {
		if request, ok := own.Request.(*pb.MutateRequest); ok && request.Condition != nil {
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
