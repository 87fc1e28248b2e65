package hbase

import (
	"context"
	"slices"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/mailbench/mailbench/drivers"
)

// slot sends calls to HBase for one goroutine, one call at a time. It keeps its
// call and the call's buffers for the next one.
type slot struct {
	rpc     gohbase.RPCClient
	batched bool // gohbase may put the call into one request with other calls
	timeout callTimeout
	call    *call
	tally   *tally // counts the calls of a traced session; else nil
	cost    drivers.CostCounter
	again   bool // the next call repeats one that HBase has refused
}

func newSlot(rpc gohbase.RPCClient, timeout time.Duration) *slot {
	return &slot{rpc: rpc, timeout: callTimeout{timeout: timeout}}
}

// request prepares the slot's call. The caller sets its request, response and
// region specifier.
func (sl *slot) request(method string, table, key []byte) *call {
	if sl.call == nil {
		sl.call = newCall()
	}
	sl.call.begin(method, table, key)
	return sl.call
}

// send sends the slot's call and waits for its answer, at most for the timeout.
// The slot drops a failed call with its buffers, because gohbase may still
// write to them.
func (sl *slot) send(ctx context.Context) error { return sl.sendAs(ctx, nil) }

// sendBatched sends a get, put or delete. If batching is on, gohbase may put it
// into one request with the calls of other goroutines.
func (sl *slot) sendBatched(ctx context.Context) error {
	if !sl.batched {
		return sl.sendAs(ctx, nil)
	}
	return sl.sendAs(ctx, batchable{sl.call, anyBatchable})
}

func (sl *slot) sendAs(ctx context.Context, as hrpc.Call) error {
	c := sl.call
	c.ctx, c.stop = sl.timeout.start(ctx)
	c.sent, c.answered, c.conn, c.block, c.sendings = false, false, nil, nil, 0
	c.scan.request.TrackScanMetrics = nil
	if sl.tally != nil || c.scan.metrics {
		c.scan.request.TrackScanMetrics = yes
	}
	sl.counts()
	if as == nil {
		as = c
	} else {
		c.sent = true // gohbase's own goroutine will send it
	}
	_, err := sl.rpc.SendRPC(as)
	if err == nil {
		sl.timeout.stop()
		sl.cost.Cost.Retries += max(0, c.sendings-1)
		if sl.tally != nil {
			sl.tally.count(c)
		}
		return nil
	}
	err = explain(ctx, c, err)
	sl.call = nil
	sl.timeout.end()
	return err
}

// counts counts a request that is about to be sent.
func (sl *slot) counts() {
	if sl.again {
		sl.cost.Cost.Retries++
	} else {
		sl.cost.Cost.Calls++
	}
}

// countBatch counts calls that were answered together: one request to each region server. The
// first was counted before it was sent.
func (sl *slot) countBatch(calls []*call) {
	sendings := int64(1)
	for i, c := range calls {
		sendings = max(sendings, c.sendings)
		if i > 0 && !slices.ContainsFunc(calls[:i], func(b *call) bool { return b.conn == c.conn }) {
			sl.cost.Cost.Calls++
		}
		if c.increments() {
			sl.cost.Cost.RowsExamined++
		}
	}
	sl.cost.Cost.Retries += sendings - 1
	if sl.tally != nil {
		sl.tally.countBatch(calls)
	}
}

// close frees the slot's timer and context.
func (sl *slot) close() { sl.timeout.end() }

// batchable is a call that gohbase may batch. gohbase recognises such calls by
// a method that only its own calls have.
type batchable struct {
	*call
	hrpc.Batchable
}

// anyBatchable provides that method. gohbase never sends this call.
var anyBatchable hrpc.Batchable = func() *hrpc.Get {
	g, err := hrpc.NewGet(context.Background(), nil, nil)
	if err != nil {
		panic(err) // only options can make NewGet fail, and there are none
	}
	return g
}()
