package hbase

import (
	"context"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
)

// line is one goroutine's way to HBase: one call at a time, with buffers that
// are kept from call to call.
type line struct {
	rpc     gohbase.RPCClient
	batched bool // gohbase may put the call into one request with others
	leash   leash
	call    *call
}

func newLine(rpc gohbase.RPCClient, timeout time.Duration) *line {
	return &line{rpc: rpc, leash: leash{timeout: timeout}}
}

// request readies the line's call. Its request, response and place are the
// caller's to set.
func (l *line) request(method string, table, key []byte) *call {
	if l.call == nil {
		l.call = newCall()
	}
	c := l.call
	c.method, c.table, c.key = method, table, key
	c.cells, c.once, c.place = nil, false, nil
	return c
}

// send sends the line's call and waits, at most for the timeout. A failed call
// is let go of with its buffers: gohbase may still write to it.
func (l *line) send(ctx context.Context) error { return l.sendAs(ctx, nil) }

// sendBatched is send of a get, put or delete that gohbase may put into one
// request with those of others, if it is set to.
func (l *line) sendBatched(ctx context.Context) error {
	if !l.batched {
		return l.sendAs(ctx, nil)
	}
	return l.sendAs(ctx, batchable{l.call, anyBatchable})
}

func (l *line) sendAs(ctx context.Context, as hrpc.Call) error {
	c := l.call
	c.ctx, c.stop = l.leash.hold(ctx)
	c.sent, c.answered, c.conn, c.block = false, false, nil, nil
	if as == nil {
		as = c
	} else {
		c.sent = true // gohbase's own goroutine will send it
	}
	_, err := l.rpc.SendRPC(as)
	if err == nil {
		l.leash.release()
		return nil
	}
	err = explain(ctx, c, err)
	l.call = nil
	l.leash.drop()
	return err
}

// close lets go of what the line holds.
func (l *line) close() { l.leash.drop() }

// batchable is a call that gohbase may batch: it asks for a method that only
// its own calls have.
type batchable struct {
	*call
	hrpc.Batchable
}

// anyBatchable lends that method; its call is never sent.
var anyBatchable hrpc.Batchable = func() *hrpc.Get {
	g, err := hrpc.NewGet(context.Background(), nil, nil)
	if err != nil {
		panic(err) // it has no options that could be wrong
	}
	return g
}()

// leash bounds each call of a line by the timeout: gohbase itself looks for
// regions for ever. Its context is used again for as long as calls succeed
// under the same parent, so that a call makes none.
type leash struct {
	timeout time.Duration
	parent  context.Context
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
}

// hold returns a context that ends with its parent, and after the timeout.
func (l *leash) hold(parent context.Context) (context.Context, context.CancelCauseFunc) {
	if l.ctx != nil && l.parent == parent && l.ctx.Err() == nil {
		l.timer.Reset(l.timeout)
		return l.ctx, l.cancel
	}
	l.drop()
	l.parent = parent
	l.ctx, l.cancel = context.WithCancelCause(parent)
	cancel := l.cancel
	l.timer = time.AfterFunc(l.timeout, func() { cancel(errTimeout) })
	return l.ctx, l.cancel
}

// release ends the call's time. Where it has just run out, the context is of
// no use any more.
func (l *leash) release() {
	if !l.timer.Stop() {
		l.drop()
	}
}

// drop ends the context.
func (l *leash) drop() {
	if l.ctx != nil {
		l.timer.Stop()
		l.cancel(nil)
	}
	l.parent, l.ctx, l.cancel, l.timer = nil, nil, nil, nil
}
