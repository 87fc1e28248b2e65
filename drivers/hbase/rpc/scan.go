package rpc

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mailbench/mailbench/drivers"
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
// bound.
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

// newScan returns one step of a scan: it fetches at most limit rows; 0 is no limit. If scanner is nil, it first opens
// one on the range.
func (s *Sender) newScan(r *Range, scanner *uint64, limit uint32) *Call {
	key := r.Start
	if r.Reversed {
		key = r.lastKey()
	}
	q := &pb.ScanRequest{
		Region: new(pb.RegionSpecifier), ScannerId: scanner, NumberOfRows: proto.Uint32(maxFetch), ClientHandlesPartials: yes,
		ClientHandlesHeartbeats: yes,
	}
	if limit > 0 {
		q.NumberOfRows = &limit
		q.ProtoReflect().SetUnknown(protowire.AppendVarint(slices.Clip(limitOfRows), uint64(limit)))
	}
	counts := r.Filtered || s.Counts.Traced() // HBase returns how many rows it reads
	if counts {
		q.TrackScanMetrics = yes
	}
	if scanner == nil { // open one
		scan := &pb.Scan{
			StartRow: r.Start, StopRow: r.Stop, Column: r.Columns, Filter: r.Filter, MaxResultSize: proto.Uint64(maxResultSize),
			Reversed: &r.Reversed, CacheBlocks: proto.Bool(!r.Uncached),
		}
		if counts {
			scan.Column = withNameless(r.Columns)
		}
		var unknown []byte
		if r.SkipStart {
			unknown = withoutStart
		}
		if r.Reversed && len(r.Stop) > 0 {
			unknown = slices.Concat(unknown, withStop)
		}
		scan.ProtoReflect().SetUnknown(unknown)
		q.Scan = scan
	}
	return &Call{method: "Scan", table: r.Table, key: key, request: q, place: q.Region, response: new(pb.ScanResponse)}
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

// Get reads the cells of one row, at most limit cells of each family; 0 is no limit.
func (s *Sender) Get(ctx context.Context, table, row []byte, columns []*pb.Column, passes *pb.Filter, limit uint32,
) ([]Cell, error) {
	c := NewGet(table, row, columns, passes, limit)
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
	rows := &taker{Range: &r, yield: func(row []Cell) error {
		if err := yield(row); err != nil {
			return err
		}
		return ctx.Err() // an answer of rows is in memory, and the next may be far away
	}}
	var id *uint64 // the number of the region server's scanner, if one is open
	defer func() {
		if id != nil {
			s.endScan(ctx, &r, id)
		}
	}()
	some := false // it has returned cells
	lost := 0     // scanners since the last cell
	for again := false; ; {
		limit := uint32(0)
		if r.Left != nil && *r.Left > 0 && *r.Left < maxFetch {
			limit = uint32(*r.Left)
		}
		if id == nil && len(rows.row) > 0 {
			r.Start, r.SkipStart, rows.held = rows.row, !rows.open, nil // what is held comes again
		}
		c := s.newScan(&r, id, limit)
		c.again, again = again, false
		err := ctx.Err()
		if err == nil {
			err = s.Send(ctx, c)
		}
		if err != nil {
			if lost == maxLost || !isOne(err, scannerGone) || ctx.Err() != nil {
				return err
			}
			id, lost, again = nil, lost+1, true
			continue
		}
		answer := c.response.(*pb.ScanResponse)
		if r.Filtered {
			n := metric(answer, metricRows)
			s.Counts.Count(drivers.Cost{RowsScanned: max(n, 0), Unreported: max(-n, 0)})
		}
		if id == nil {
			id, some = answer.ScannerId, false
		}
		if len(c.after) > 0 {
			some, lost = true, 0
		}
		inRegion, anywhere := answer.GetMoreResultsInRegion(), answer.MoreResults == nil || answer.GetMoreResults()
		if !inRegion || !anywhere {
			id = nil // HBase has closed it
		}
		if err := rows.take(answer, c.after, inRegion && anywhere); err != nil {
			return err
		}
		if !inRegion && rows.nextRegion(c.Region()) || inRegion && !anywhere && (limit == 0 || !some) {
			return nil // else a scanner that has stopped at its limit is not the last one
		}
	}
}

// taker takes the cells that a scan returns.
type taker struct {
	*Range // what is still to be read
	yield  Rows

	row  []byte // key of the current HBase row, or of the last one of the region
	open bool   // more cells of row may come
	held []Cell // those of row that yield has yet to get; none with Pieces
	last []byte // with Pieces: the qualifier of the last cell that yield got of row
}

// take yields the cells of one answer, row by row or, with Pieces, as they come. Without more, the last row ends too.
func (t *taker) take(answer *pb.ScanResponse, cells []Cell, more bool) error {
	end := func() (err error) { // the current row, and yield what is held of it
		if len(t.held) > 0 {
			err = t.yield(t.held)
		}
		t.open, t.held = false, nil
		return err
	}
	for i, n := range answer.GetCellsPerResult() {
		if n == 0 {
			continue
		}
		piece := cells[:n:n]
		cells = cells[n:]
		if !t.open || !bytes.Equal(piece[0].Row, t.row) {
			if err := end(); err != nil {
				return err
			}
			t.row, t.open, t.last = piece[0].Row, true, nil
		}
		for t.Pieces && len(piece) > 0 && t.last != nil && bytes.Compare(piece[0].Qualifier, t.last) <= 0 {
			piece = piece[1:] // it comes again, from a new scanner
		}
		switch {
		case !t.Pieces && t.held != nil:
			t.held = append(t.held, piece...)
		case !t.Pieces:
			t.held = piece
		case len(piece) > 0:
			t.last = piece[len(piece)-1].Qualifier
			if err := t.yield(piece); err != nil {
				return err
			}
		}
		if !answer.PartialFlagPerResult[i] {
			if err := end(); err != nil {
				return err
			}
		}
	}
	if more {
		return nil
	}
	return end()
}

// nextRegion moves on from a region, and reports whether the range has no more.
func (t *taker) nextRegion(from hrpc.RegionInfo) (done bool) {
	next, left := from.StopKey(), bytes.Compare(t.Stop, from.StopKey())
	if t.Reversed {
		next, left = from.StartKey(), bytes.Compare(from.StartKey(), t.Stop)
	}
	if len(next) == 0 || len(t.Stop) > 0 && left <= 0 {
		return true
	}
	t.Start, t.SkipStart, t.row = next, t.Reversed, nil
	return false
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

// closeTimeout bounds the closing of a scanner. HBase itself closes a scanner that no client has
// read from for a minute.
const closeTimeout = 2 * time.Second

// endScan closes a scanner on the region server, even if ctx has ended.
func (s *Sender) endScan(ctx context.Context, r *Range, id *uint64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	c := s.newScan(r, id, 0)
	request := c.request.(*pb.ScanRequest)
	request.CloseScanner, request.NumberOfRows = yes, new(uint32)
	_ = s.Send(ctx, c) // if this fails, HBase closes the scanner after a minute
}
