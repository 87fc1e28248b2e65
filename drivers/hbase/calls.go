package hbase

import (
	"context"
	"errors"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

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

	once     bool                    // it must not be sent twice, because it could take effect twice
	sent     bool                    // it was sent
	sendings int64                   // how often gohbase has sent it
	answered bool                    // a response arrived, not an exception
	conn     hrpc.RegionClient       // the connection it was last sent over
	stop     context.CancelCauseFunc // ends ctx
}

var _ hrpc.Call = (*call)(nil)

// errLost ends a call that must not be sent twice when its answer is lost.
var errLost = errors.New("the region server's answer was lost")

var regionName = pb.RegionSpecifier_REGION_NAME.Enum()

func newCall() *call { return &call{result: make(chan hrpc.RPCResult, 1)} }

// begin prepares the call for a request to the region of a row.
func (c *call) begin(method string, table, key []byte) {
	c.method, c.table, c.key = method, table, key
	c.cells, c.once, c.place = nil, false, nil
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

// SerializeCellBlocks returns the request and appends the cells that follow it.
func (c *call) SerializeCellBlocks(blocks [][]byte) (proto.Message, [][]byte, uint32) {
	if len(c.cells) > 0 {
		blocks = append(blocks, c.cells)
	}
	return c.ToProto(), blocks, uint32(len(c.cells))
}

// CellBlocksEnabled reports that cells follow their request.
func (c *call) CellBlocksEnabled() bool { return true }

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
