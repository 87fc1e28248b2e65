package rpc

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Cell is a cell that HBase returned. It shares the bytes of the answer.
type Cell struct {
	Row, Family, Qualifier, Value []byte
	Stamp                         uint64 // HBase's timestamp, in ms
}

var errCells = errors.New("HBase sent a block of cells that cannot be read")

// DeserializeCellBlocks reads the cells that follow a response, in the form that appendCell writes. HBase says how many
// there are: a number or a length that the block cannot have is an error.
func (c *Call) DeserializeCellBlocks(response proto.Message, block []byte) (size uint32, err error) {
	n := int64(0)
	switch r := response.(type) {
	case interface{ GetResult() *pb.Result }: // to a get or a mutation
		n = int64(r.GetResult().GetAssociatedCellCount())
	case *pb.ScanResponse:
		for _, cells := range r.GetCellsPerResult() {
			n += int64(cells)
		}
		if len(r.GetPartialFlagPerResult()) != len(r.GetCellsPerResult()) {
			return 0, errCells
		}
	default:
		return uint32(len(block)), nil
	}
	if n < 0 || n > int64(len(block)/CellOverhead) {
		return 0, errCells
	}
	cells, b := make([]Cell, n), block
	for i := range cells {
		if len(b) < CellOverhead {
			return 0, errCells
		}
		size, key, value := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
		if uint64(size) != 8+uint64(key)+uint64(value) || uint64(len(b)) < 4+uint64(size) {
			return 0, errCells
		}
		k, v := b[12:12+key], b[12+key:4+size]
		row := 2 + int(binary.BigEndian.Uint16(k))
		if len(k) < row+1+8+1 {
			return 0, errCells
		}
		family, end := row+1+int(k[row]), len(k)-8-1
		if end < family {
			return 0, errCells
		}
		cells[i] = Cell{k[2:row:row], k[row+1 : family : family], k[family:end:end], v, binary.BigEndian.Uint64(k[end:])}
		b = b[4+size:]
	}
	c.after = cells
	return uint32(len(block) - len(b)), nil
}

const (
	// latest is the timestamp of a cell that the region server stamps (HConstants.LATEST_TIMESTAMP).
	latest = 1<<63 - 1
	// beyond is the timestamp of a delete that hides all cells written before it, also those whose
	// timestamps run ahead of the clock, as an Increment's do.
	beyond = latest - 1
	// first is a timestamp before that of every cell that a region server stamps.
	first = 1
)

// CellOverhead is the size of a cell in bytes without row, family, qualifier and value.
const CellOverhead = 4 + 4 + 4 + 2 + 1 + 8 + 1

// cellsIn reads the cells in a GetResponse.
func cellsIn(response []byte) (cells []Cell, err error) {
	err = eachField(response, func(field protowire.Number, result []byte, _ uint64) error {
		if field != 1 { // not GetResponse.result
			return nil
		}
		n := 0
		err := eachField(result, func(protowire.Number, []byte, uint64) error { n++; return nil })
		if err != nil {
			return err
		}
		cells = make([]Cell, 0, n)
		return eachField(result, func(field protowire.Number, b []byte, _ uint64) error {
			if field != 1 { // not Result.cell
				return nil
			}
			var c Cell
			err := eachField(b, c.set)
			cells = append(cells, c)
			return err
		})
	})
	return cells, err
}

// set takes a field of the message Cell.
func (c *Cell) set(field protowire.Number, b []byte, n uint64) error {
	switch field {
	case 1:
		c.Row = b
	case 2:
		c.Family = b
	case 3:
		c.Qualifier = b
	case 4:
		c.Stamp = n
	case 6:
		c.Value = b
	}
	return nil
}

// eachField calls do with each field of a message: with its bytes, or its number.
func eachField(message []byte, do func(field protowire.Number, b []byte, n uint64) error) error {
	for len(message) > 0 {
		field, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return errCells
		}
		message = message[size:]
		var b []byte
		var n uint64
		switch kind {
		case protowire.BytesType:
			b, size = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(message)
		default:
			size = protowire.ConsumeFieldValue(field, kind, message)
		}
		if size < 0 {
			return errCells
		}
		if err := do(field, b, n); err != nil {
			return err
		}
		message = message[size:]
	}
	return nil
}

// appendCell appends a cell in the form of HBase's KeyValueCodec: the length of all that
// follows, the length of the key, the length of the value; then the key, which is row,
// family, qualifier, timestamp and type; then the value. The server sets the timestamp, except
// that of an op that must hide no older cell, or all of them.
func appendCell(dst, row []byte, o *op) []byte {
	key := 2 + len(row) + 1 + len(o.family) + len(o.qualifier) + 8 + 1
	dst = slices.Grow(dst, 12+key+len(o.value))
	dst = binary.BigEndian.AppendUint32(dst, uint32(4+4+key+len(o.value)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(key))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(o.value)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(row)))
	dst = append(dst, row...)
	dst = append(dst, byte(len(o.family)))
	dst = append(dst, o.family...)
	dst = append(dst, o.qualifier...)
	dst = binary.BigEndian.AppendUint64(dst, o.stamp)
	dst = append(dst, o.action.cell)
	return append(dst, o.value...)
}
