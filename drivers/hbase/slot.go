package hbase

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
)

// slot sends calls to HBase for one goroutine, one call at a time. It keeps its
// call and the call's buffers for the next one.
type slot struct {
	rpc     gohbase.RPCClient
	batched bool // gohbase may put the call into one request with other calls
	timeout time.Duration
	last    time.Time // when a call ends that is one of several attempts; else zero
	call    *call
	tally   *tally // counts the calls of a traced session; else nil
	cost    drivers.CostCounter
	again   bool // the next call repeats one that HBase has refused
}

func newSlot(rpc gohbase.RPCClient, timeout time.Duration) *slot {
	return &slot{rpc: rpc, timeout: timeout, call: newCall()}
}

// send sends the slot's call, which the caller has prepared, and waits for its answer, at most for the timeout. If
// batching is on, gohbase may put a get, put or delete into one request with the calls of other goroutines. The slot
// drops a failed call with its buffers, because gohbase may still write to them.
func (sl *slot) send(ctx context.Context) error {
	c := sl.call
	c.ctx, c.stop = sl.begin(ctx)
	defer c.stop(nil)
	var as hrpc.Call = c
	if c.sent = sl.batched && c.batchable; c.sent { // gohbase's own goroutine will send it
		as = batchable{c, anyBatchable}
	}
	c.answered, c.conn, c.block, c.sendings = false, nil, nil, 0
	_, err := sl.rpc.SendRPC(as)
	if err == nil {
		sl.cost.Cost.Retries += max(0, c.sendings-1)
		if sl.tally != nil {
			sl.tally.count(c)
		}
		return nil
	}
	err = explain(ctx, c, err)
	sl.call = newCall()
	return err
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

// begin counts a request that is about to be sent. It returns a context that ends after the timeout: gohbase
// itself would look for a region forever.
func (sl *slot) begin(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	if sl.again {
		sl.cost.Cost.Retries++
	} else {
		sl.cost.Cost.Calls++
	}
	timeout := sl.timeout
	if !sl.last.IsZero() {
		timeout = time.Until(sl.last)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(timeout, func() { cancel(errTimeout) })
	return ctx, func(cause error) {
		timer.Stop()
		cancel(cause)
	}
}

// batchable is a call that gohbase may batch. gohbase recognizes such calls by
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

// slots are the slots of one worker: one, and more for what a pattern runs in parallel.
type slots struct {
	cluster *cluster
	slot    *slot
	more    []*slot
}

// parallel returns n slots for parallel calls.
func (s *slots) parallel(n int) []*slot {
	for len(s.more) < n {
		sl := s.cluster.newSlot()
		sl.tally = s.slot.tally
		s.more = append(s.more, sl)
	}
	return s.more[:n]
}

// Take implements drivers.Session. It returns what calls have cost since the last Take, and forgets it.
func (s *slots) Take() drivers.Cost {
	c := s.slot.cost.Take()
	for _, sl := range s.more {
		own := sl.cost.Take()
		c.Add(&own)
	}
	return c
}

// call is one request to a region server or to the master. It implements gohbase's
// interface for calls: gohbase finds the region, sends the request and waits.
// gohbase's own calls allocate an object for each cell, and lack what this driver
// needs: several kinds of mutation at once, nonces, a limit on rows, conditions on
// several columns, table descriptors.
//
// A slot uses its call again and again. It drops a failed one, because gohbase may
// still hold it.
type call struct {
	ctx        context.Context
	method     string // of HBase's service
	table, key []byte // gohbase finds the region by them
	region     hrpc.RegionInfo
	request    proto.Message
	place      *pb.RegionSpecifier // part of the request: filled in when the region is known
	cells      []byte              // cells that follow the request, as HBase's KeyValueCodec writes them
	response   proto.Message
	block      []byte // cells that followed the response, in the same form
	result     chan hrpc.RPCResult

	// Requests and responses of the common methods, and room for cells.
	get      getCall
	scan     scanCall
	mutate   mutateCall
	cellsBuf []byte

	batchable bool                    // gohbase may put it into one request with other calls
	once      bool                    // it must not be sent twice, because it could take effect twice
	sent      bool                    // it was sent
	sendings  int64                   // how often gohbase has sent it
	answered  bool                    // a response arrived, not an exception
	conn      hrpc.RegionClient       // the connection it was last sent over
	stop      context.CancelCauseFunc // ends ctx
}

var _ hrpc.Call = (*call)(nil)

// errLost ends a call that must not be sent twice when its answer is lost.
var errLost = errors.New("the region server's answer was lost")

var regionName = pb.RegionSpecifier_REGION_NAME.Enum()

func newCall() *call { return &call{result: make(chan hrpc.RPCResult, 1)} }

// begin prepares the call for a request to the region of a row.
func (c *call) begin(method string, table, key []byte) {
	c.method, c.table, c.key = method, table, key
	c.cells, c.once, c.batchable, c.place = nil, false, false, nil
}

// Table implements hrpc.Call, as do the methods below.
func (c *call) Table() []byte { return c.table }

// Name returns the method of HBase's service.
func (c *call) Name() string { return c.method }

// Description returns what traces and metrics call it.
func (c *call) Description() string { return c.method }

// Key returns the row that the call is sent to.
func (c *call) Key() []byte { return c.key }

// Context returns what ends the call.
func (c *call) Context() context.Context { return c.ctx }

// Region returns the region that the call is sent to.
func (c *call) Region() hrpc.RegionInfo { return c.region }

// SetRegion is called each time before gohbase sends the call. It ends a call that
// must not take effect twice if the server may have executed it: a response could
// not be read, or the connection has failed. If the connection still works, the
// server has refused the call, and gohbase may send it again.
func (c *call) SetRegion(r hrpc.RegionInfo) {
	if c.once && c.sent && (c.answered || c.conn == nil || c.conn.Dial(c.ctx) != nil) {
		c.stop(errLost)
	}
	c.region, c.conn = r, r.Client()
}

// ToProto returns the request for the region.
func (c *call) ToProto() proto.Message {
	c.sent = true
	c.sendings++
	if c.place != nil {
		c.place.Type, c.place.Value = regionName, c.region.Name()
	}
	return c.request
}

// CellBlocksEnabled reports whether cells follow the request.
func (c *call) CellBlocksEnabled() bool { return len(c.cells) > 0 }

// SerializeCellBlocks returns the request and appends the cells that follow it.
func (c *call) SerializeCellBlocks(blocks [][]byte) (proto.Message, [][]byte, uint32) {
	return c.ToProto(), append(blocks, c.cells), uint32(len(c.cells))
}

// NewResponse returns what the response is read into.
func (c *call) NewResponse() proto.Message {
	c.answered = true
	proto.Reset(c.response)
	return c.response
}

// DeserializeCellBlocks keeps the cells that followed the response. It need not copy
// them, because gohbase makes a new buffer for each response. If calls are batched,
// the cells of other calls follow in the same buffer.
func (c *call) DeserializeCellBlocks(response proto.Message, b []byte) (uint32, error) {
	size := len(b)
	var result *pb.Result
	switch r := response.(type) {
	case *pb.GetResponse:
		result = r.Result
	case *pb.MutateResponse:
		result = r.Result
	default:
		c.block = b
		return uint32(size), nil
	}
	size, err := sizeOfCells(b, int(result.GetAssociatedCellCount()))
	if err != nil {
		return 0, err
	}
	c.block = b[:size:size]
	return uint32(size), nil
}

// ResultChan returns where gohbase puts the outcome.
func (c *call) ResultChan() chan hrpc.RPCResult { return c.result }

// The first and the longest pause before a change of one row is sent again. gohbase, too,
// begins with 16 ms when it sends other calls again.
const (
	firstPause   = 16 * time.Millisecond
	longestPause = time.Second
)

// backoff spaces out the attempts of one change that HBase refuses for now. All of them,
// and the pauses between, share the timeout of one call.
type backoff struct {
	deadline time.Time
	pause    time.Duration
	attempts int
}

// wait pauses after a refused attempt. The pause doubles each time, and chance takes off up
// to a half of it, so that refused clients do not come back all at once. If no time is left
// for another attempt, wait returns the refusal, which says that nothing was applied.
func (b *backoff) wait(ctx context.Context, refused *javaError) error {
	b.attempts++
	b.pause = min(max(2*b.pause, firstPause), longestPause)
	pause := b.pause/2 + rand.N(b.pause/2)
	if time.Until(b.deadline) <= pause {
		return fmt.Errorf("%w (rejected %d times, until the timeout)", refused, b.attempts)
	}
	return sleep(ctx, pause)
}
