package hbase

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/tsuna/gohbase/pb"
)

// The types of cells (org.apache.hadoop.hbase.KeyValue.Type).
const (
	typePut          = 4
	typeDeleteColumn = 12 // all versions of one column
	typeDeleteFamily = 14 // all columns of one family
)

const (
	// latest is the timestamp of a cell that the region server stamps (HConstants.LATEST_TIMESTAMP).
	latest = 1<<63 - 1
	// beyond is the timestamp of a delete that hides all cells written before it, also those whose
	// timestamps run ahead of the clock, as an Increment's do.
	beyond = latest - 1
	// first is a timestamp before that of every cell that a region server stamps.
	first = 1
)

// cellOverhead is the size of a cell in bytes without row, family, qualifier and value.
const cellOverhead = 4 + 4 + 4 + 2 + 1 + 8 + 1

// cell is one cell. Its fields share the bytes of a block of cells.
type cell struct {
	row, family, qualifier, value []byte
}

var errCells = errors.New("HBase sent a block of cells that cannot be read")

// appendCell appends a cell in the form of HBase's KeyValueCodec: the length of all that
// follows, the length of the key, the length of the value; then the key, which is row,
// family, qualifier, timestamp and type; then the value. The server sets the timestamp, except
// that of an op that must hide no older cell, or all of them.
func appendCell(dst, row []byte, family string, qualifier []byte, o *op, kind byte) []byte {
	key, value := 2+len(row)+1+len(family)+len(qualifier)+8+1, o.valueLen()
	dst = slices.Grow(dst, 12+key+value)
	dst = binary.BigEndian.AppendUint32(dst, uint32(4+4+key+value))
	dst = binary.BigEndian.AppendUint32(dst, uint32(key))
	dst = binary.BigEndian.AppendUint32(dst, uint32(value))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(row)))
	dst = append(dst, row...)
	dst = append(dst, byte(len(family)))
	dst = append(dst, family...)
	dst = append(dst, qualifier...)
	stamp := uint64(latest)
	switch {
	case o.early:
		stamp = first
	case o.beyond:
		stamp = beyond
	}
	dst = binary.BigEndian.AppendUint64(dst, stamp)
	dst = append(dst, kind)
	return o.appendValue(dst)
}

// nextCell takes the first cell off a block.
func nextCell(block []byte) (c cell, stamp uint64, rest []byte, err error) {
	if len(block) < cellOverhead {
		return c, 0, nil, errCells
	}
	size, key := int(binary.BigEndian.Uint32(block)), int(binary.BigEndian.Uint32(block[4:]))
	row := int(binary.BigEndian.Uint16(block[12:]))
	if size < 8+key || len(block) < 4+size || key < 2+row+1+8+1 {
		return c, 0, nil, errCells
	}
	body, rest := block[12:4+size:4+size], block[4+size:]
	family := int(body[2+row])
	if key < 2+row+1+family+8+1 {
		return c, 0, nil, errCells
	}
	c.row = body[2 : 2+row]
	c.family = body[3+row : 3+row+family]
	c.qualifier = body[3+row+family : key-9 : key-9]
	c.value = body[key:]
	return c, binary.BigEndian.Uint64(body[key-9:]), rest, nil
}

// sizeOfCells returns how many bytes the first n cells of a block take.
func sizeOfCells(block []byte, n int) (size int, err error) {
	for range n {
		if len(block)-size < 4 {
			return 0, errCells
		}
		size += 4 + int(binary.BigEndian.Uint32(block[size:]))
	}
	if size > len(block) {
		return 0, errCells
	}
	return size, nil
}

// eachCell calls take with each cell in the answer to a get or an increment. HBase sends them in a block
// after the response. A get by a client that does not send its version, such as gohbase, gets them within
// the response.
func (c *call) eachCell(take func(c cell, stamp uint64) error) error {
	var result *pb.Result
	switch r := c.response.(type) {
	case *pb.GetResponse:
		result = r.GetResult()
	case *pb.MutateResponse:
		result = r.GetResult()
	}
	for _, w := range result.GetCell() {
		if err := take(cell{w.Row, w.Family, w.Qualifier, w.Value}, w.GetTimestamp()); err != nil {
			return err
		}
	}
	for rest := c.block; len(rest) > 0; {
		cl, stamp, after, err := nextCell(rest)
		if err == nil {
			err = take(cl, stamp)
		}
		if err != nil {
			return err
		}
		rest = after
	}
	return nil
}
