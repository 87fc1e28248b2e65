package rpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Field numbers of HBase's protocol that gohbase's copy of it lacks.
const (
	fieldLimitOfRows     = 11 // ScanRequest.limit_of_rows
	fieldIncludeStartRow = 21 // Scan.include_start_row
	fieldIncludeStopRow  = 22 // Scan.include_stop_row
)

// maxResultSize bounds what one step of a scan returns, in bytes: HBase's own
// client requests as much. A row that is larger comes in several steps.
const maxResultSize = 2 << 20

// Range says what a scanner reads: the rows from start to stop. An empty end means no
// bound. A get reads the row at start.
type Range struct {
	Table       []byte
	Start, Stop []byte
	SkipStart   bool // start is not in the range
	Reversed    bool // HBase reads from the last row to the first; only then is stop in the range
	Columns     []*pb.Column
	Filter      *pb.Filter
	Left        *int64 // how many rows are still wanted, after which HBase closes the scanner; nil or less than 1: all
	Uncached    bool   // HBase keeps the blocks that it reads out of its cache
	Filtered    bool   // HBase reports how many rows it reads: the filter drops some of them
	Pieces      bool   // a row may be large: its cells are yielded as they come, in several calls
}

// The fields of a scan that gohbase lacks: the tags of numbers, and whole fields.
var (
	limitOfRows  = protowire.AppendTag(nil, fieldLimitOfRows, protowire.VarintType)
	withoutStart = append(protowire.AppendTag(nil, fieldIncludeStartRow, protowire.VarintType), 0)
	withStop     = append(protowire.AppendTag(nil, fieldIncludeStopRow, protowire.VarintType), 1)
)

// ScanCall is one request of a scan: gohbase's own, but for the request and the cells. Its own request has no limit on
// the rows of all steps, and its own cells are many objects.
type ScanCall struct {
	*hrpc.Scan
	Request  *pb.ScanRequest
	cells    []Cell // those that followed the response
	sendings int64  // how often gohbase has sent it
}

// ToProto returns the request for the region.
func (c *ScanCall) ToProto() proto.Message {
	c.cells = nil
	c.sendings++
	c.Request.Region = &pb.RegionSpecifier{Type: RegionName, Value: c.Region().Name()}
	return c.Request
}

// DeserializeCellBlocks reads the cells that follow a response, in the form that appendCell writes. HBase says how many
// there are: a number or a length that the block cannot have is an error.
func (c *ScanCall) DeserializeCellBlocks(response proto.Message, block []byte) (size uint32, err error) {
	r, n := response.(*pb.ScanResponse), int64(0)
	for _, cells := range r.GetCellsPerResult() {
		n += int64(cells)
	}
	if len(r.GetPartialFlagPerResult()) != len(r.GetCellsPerResult()) || n > int64(len(block)/CellOverhead) {
		return 0, errCells
	}
	b, all := block, make([]Cell, n)
	for i := range all {
		if len(b) < CellOverhead {
			return 0, errCells
		}
		whole, key, value := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
		if uint64(whole) != 8+uint64(key)+uint64(value) || uint64(len(b)) < 4+uint64(whole) {
			return 0, errCells
		}
		k, v := b[12:12+key], b[12+key:4+whole]
		row := 2 + int(binary.BigEndian.Uint16(k))
		if len(k) < row+1+8+1 {
			return 0, errCells
		}
		family, end := row+1+int(k[row]), len(k)-8-1
		if end < family {
			return 0, errCells
		}
		all[i] = Cell{k[2:row:row], k[row+1 : family : family], k[family:end:end], v, binary.BigEndian.Uint64(k[end:])}
		b = b[4+whole:]
	}
	c.cells = all
	return uint32(len(block) - len(b)), nil
}

// withNameless returns the columns with one more in each family that lists its columns: one without
// a name, which no row has. A scan without it takes the row where it begins for one that it has
// read, whether there is such a row or not, if the table has files and none of them deletes that
// row (StoreFileScanner.requestSeek in HBase: a Bloom filter saves the seek, and a made-up cell
// is there instead).
func withNameless(columns []*pb.Column) []*pb.Column {
	all := make([]*pb.Column, len(columns))
	for i, c := range columns {
		all[i] = c
		if len(c.Qualifier) > 0 {
			all[i] = &pb.Column{Family: c.Family, Qualifier: slices.Insert(slices.Clone(c.Qualifier), 0, []byte{})}
		}
	}
	return all
}

// maxFetch is how many rows one step fetches at most if there is no limit.
const maxFetch = 1<<31 - 1

var yes = proto.Bool(true)

// Rows takes what a read returns: the cells of one HBase row in each call. If it returns an error, the read ends with
// that error.
type Rows = func(row []Cell) error

// Get reads the cells of the row at the range's start, at most limit cells of each family; 0 is no limit.
func (s *Sender) Get(ctx context.Context, r Range, limit int64) ([]Cell, error) {
	c := NewGet(r, limit)
	if err := s.Send(ctx, c); err != nil {
		return nil, err
	}
	return c.Found(), nil
}

// maxLost is how many scanners may be lost one after another.
const maxLost = 10

// Scan reads a range of a table, region by region, until the range is at its end or yield wants no more. If a region
// server loses its scanner, another one goes on after the last row that was read whole.
func (s *Sender) Scan(ctx context.Context, r Range, yield Rows) error {
	sc := &scanner{Sender: s, Range: r, yield: yield, counted: r.Filtered || s.Traced, scan: &pb.Scan{
		Column: r.Columns, Filter: r.Filter, MaxResultSize: proto.Uint64(maxResultSize), Reversed: &r.Reversed,
		CacheBlocks: proto.Bool(!r.Uncached),
	}}
	if sc.counted {
		sc.scan.Column = withNameless(r.Columns)
	}
	defer func() {
		if sc.id != nil { // if this fails, HBase closes the scanner after a minute without a read
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
			defer cancel()
			_, _, _ = sc.step(ctx, true)
		}
	}()
	some := false // the scanner has returned cells
	lost := 0     // scanners since the last cell
	for ctx.Err() == nil {
		some = some && sc.id != nil
		c, answer, err := sc.step(ctx, false)
		if err != nil {
			if lost == maxLost || !isOne(err, scannerGone) || ctx.Err() != nil {
				return err
			}
			sc.id, sc.again, lost = nil, true, lost+1
			continue
		}
		if len(c.cells) > 0 {
			some, lost = true, 0
		}
		inRegion, anywhere := answer.GetMoreResultsInRegion(), answer.MoreResults == nil || answer.GetMoreResults()
		if !inRegion || !anywhere {
			sc.id = nil // HBase has closed it
		}
		if err := sc.take(ctx, c, answer, inRegion && anywhere); err != nil {
			return err
		}
		if inRegion {
			if !anywhere && (c.Request.GetNumberOfRows() == maxFetch || !some) {
				return nil // else a scanner that has stopped at its limit is not the last one
			}
			continue
		}
		next, left := c.Region().StopKey(), bytes.Compare(sc.Stop, c.Region().StopKey())
		if sc.Reversed {
			next, left = c.Region().StartKey(), bytes.Compare(c.Region().StartKey(), sc.Stop)
		}
		if len(next) == 0 || len(sc.Stop) > 0 && left <= 0 {
			return nil
		}
		sc.Start, sc.SkipStart, sc.row = next, sc.Reversed, nil
	}
	return ctx.Err()
}

// closeTimeout bounds the closing of a scanner.
const closeTimeout = 2 * time.Second

// scanner is one scan.
type scanner struct {
	*Sender
	Range   // what is still to be read
	yield   Rows
	scan    *pb.Scan // what opens a scanner on the range
	counted bool     // HBase returns how many rows it reads

	id    *uint64 // the number of the region server's scanner, if one is open
	again bool    // the next request repeats one whose scanner was lost

	row  []byte // key of the current HBase row, or of the last one of the region
	open bool   // more cells of row may come
	held []Cell // those of row that yield has yet to get
	last []byte // with Pieces: the qualifier of the last cell that yield got of row
}

// step sends one request, which fetches as many rows as are still wanted. If no scanner is open, it first opens one on
// the range. end: it closes the scanner and fetches nothing.
func (sc *scanner) step(ctx context.Context, end bool) (*ScanCall, *pb.ScanResponse, error) {
	q := &pb.ScanRequest{
		ScannerId: sc.id, NumberOfRows: proto.Uint32(maxFetch), ClientHandlesPartials: yes, ClientHandlesHeartbeats: yes,
	}
	switch {
	case end:
		q.CloseScanner, q.NumberOfRows = yes, new(uint32)
	case sc.Left != nil && *sc.Left > 0 && *sc.Left < maxFetch:
		q.NumberOfRows = proto.Uint32(uint32(*sc.Left))
		q.ProtoReflect().SetUnknown(protowire.AppendVarint(slices.Clip(limitOfRows), uint64(*sc.Left)))
	}
	if sc.counted {
		q.TrackScanMetrics = yes
	}
	if sc.id == nil {
		if len(sc.row) > 0 {
			sc.Start, sc.SkipStart, sc.held = sc.row, !sc.open, nil // what is held comes again
		}
		var unknown []byte
		if sc.SkipStart {
			unknown = withoutStart
		}
		if sc.Reversed && len(sc.Stop) > 0 {
			unknown = slices.Concat(unknown, withStop)
		}
		q.Scan, sc.scan.StartRow, sc.scan.StopRow = sc.scan, sc.Start, sc.Stop
		sc.scan.ProtoReflect().SetUnknown(unknown)
	}
	key := sc.Start
	if sc.Reversed {
		key = sc.lastKey()
	}
	own, stop := context.WithTimeoutCause(ctx, sc.Timeout, ErrTimeout)
	defer stop()
	c := &ScanCall{Request: q}
	c.Scan, _ = hrpc.NewScanRange(own, sc.Table, key, nil) // only options can make it fail
	m, err := sc.RPC.SendRPC(c)
	cost := &sc.Counts.Cost // a scan is in the goroutine of its call
	if sc.again {
		cost.Retries++
	} else {
		cost.Requests++
	}
	sc.again = false
	if err != nil {
		return nil, nil, explain(ctx, c, err)
	}
	cost.Retries += max(c.sendings, 1) - 1
	answer := m.(*pb.ScanResponse)
	if sc.id == nil {
		sc.id = answer.ScannerId
	}
	return c, answer, nil
}

// take counts the rows that HBase read for one answer, and yields its cells, row by row or, with Pieces, as they come.
// Without more, the last row ends too.
func (sc *scanner) take(ctx context.Context, c *ScanCall, answer *pb.ScanResponse, more bool) error {
	if sc.Filtered {
		n := metric(answer, metricRows)
		sc.Counts.Cost.RowsScanned += max(n, 0)
		sc.Counts.Cost.Unreported += max(-n, 0)
	}
	if sc.Traced {
		sc.trace(c, c.cells, max(0, metric(answer, metricRows)), metric(answer, metricBlocks))
	}
	cells, counts := c.cells, answer.GetCellsPerResult()
	for i := 0; ; i++ {
		last, piece := i == len(counts), []Cell(nil)
		if !last {
			piece, cells = cells[:counts[i]:counts[i]], cells[counts[i]:]
		}
		ended := !sc.open || last && !more || len(piece) > 0 && !bytes.Equal(piece[0].Row, sc.row)
		if len(sc.held) > 0 && (ended || sc.Pieces) {
			err := sc.yield(sc.held)
			if err == nil {
				err = ctx.Err() // an answer of rows is in memory, and the next may be far away
			}
			if err != nil {
				return err
			}
			sc.held = nil
		}
		switch {
		case last:
			sc.open = !ended
			return nil
		case len(piece) == 0:
			continue
		case ended:
			sc.row, sc.last = piece[0].Row, nil
		}
		for sc.Pieces && len(piece) > 0 && sc.last != nil && bytes.Compare(piece[0].Qualifier, sc.last) <= 0 {
			piece = piece[1:] // it comes again, from a new scanner
		}
		if sc.Pieces && len(piece) > 0 {
			sc.last = piece[len(piece)-1].Qualifier
		}
		if len(sc.held) > 0 {
			piece = append(sc.held, piece...)
		}
		sc.held, sc.open = piece, answer.PartialFlagPerResult[i]
	}
}

// metric returns a number that an answer reports, or -1 if it does not.
func metric(answer *pb.ScanResponse, name string) int64 {
	for _, m := range answer.GetScanMetrics().GetMetrics() {
		if m.GetName() == name {
			return m.GetValue()
		}
	}
	return -1
}

// lastRow sorts after every row.
var lastRow = bytes.Repeat([]byte{0xFF}, 64)

// lastKey returns a row of the region where a reversed scan begins. If the scan excludes its start, that is the region
// of the row just before: the key is so close before the start that no region begins between them.
func (r *Range) lastKey() []byte {
	if len(r.Start) == 0 {
		return lastRow
	}
	last := len(r.Start) - 1
	switch {
	case !r.SkipStart:
		return r.Start
	case r.Start[last] == 0:
		return r.Start[:last]
	}
	near := append(make([]byte, 0, len(r.Start)+16), r.Start...)
	near[last]--
	return append(near, lastRow[:16]...)
}
