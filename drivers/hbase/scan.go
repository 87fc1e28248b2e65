package hbase

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/tsuna/gohbase/pb"
)

// sink takes the cells that a read returns, HBase row by HBase row.
type sink interface {
	// take takes a cell. end is called after the last cell of a row. If either returns an
	// error, the read ends: without an error if it is errDone.
	take(c cell, stamp uint64) error
	end() error
	// restartRow says that the current row will come again, from its first cell.
	restartRow()
}

// eachCell is a sink that gets each cell.
type eachCell func(c cell) error

func (do eachCell) take(c cell, _ uint64) error { return do(c) }
func (eachCell) end() error                     { return nil }
func (eachCell) restartRow()                    {}

// scanner reads a range of HBase rows, region by region.
type scanner struct {
	slot  *slot
	table []byte
	r     scanRange
	sink  sink

	row         []byte // key of the current HBase row, or of the last one
	open        bool   // more cells of row may come
	id          uint64 // the number of the region server's scanner
	scannerOpen bool   // the region server's scanner is open
	rows        uint32 // number of rows that this scanner of the region server has returned
	counts      bool   // HBase returns how many rows it reads
	lost        int    // number of scanners lost since the last cell
}

// errDone is the error of a sink that wants no more.
var errDone = errors.New("done")

// maxLost is how many scanners may be lost one after another.
const maxLost = 10

// closeTimeout bounds the closing of a scanner. HBase itself closes a scanner that no client has
// read from for a minute.
const closeTimeout = 2 * time.Second

// run scans a range of a table until the range or the sink is at its end.
func (s *scanner) run(ctx context.Context, table []byte, r scanRange, to sink) error {
	r.start, r.stop = append(s.r.start[:0], r.start...), append(s.r.stop[:0], r.stop...)
	s.table, s.r, s.sink, s.counts = table, r, to, r.filtered || s.slot.tally != nil
	s.row, s.open, s.scannerOpen, s.lost = s.row[:0], false, false, 0
	for {
		done, err := s.region(ctx)
		if s.scannerOpen {
			s.close(ctx)
		}
		switch {
		case err != nil && s.lost < maxLost && scannerLost(err) && ctx.Err() == nil:
			s.lost++
			s.resume()
			s.slot.again = true
		case err == errDone:
			return nil
		case done || err != nil:
			return err
		}
	}
}

// resume sets the range for a new scanner: it begins after the last row that was read whole.
func (s *scanner) resume() {
	if s.open {
		s.sink.restartRow()
		s.r.start, s.r.skipStart = append(s.r.start[:0], s.row...), false
		s.open = false
	} else if len(s.row) > 0 {
		s.r.start, s.r.skipStart = append(s.r.start[:0], s.row...), true
	}
}

// region scans one region. done is true if the scan ends there.
func (s *scanner) region(ctx context.Context) (done bool, err error) {
	var opened *uint64
	for s.rows = 0; ; {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		c, limit := s.slot.call, uint32(0)
		if s.r.left != nil {
			if left := s.r.left(); left > 0 && left < maxFetch {
				limit = uint32(left)
			}
		}
		c.asScan(s.table, &s.r, opened, limit, s.counts)
		err := s.slot.send(ctx)
		s.slot.again = false
		if err != nil {
			return false, err
		}
		answer := &c.scan.response
		if s.r.filtered {
			s.count(answer)
		}
		if opened == nil {
			s.id, s.scannerOpen, opened = answer.GetScannerId(), answer.ScannerId != nil, &s.id
		}
		region := c.region
		inRegion, anywhere := answer.GetMoreResultsInRegion(), answer.MoreResults == nil || answer.GetMoreResults()
		if !inRegion || !anywhere {
			s.scannerOpen = false // HBase has closed it
		}
		if err := s.results(c); err != nil {
			return true, err
		}
		if inRegion && anywhere {
			continue
		}
		if s.open { // the row ends here
			s.open = false
			if err := s.sink.end(); err != nil {
				return true, err
			}
		}
		if !inRegion {
			return s.nextRegion(region.StartKey(), region.StopKey()), nil
		}
		if limit == 0 || s.rows == 0 {
			return true, nil
		}
		s.resume() // the scanner stopped at its limit, but the sink still wants rows
		return false, nil
	}
}

// count counts the rows that HBase read for an answer.
func (s *scanner) count(answer *pb.ScanResponse) {
	for _, m := range answer.GetScanMetrics().GetMetrics() {
		if m.GetName() == metricRows {
			s.slot.cost.Cost.RowsExamined += m.GetValue()
			return
		}
	}
	s.slot.cost.Cost.Unreported++
}

// results gives the cells of one answer to the sink.
func (s *scanner) results(c *call) (err error) {
	block := c.block
	if len(block) > 0 {
		s.lost = 0
	}
	partial := c.scan.response.GetPartialFlagPerResult()
	for i, n := range c.scan.response.GetCellsPerResult() {
		for range n {
			var cl cell
			var stamp uint64
			if cl, stamp, block, err = nextCell(block); err != nil {
				return err
			}
			if !s.open || !bytes.Equal(cl.row, s.row) {
				if s.open {
					if err := s.sink.end(); err != nil {
						return err
					}
				}
				s.row, s.open = append(s.row[:0], cl.row...), true
				s.rows++
			}
			if err := s.sink.take(cl, stamp); err != nil {
				return err
			}
		}
		if s.open && !(i < len(partial) && partial[i]) {
			s.open = false
			if err := s.sink.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextRegion moves on to the next region and reports whether none is left.
func (s *scanner) nextRegion(first, last []byte) (done bool) {
	if s.r.reversed {
		if len(first) == 0 || len(s.r.stop) > 0 && bytes.Compare(s.r.stop, first) >= 0 {
			return true
		}
		s.r.start, s.r.skipStart = append(s.r.start[:0], first...), true
		return false
	}
	if len(last) == 0 || len(s.r.stop) > 0 && bytes.Compare(s.r.stop, last) <= 0 {
		return true
	}
	s.r.start, s.r.skipStart = append(s.r.start[:0], last...), false
	return false
}

// lastKey returns a row of the region where a reversed scan begins. If the scan excludes its start, that is
// the region of the row just before.
func (r *scanRange) lastKey() []byte {
	switch {
	case len(r.start) == 0:
		return lastRow
	case r.skipStart:
		return keyBefore(r.start)
	}
	return r.start
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
	s.scannerOpen = false
	c := s.slot.call
	c.asScan(s.table, &s.r, &s.id, 0, s.counts)
	c.scan.request.CloseScanner, c.scan.rows = yes, 0
	_ = s.slot.send(ctx) // if this fails, HBase closes the scanner after a minute
}
