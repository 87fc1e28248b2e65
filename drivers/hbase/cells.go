package hbase

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"sort"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
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

// cellSink yields rows that are cells.
type cellSink struct {
	*reading
	row      []byte // the HBase row whose key is decoded
	rowArena []byte
	last     cell // the last cell that was taken

	// skip is the qualifier of the first cell to yield of the HBase row skipRow. If skip is
	// empty, take skips the whole row.
	skipRow, skip []byte
	// buffered is true if take keeps the cells in kept and does not yield them.
	buffered bool
	kept     []cell
}

func (k *cellSink) take(c cell, _ uint64) (err error) {
	k.examined(1)
	if len(k.skipRow) > 0 && bytes.Equal(c.row, k.skipRow) &&
		(len(k.skip) == 0 || bytes.Compare(c.qualifier, k.skip) < 0) {
		return nil
	}
	k.last = c
	if k.buffered {
		k.kept = append(k.kept, c)
		if n := int(k.calls.Left()); n > 0 && len(k.kept) >= 2*n+64 { // a reverse read wants only the last n
			k.kept = append(k.kept[:0], k.kept[len(k.kept)-n:]...)
		}
		return nil
	}
	return k.yieldCell(c)
}

func (k *cellSink) end() error { return nil }

// restartRow makes the sink skip the cells of the row that it has taken.
func (k *cellSink) restartRow() {
	k.skipRow = append(k.skipRow[:0], k.last.row...)
	k.skip = append(append(k.skip[:0], k.last.qualifier...), 0)
}

func (k *cellSink) rowLimit() uint32 { return 0 }

// yieldCell yields one cell as a row.
func (k *cellSink) yieldCell(c cell) (err error) {
	t, rows := k.st.table, len(k.st.table.row)
	if k.row == nil || !bytes.Equal(k.row, c.row) {
		if k.rowArena, err = decodeKey(t.row, c.row, k.keyVals[:rows], k.rowArena[:0]); err != nil {
			if !k.tolerant {
				return err
			}
			breakAll(k.keyVals[:rows], c.row)
		}
		k.row = c.row
	}
	if k.arena, err = decodeKey(t.rest, c.qualifier, k.keyVals[rows:], k.arena[:0]); err != nil {
		if !k.tolerant {
			return err
		}
		breakAll(k.keyVals[rows:], c.qualifier)
	}
	if len(t.columns) > 0 {
		if k.vals[0], err = decodeValue(t.columns[0].Type.Kind, c.value); err != nil {
			if !k.tolerant {
				return err
			}
			k.vals[0] = drivers.Broken(c.value)
		}
	}
	return k.emit()
}

// emitBackward yields kept cells from the last to the first.
func (r *reading) emitBackward(kept []cell) error {
	for _, c := range slices.Backward(kept) {
		if err := r.cells.yieldCell(c); err != nil {
			return err
		}
	}
	return nil
}

// getPrefixes reads the cells of the HBase row r.key whose qualifiers begin with one of
// r.prefixes into r.cells.kept. If whole, the prefixes are whole qualifiers.
func (r *reading) getPrefixes(whole bool) error {
	st := r.st
	r.sorted = append(r.sorted[:0], r.prefixes...)
	slices.SortFunc(r.sorted, bytes.Compare)
	r.sorted = slices.CompactFunc(r.sorted, bytes.Equal)
	ask, filter := st.view.ask, r.valueFilter()
	if whole {
		r.element.Family = append(r.element.Family[:0], st.table.family...)
		r.element.Qualifier = append(r.element.Qualifier[:0], r.sorted...)
		r.elementAsk = append(r.elementAsk[:0], &r.element)
		ask = r.elementAsk
	} else {
		filter = allOf(columnPrefixes(r.sorted), filter)
	}
	r.cells.kept = r.cells.kept[:0]
	c := r.slot.request("Get", st.table.hbase, r.key)
	c.asGet(r.key, ask, filter, 0)
	if err := r.slot.sendBatched(r.ctx); err != nil {
		return err
	}
	return c.eachCell(r.cells.keepCell)
}

func (k *cellSink) keepCell(c cell, _ uint64) error {
	k.examined(1)
	k.kept = append(k.kept, c)
	return nil
}

// emitPrefix yields the kept cells whose qualifiers begin with one prefix.
func (r *reading) emitPrefix(prefix []byte, whole bool) error {
	kept := r.cells.kept
	from := sort.Search(len(kept), func(i int) bool { return bytes.Compare(kept[i].qualifier, prefix) >= 0 })
	to := from
	for to < len(kept) && bytes.HasPrefix(kept[to].qualifier, prefix) && (!whole ||
		len(kept[to].qualifier) == len(prefix)) {
		to++
	}
	if r.st.backward {
		return r.emitBackward(kept[from:to])
	}
	for _, c := range kept[from:to] {
		if err := r.cells.yieldCell(c); err != nil {
			return err
		}
	}
	return nil
}
