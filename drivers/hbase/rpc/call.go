// Package rpc sends HBase's calls through gohbase, which finds regions and connections. It knows rows, cells and
// ranges of rows, and nothing of mailbench's tables.
//
// A [Sender] sends and counts calls. gohbase's own calls lack several kinds of mutation in one step, nonces, a limit on
// the rows of a scan, conditions on several columns and table descriptors, so here a [ScanCall] is a request of a scan,
// and a [Call] any other. A call ends after a timeout. One that must not take effect twice is sent once: see
// [Call.SetRegion]. An [Edit] is a change of a row, a [Range] what a scan reads, and [Rows] takes the cells that come
// back. The error of a write that may have been applied is [drivers.ErrUnknown]. Connections check answers before
// gohbase reads them.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/mailbench/mailbench/drivers"
)

// Sender sends calls to HBase and counts them. Goroutines may share it, but only one of them may scan.
type Sender struct {
	Client  gohbase.Client    // sends calls of several rows together
	RPC     gohbase.RPCClient // sends one call
	Timeout time.Duration
	WAL     *pb.MutationProto_Durability
	Counts  *drivers.Meter // counts the calls; nil: nothing does, and Scan cannot be used
	Traced  bool           // Counts is that of a traced session

	regions map[string]bool // names of those in the piece of work under way of a traced session
}

// Send sends a call and waits for its answer, at most for the timeout: gohbase itself would look for a region forever.
func (s *Sender) Send(ctx context.Context, c *Call) error {
	if c.deadline.IsZero() {
		c.deadline = time.Now().Add(s.Timeout)
	}
	own, stop := context.WithDeadlineCause(ctx, c.deadline, ErrTimeout)
	defer stop()
	c.Get, _ = hrpc.NewGet(own, c.table, c.key) // only options can make it fail
	c.stop = stop
	answer, err := s.RPC.SendRPC(c)
	if raw, ok := answer.(*emptypb.Empty); ok && err == nil {
		c.after, err = cellsIn(raw.ProtoReflect().GetUnknown())
	}
	s.count(err == nil, c)
	if err != nil {
		return explain(ctx, c, err)
	}
	return nil
}

// SendTogether sends calls of one table: one request to each region server. HBase applies each call by itself. done is
// how many calls took effect for certain.
func (s *Sender) SendTogether(ctx context.Context, calls []*Call) (done int, err error) {
	switch len(calls) {
	case 0:
		return 0, nil
	case 1:
		if err := s.Send(ctx, calls[0]); err != nil {
			return 0, err
		}
		return 1, nil
	}
	own, stop := context.WithTimeoutCause(ctx, s.Timeout, ErrTimeout)
	defer stop()
	batch := make([]hrpc.Call, len(calls))
	for i, c := range calls {
		c.Get, _ = hrpc.NewGet(own, c.table, c.key)
		c.stop, c.together, c.sent, batch[i] = stop, true, true, c // gohbase's own goroutine will send it
	}
	results, ok := s.Client.SendBatch(own, batch)
	if s.count(ok, calls...); ok {
		return len(calls), nil
	}
	for i := range results {
		failed := results[i].Error
		switch {
		case failed == nil:
			done++
		case errors.Is(failed, gohbase.NotExecutedError):
		case err == nil || !errors.Is(err, drivers.ErrUnknown):
			err = explain(ctx, calls[i], failed)
		}
	}
	if err == nil && done < len(calls) {
		err = explain(ctx, calls[0], gohbase.NotExecutedError)
	}
	return done, err
}

// count counts calls that were sent together: one request, or if they were answered one to each region server.
func (s *Sender) count(answered bool, calls ...*Call) {
	cost, sendings := drivers.Cost{Requests: 1}, int64(1)
	if calls[0].again {
		cost = drivers.Cost{Retries: 1}
	}
	if !answered {
		calls = nil
	}
	for i, c := range calls {
		sendings = max(sendings, c.sendings)
		if i > 0 && !slices.ContainsFunc(calls[:i], func(b *Call) bool { return b.conn == c.conn }) {
			cost.Requests++
		}
		if c.readsRow && !c.again {
			cost.RowsScanned++
		}
		if s.Traced {
			rows := int64(0)
			if c.method == "Get" && len(c.Found()) > 0 {
				rows = 1
			}
			s.trace(c, c.Found(), rows, -1)
		}
	}
	cost.Retries += sendings - 1
	s.Counts.Count(cost)
}

// Call is one request to a region server or to the master. It implements gohbase's
// interface for calls: gohbase finds the region, sends the request and waits.
// gohbase's own calls lack what this driver needs: several kinds of mutation in one request,
// nonces, a limit on rows, conditions on several columns, table descriptors.
type Call struct {
	*hrpc.Get // since it is being sent; gohbase sends only calls of its own kinds together

	method   string // of HBase's service
	table    []byte // gohbase finds the region by it
	key      []byte // and by this row
	Request  proto.Message
	place    *pb.RegionSpecifier // part of the request: filled in when the region is known; nil if it has none
	cells    []byte              // cells that follow the request, as HBase's KeyValueCodec writes them
	response proto.Message
	after    []Cell // those that followed the response

	together bool               // it is in one request with other calls
	once     bool               // it must not be sent twice, because it could take effect twice
	readsRow bool               // it changes a row that HBase reads first
	again    bool               // it repeats one that HBase has refused
	deadline time.Time          // of all attempts; zero: it has the timeout of one call
	sent     bool               // it was sent
	sendings int64              // how often gohbase has sent it
	answered bool               // a response arrived, not an exception
	lost     bool               // it must not be sent again, and its answer is lost
	conn     hrpc.RegionClient  // the connection it was last sent over
	stop     context.CancelFunc // ends the context of Get
}

var _ hrpc.Call = (*Call)(nil)

// Conn returns the connection that the call was last sent over; nil if it was not sent.
func (c *Call) Conn() hrpc.RegionClient { return c.conn }

// errLost ends a call that must not be sent twice when its answer is lost.
var errLost = drivers.Unreachable(errors.New("the region server's answer was lost"))

// RegionName is the type of the names of regions.
var RegionName = pb.RegionSpecifier_REGION_NAME.Enum()

// NewCall returns a call that names its region itself, or none.
func NewCall(method string, request, response proto.Message) *Call {
	return &Call{method: method, Request: request, response: response}
}

// NewGet returns a Get of the cells of the row at the range's start, of at most limit cells of each family; 0 is no
// limit.
func NewGet(r Range, limit int64) *Call {
	g := &pb.GetRequest{Region: new(pb.RegionSpecifier), Get: &pb.Get{Row: r.Start, Column: r.Columns, Filter: r.Filter}}
	if limit > 0 {
		g.Get.StoreLimit = proto.Uint32(uint32(min(limit, math.MaxUint32)))
	}
	return &Call{method: "Get", table: r.Table, key: r.Start, Request: g, place: g.Region}
}

// Name returns the method of HBase's service. It implements hrpc.Call, as do the methods below.
func (c *Call) Name() string { return c.method }

// SetRegion is called each time before gohbase sends the call. It ends a call that
// must not take effect twice if the server may have executed it: a response could
// not be read, or the connection has failed. If the connection still works, the
// server has refused the call, and gohbase may send it again.
func (c *Call) SetRegion(r hrpc.RegionInfo) {
	if c.once && c.sent && (c.answered || c.conn == nil || c.conn.Dial(c.Context()) != nil) {
		c.lost = true
		c.stop()
	}
	c.Get.SetRegion(r)
	c.conn = r.Client()
}

// ToProto returns the request for the region.
func (c *Call) ToProto() proto.Message {
	c.sent, c.after = true, nil
	c.sendings++
	if c.place != nil {
		c.place.Type, c.place.Value = RegionName, c.Region().Name()
	}
	return c.Request
}

// CellBlocksEnabled reports whether cells follow the request.
func (c *Call) CellBlocksEnabled() bool { return len(c.cells) > 0 }

// SerializeCellBlocks returns the request and appends the cells that follow it.
func (c *Call) SerializeCellBlocks(blocks [][]byte) (proto.Message, [][]byte, uint32) {
	return c.ToProto(), append(blocks, c.cells), uint32(len(c.cells))
}

// NewResponse returns what the response is read into. To a get that is sent alone it is an empty message, which keeps
// the bytes of fields that it does not have: protobuf would allocate seven objects for each cell.
func (c *Call) NewResponse() proto.Message {
	c.answered = true
	switch {
	case c.method != "Get":
		proto.Reset(c.response)
	case c.together:
		c.response = new(pb.GetResponse)
	default:
		c.response = new(emptypb.Empty)
	}
	return c.response
}

// Found returns the cells in the answer. Those of an increment that was sent alone are in the response.
func (c *Call) Found() []Cell {
	if r, ok := c.response.(interface{ GetResult() *pb.Result }); ok && c.after == nil {
		in := r.GetResult().GetCell()
		c.after = make([]Cell, len(in))
		for i, one := range in {
			c.after[i] = Cell{one.Row, one.Family, one.Qualifier, one.Value, one.GetTimestamp()}
		}
	}
	return c.after
}

// Cell is a cell that HBase returned. It shares the bytes of the answer.
type Cell struct {
	Row, Family, Qualifier, Value []byte
	Stamp                         uint64 // HBase's timestamp, in ms
}

var errCells = errors.New("HBase sent a block of cells that cannot be read")

// DeserializeCellBlocks reads the cells that follow a response to a get or a mutation: as those of a scan's one result.
func (c *Call) DeserializeCellBlocks(response proto.Message, block []byte) (size uint32, err error) {
	r, ok := response.(interface{ GetResult() *pb.Result })
	if !ok {
		return uint32(len(block)), nil
	}
	one, n := new(ScanCall), uint32(r.GetResult().GetAssociatedCellCount())
	result := &pb.ScanResponse{CellsPerResult: []uint32{n}, PartialFlagPerResult: []bool{false}}
	size, err = one.DeserializeCellBlocks(result, block)
	c.after = one.cells
	return size, err
}

// cellsIn reads the cells in a GetResponse.
func cellsIn(response []byte) (cells []Cell, err error) {
	n := 0
	for in := (fields{rest: response}); in.next(&err); {
		for result := (fields{rest: in.value}); in.number == 1 && result.next(&err); {
			if result.number == 1 {
				n++
			}
		}
	}
	if n > 0 {
		cells = make([]Cell, 0, n)
	}
	for in := (fields{rest: response}); in.next(&err); {
		for result := (fields{rest: in.value}); in.number == 1 && result.next(&err); { // GetResponse.result
			if result.number != 1 { // not Result.cell
				continue
			}
			var c Cell
			for of := (fields{rest: result.value}); of.next(&err); {
				switch of.number {
				case 1:
					c.Row = of.value
				case 2:
					c.Family = of.value
				case 3:
					c.Qualifier = of.value
				case 4:
					c.Stamp, _ = protowire.ConsumeVarint(of.value)
				case 6:
					c.Value = of.value
				}
			}
			cells = append(cells, c)
		}
	}
	return cells, err
}

// fields are the fields of a message, one after the other: value is the bytes of one, or its number as the message has
// it.
type fields struct {
	rest, value []byte
	number      protowire.Number
}

// next moves on to the next field. A message that is broken ends early, and err is set.
func (f *fields) next(err *error) bool {
	number, kind, size := protowire.ConsumeField(f.rest)
	if size < 0 {
		if len(f.rest) > 0 {
			*err = errCells
		}
		return false
	}
	f.number, f.value, f.rest = number, f.rest[protowire.SizeTag(number):size], f.rest[size:]
	if kind == protowire.BytesType {
		f.value, _ = protowire.ConsumeBytes(f.value)
	}
	return true
}

// Names of scan metrics (ServerSideScanMetrics.java). HBase returns metricBlocks, in bytes,
// since 2.6.
const (
	metricRows   = "ROWS_SCANNED"
	metricBlocks = "BLOCK_BYTES_SCANNED"
)

// trace counts what an answered call of a traced session did: the rows and the bytes of blocks that HBase read for it,
// and the cells of its answer. Negative: HBase reports no blocks.
func (s *Sender) trace(c hrpc.Call, cells []Cell, rows, blocks int64) {
	s.Counts.Did(func(w *drivers.Work) {
		if w.Nodes == 0 { // the first call of a piece of work
			s.regions = make(map[string]bool)
		}
		if c.Region() != nil {
			s.regions[string(c.Region().Name())] = true
			w.Nodes = int64(len(s.regions))
		}
		w.Rows += rows
		if blocks >= 0 {
			w.Blocks = max(0, w.Blocks) + blocks
		}
		w.Cells += int64(len(cells))
		for _, c := range cells {
			w.Bytes += int64(len(c.Row) + len(c.Family) + len(c.Qualifier) + len(c.Value))
		}
	})
}

// ErrTimeout ends a call that HBase has not answered within Sender.Timeout.
var ErrTimeout = drivers.Unreachable(errors.New("HBase has not answered within the timeout"))

// refusals are the exceptions that prove that HBase has not applied a mutation. After any
// other exception HBase may have applied it: for instance, a write may survive although the
// sync of the log failed.
var refusals = []string{
	"org.apache.hadoop.hbase.DoNotRetryIOException",
	"org.apache.hadoop.hbase.NotServingRegionException",
	"org.apache.hadoop.hbase.RegionTooBusyException",
	"org.apache.hadoop.hbase.TableNotEnabledException",
	"org.apache.hadoop.hbase.TableNotFoundException",
	"org.apache.hadoop.hbase.UnknownProtocolException",
	"org.apache.hadoop.hbase.UnknownRegionException",
	"org.apache.hadoop.hbase.exceptions.FailedSanityCheckException",
	"org.apache.hadoop.hbase.exceptions.UnknownProtocolException",
	"org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException",
	"org.apache.hadoop.hbase.regionserver.WrongRegionException",
	"org.apache.hadoop.hbase.security.AccessDeniedException",
	"org.apache.hadoop.hbase.quotas.RpcThrottlingException",
}

// moved are the exceptions of a region that has moved, or is not ready.
var moved = []string{
	"org.apache.hadoop.hbase.NotServingRegionException",
	"org.apache.hadoop.hbase.RegionTooBusyException",
	"org.apache.hadoop.hbase.exceptions.RegionMovedException",
	"org.apache.hadoop.hbase.exceptions.RegionOpeningException",
}

// scannerGone are the exceptions after which a scan goes on with a new scanner:
// its region has moved, or its lease has run out.
var scannerGone = []string{
	"org.apache.hadoop.hbase.UnknownScannerException",
	"org.apache.hadoop.hbase.exceptions.ScannerResetException",
	"org.apache.hadoop.hbase.exceptions.OutOfOrderScannerNextException",
	"org.apache.hadoop.hbase.NotServingRegionException",
}

// Exception is an exception of a server. gohbase returns it only as text.
type Exception struct{ class, message string }

// Error returns the class without its package, and the message's first line.
func (e *Exception) Error() string {
	return fmt.Sprintf("HBase: %s: %s", e.class[strings.LastIndexByte(e.class, '.')+1:], e.message)
}

// NewException returns an exception. Its stack trace begins with the class and the message.
func NewException(class, trace string) *Exception {
	first, _, _ := strings.Cut(trace, "\n")
	return &Exception{class, strings.TrimPrefix(first, class+": ")}
}

// Is implements the interface of errors.Is: a region that is not ready does not answer.
func (e *Exception) Is(target error) bool { return target == drivers.ErrUnreachable && e.is(moved) }

func (e *Exception) is(classes []string) bool { return slices.Contains(classes, e.class) }

// explain returns the error of a failed call. It is drivers.ErrUnknown for a write
// that may have been applied. ctx is the caller's context.
func explain(ctx context.Context, c hrpc.Call, err error) error {
	own, ok := c.(*Call)
	changes := ok && own.sent && (own.method == "Mutate" || own.method == "Multi")
	var j *Exception
	if _, text, ok := strings.Cut(err.Error(), "HBase Java exception "); !errors.As(err, &j) && ok { // gohbase's text
		class, trace, _ := strings.Cut(text, "\n")
		j = NewException(strings.TrimSuffix(class, ":"), trace)
	}
	switch {
	case j != nil && (strings.Contains(j.message, "exceeds limit of") ||
		strings.Contains(j.class, "RequestTooBigException") || strings.Contains(j.class, "RowTooBigException")):
		return fmt.Errorf("%w: %w", drivers.ErrTooLarge, j)
	case j != nil && j.is(refusals):
		return j
	case j != nil:
		err = j
	case errors.Is(err, gohbase.TableNotFound):
		return fmt.Errorf("HBase has no table %s: apply its schema first", c.Table())
	case errors.Is(err, gohbase.ErrClientClosed):
		err = drivers.ErrClosed
	case ctx.Err() != nil:
		err = ctx.Err()
	case ok && own.lost:
		err = errLost
	case errors.Is(context.Cause(c.Context()), ErrTimeout):
		err = ErrTimeout
	}
	if changes {
		return fmt.Errorf("%w: %w", drivers.ErrUnknown, err)
	}
	return err
}

// Moved reports whether an error is an exception of a region that has moved, or is not ready.
func Moved(err error) bool { return isOne(err, moved) }

// isOne reports whether an error is an exception of one of the classes.
func isOne(err error, classes []string) bool {
	var j *Exception
	return errors.As(err, &j) && j.is(classes)
}

// IsClass reports whether an error is an exception of a class, whatever its package.
func IsClass(err error, class string) bool {
	var j *Exception
	return errors.As(err, &j) && strings.HasSuffix(j.class, "."+class)
}
