package rpc

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

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
	Left        func() int64 // how many rows are still wanted, after which HBase closes the scanner; nil: all
	Uncached    bool         // HBase keeps the blocks that it reads out of its cache
	Filtered    bool         // HBase reports how many rows it reads: the filter drops some of them
	Pieces      bool         // a row may be large: its cells are yielded as they come, in several calls
}

// The fields of a scan that gohbase lacks: the tags of numbers, and whole fields.
var (
	limitOfRows  = protowire.AppendTag(nil, fieldLimitOfRows, protowire.VarintType)
	withoutStart = append(protowire.AppendTag(nil, fieldIncludeStartRow, protowire.VarintType), 0)
	withStop     = append(protowire.AppendTag(nil, fieldIncludeStopRow, protowire.VarintType), 1)
)

// newScan returns one step of a scan: it fetches at most limit rows; 0 is no limit. If scanner is nil, it first opens
// one on the range. If counts, HBase returns how many rows it reads.
func newScan(r *Range, scanner *uint64, limit uint32, counts bool) *Call {
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
	c := NewCall("Scan", r.Table, key, q, new(pb.ScanResponse))
	c.place = q.Region
	return c
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

// Rows takes what a read returns: the cells of one HBase row in each call. If it returns an error, the read ends:
// without an error if it is ErrDone.
type Rows = func(row []Cell) error

// ErrDone is the error of Rows that want no more.
var ErrDone = errors.New("done")

// Get reads the cells of one row, at most limit cells of each family; 0 is no limit.
func (s *Sender) Get(ctx context.Context, table, row []byte, columns []*pb.Column, passes *pb.Filter, limit uint32,
) ([]Cell, error) {
	c := NewGet(table, row, columns, passes, limit)
	if err := s.Send(ctx, c); err != nil {
		return nil, err
	}
	return c.Found(), nil
}

// scanner reads a range of HBase rows, region by region.
type scanner struct {
	*Sender
	r     Range // what is still to be read
	yield Rows
	ended error // what yield returned

	row    []byte  // key of the current HBase row, or of the last one
	open   bool    // more cells of row may come
	held   []Cell  // those of row that yield has yet to get; none with Pieces
	last   []byte  // with Pieces: the qualifier of the last cell that yield got of row
	id     *uint64 // the number of the region server's scanner, if that is open
	some   bool    // this scanner of the region server has returned cells
	counts bool    // HBase returns how many rows it reads
	lost   int     // number of scanners lost since the last cell
	again  bool    // the next call repeats one whose scanner was lost
}

// maxLost is how many scanners may be lost one after another.
const maxLost = 10

// closeTimeout bounds the closing of a scanner. HBase itself closes a scanner that no client has
// read from for a minute.
const closeTimeout = 2 * time.Second

// Scan reads a range of a table until the range is at its end or yield wants no more.
func (s *Sender) Scan(ctx context.Context, r Range, yield Rows) error {
	sc := &scanner{Sender: s, r: r, yield: yield, counts: r.Filtered || s.Tally != nil}
	for done, err := false, error(nil); !done; {
		if done, err = sc.fetch(ctx); err == nil {
			continue
		}
		if sc.id != nil {
			sc.close(ctx)
		}
		switch {
		case sc.ended == ErrDone:
			return nil
		case sc.ended != nil:
			return sc.ended
		case sc.lost == maxLost || !isOne(err, scannerGone) || ctx.Err() != nil:
			return err
		}
		sc.lost++
		sc.again = true
		sc.resume()
	}
	return nil
}

// fetch reads the next rows of a region, and moves on to the next region at its end. done is true if the scan ends
// there.
func (s *scanner) fetch(ctx context.Context) (done bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	limit := uint32(0)
	if s.r.Left != nil {
		if left := s.r.Left(); left > 0 && left < maxFetch {
			limit = uint32(left)
		}
	}
	c := newScan(&s.r, s.id, limit, s.counts)
	c.again, s.again = s.again, false
	if err := s.Send(ctx, c); err != nil {
		return false, err
	}
	answer := c.response.(*pb.ScanResponse)
	if s.r.Filtered {
		s.Counts.Count(rowsScanned(answer))
	}
	if s.id == nil {
		s.id, s.some = answer.ScannerId, false
	}
	inRegion, anywhere := answer.GetMoreResultsInRegion(), answer.MoreResults == nil || answer.GetMoreResults()
	if !inRegion || !anywhere {
		s.id = nil // HBase has closed it
	}
	if err := s.results(c.after, answer); err != nil || inRegion && anywhere {
		return false, err
	}
	if err := s.endRow(); err != nil {
		return false, err
	}
	switch {
	case !inRegion:
		return s.nextRegion(c.Region().StartKey(), c.Region().StopKey()), nil
	case limit == 0 || !s.some:
		return true, nil
	}
	s.resume() // the scanner stopped at its limit, but more rows are wanted
	return false, nil
}

// resume sets the range for a new scanner: it begins after the last row that was read whole.
func (s *scanner) resume() {
	if len(s.row) > 0 {
		s.r.Start, s.r.SkipStart = s.row, !s.open
	}
	s.held = nil // they come again
}

// rowsScanned returns how many rows HBase read for an answer, or else that it does not report them.
func rowsScanned(answer *pb.ScanResponse) drivers.Cost {
	for _, m := range answer.GetScanMetrics().GetMetrics() {
		if m.GetName() == metricRows {
			return drivers.Cost{RowsExamined: m.GetValue()}
		}
	}
	return drivers.Cost{Unreported: 1}
}

// results yields the cells of one answer, row by row or, with Pieces, as they come.
func (s *scanner) results(cells []Cell, answer *pb.ScanResponse) (err error) {
	for i, n := range answer.GetCellsPerResult() {
		if n == 0 {
			continue
		}
		piece := cells[:n:n]
		cells = cells[n:]
		s.lost, s.some = 0, true
		if !s.open || !bytes.Equal(piece[0].Row, s.row) {
			if err := s.endRow(); err != nil {
				return err
			}
			s.row, s.open, s.last = piece[0].Row, true, nil
		}
		switch {
		case s.r.Pieces:
			for len(piece) > 0 && s.last != nil && bytes.Compare(piece[0].Qualifier, s.last) <= 0 {
				piece = piece[1:] // it comes again, from a new scanner
			}
			if len(piece) > 0 {
				s.last = piece[len(piece)-1].Qualifier
				s.ended = s.yield(piece)
				err = s.ended
			}
		case len(s.held) == 0:
			s.held = piece
		default:
			s.held = append(s.held, piece...)
		}
		if err == nil && !answer.PartialFlagPerResult[i] {
			err = s.endRow()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// endRow ends the current row, and yields what is held of it.
func (s *scanner) endRow() error {
	row := s.held
	s.open, s.held = false, nil
	if len(row) == 0 {
		return nil
	}
	s.ended = s.yield(row)
	return s.ended
}

// nextRegion moves on from a region, which has the keys from first to before last, and reports whether the range has no
// more.
func (s *scanner) nextRegion(first, last []byte) (done bool) {
	next, left := last, bytes.Compare(s.r.Stop, last)
	if s.r.Reversed {
		next, left = first, bytes.Compare(first, s.r.Stop)
	}
	if len(next) == 0 || len(s.r.Stop) > 0 && left <= 0 {
		return true
	}
	s.r.Start, s.r.SkipStart = next, s.r.Reversed
	return false
}

// lastKey returns a row of the region where a reversed scan begins. If the scan excludes its start, that is
// the region of the row just before.
func (r *Range) lastKey() []byte {
	switch {
	case len(r.Start) == 0:
		return lastRow
	case r.SkipStart:
		return keyBefore(r.Start)
	}
	return r.Start
}

// lastRow sorts after every row.
var lastRow = bytes.Repeat([]byte{0xFF}, 64)

// keyBefore returns a key so close before another that no region begins between them.
func keyBefore(key []byte) []byte {
	last := len(key) - 1
	if key[last] == 0 {
		return key[:last]
	}
	near := append(make([]byte, 0, len(key)+16), key...)
	near[last]--
	return append(near, lastRow[:16]...)
}

// close closes the scanner on the region server, even if ctx has ended.
func (s *scanner) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	c := newScan(&s.r, s.id, 0, s.counts)
	request := c.request.(*pb.ScanRequest)
	request.CloseScanner, request.NumberOfRows = yes, new(uint32)
	s.id = nil
	_ = s.Send(ctx, c) // if this fails, HBase closes the scanner after a minute
}
