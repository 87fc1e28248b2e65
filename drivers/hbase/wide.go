package hbase

import (
	"bytes"
	"slices"

	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/plan"
)

// maxStoreLimit is the most cells of a row that one Get requests. To read more, the driver
// scans the row.
const maxStoreLimit = 1000

// oneRow reads the cells of one row that begin with the fixed columns, within the bounds: with a Get if they are few,
// else with a scan of the row. HBase cannot read a row's cells backwards, so a reverse read reads the whole range and
// keeps its end.
func (r *reading) oneRow(fixed []drivers.Value) error {
	st, rows := r.st, len(r.parts)
	key, err := rowKey(r.parts, fixed[:rows])
	if err != nil {
		return err
	}
	if err := r.bounds.set(st, st.table.rest, fixed[rows:], r.args); err != nil || r.bounds.none {
		return err
	}
	scan := r.scanOf()
	exact := len(fixed) == len(st.table.key) // lower is the qualifier of the one cell to read
	switch {
	case exact:
		scan.Columns = columnsOf(st.table.family, r.bounds.lower)
	case len(r.bounds.lower)+len(r.bounds.upper) > 0:
		scan.Filter = allOf(columnRange(r.bounds.lower, r.bounds.upper), scan.Filter)
	}
	to := &r.cellSink
	to.buffered, to.kept = st.backward && !exact, nil
	if left := r.Left(); exact || left > 0 && left <= maxStoreLimit && !st.backward {
		return r.Get(r.ctx, rpc.NewGet(st.table.hbase, key, scan.Columns, scan.Filter, uint32(max(left, 0))), to)
	}
	scan.Start, scan.Stop = key, rowAfter(key)
	err = r.Scan(r.ctx, scan, to)
	for i := len(to.kept) - 1; i >= 0 && err == nil; i-- {
		err = to.yieldCell(to.kept[i])
	}
	return err
}

// rowAfter returns the first row key after another.
func rowAfter(key []byte) []byte { return append(key[:len(key):len(key)], 0) }

// columnsOf returns some columns of a family, as a request has them.
func columnsOf(family string, qualifiers ...[]byte) []*pb.Column {
	return []*pb.Column{{Family: []byte(family), Qualifier: qualifiers}}
}

// severalRows scans rows for cells: the row keys begin with the fixed columns.
func (r *reading) severalRows(fixed []drivers.Value) error {
	st, to := r.st, &r.cellSink
	if err := r.bounds.set(st, r.parts, fixed, r.args); err != nil || r.bounds.none {
		return err
	}
	to.buffered = false
	if n := len(r.parts) - len(fixed); len(st.Pattern().After) > n && !r.args[st.Layout.After].IsNull() {
		// An earlier page has read the first cells of the first row.
		after := r.args[st.Layout.After : st.Layout.After+len(st.Pattern().After)]
		var err error
		to.skipRow = bytes.Clone(r.bounds.lower)
		if to.skip, err = appendKey(nil, st.table.rest, after[n:]); err != nil {
			return err
		}
		to.skip = keyAfter(to.skip, st.table.rest, len(after)-n)
	}
	scan := r.scanOf() // forwards: HBase reads the cells of a row in one order only
	scan.Start, scan.Stop = r.bounds.lower, r.bounds.upper
	return r.Scan(r.ctx, scan, to)
}

// cellsOf reads the cells of one row for each element of a list, in the list's order. One Get
// reads up to maxTogether elements: by the cells' qualifiers if the elements complete them, else
// with a filter for their prefixes.
func (r *reading) cellsOf(list []drivers.Value) error {
	st, rows := r.st, len(r.parts)
	key, err := rowKey(r.parts, r.fixed[:rows])
	if err != nil {
		return err
	}
	for some := range slices.Chunk(list, maxTogether) {
		prefixes := make([][]byte, len(some))
		for i, v := range some {
			if prefixes[i], err = appendKey(nil, st.table.rest, append(r.fixed, v)[rows:]); err != nil {
				return err
			}
		}
		slices.SortFunc(prefixes, bytes.Compare)
		prefixes = slices.CompactFunc(prefixes, bytes.Equal)
		scan := r.scanOf()
		if len(r.fixed)+1 == len(st.table.key) {
			scan.Columns = columnsOf(st.table.family, prefixes...)
		} else {
			scan.Filter = allOf(must(filter.NewMultipleColumnPrefixFilter(prefixes)), scan.Filter)
		}
		c := rpc.NewGet(st.table.hbase, key, scan.Columns, scan.Filter, 0)
		if err := r.Send(r.ctx, c); err != nil {
			return err
		}
		r.rowsScanned += int64(len(c.Found()))
		if err := r.yieldListed(c.Found(), some); err != nil {
			return err
		}
	}
	return nil
}

// yieldListed yields the cells of each element of a list, in its order.
func (r *reading) yieldListed(cells []rpc.Cell, list []drivers.Value) (err error) {
	of, rest, vals := make(plan.ByElement[*rpc.Cell]), r.st.table.rest, make([]drivers.Value, len(r.st.table.rest))
	if r.st.backward {
		slices.Reverse(cells)
	}
	for i := range cells {
		c := &cells[i]
		if r.arena, err = decodeKey(rest, c.Qualifier, vals, r.arena[:0], r.tolerant); err != nil {
			return err
		}
		of.Add(vals[len(r.fixed)-len(r.st.table.row)], c)
	}
	return of.Each(list, r.cellSink.yieldCell)
}

// cellSink yields rows that are cells.
type cellSink struct {
	*reading
	row      []byte // the HBase row whose key is decoded
	rowArena []byte
	last     *rpc.Cell // the last cell that was taken

	// skip is the qualifier of the first cell to yield of the HBase row skipRow. If skip is
	// empty, take skips the whole row.
	skipRow, skip []byte
	// buffered is true if take keeps the cells in kept and does not yield them.
	buffered bool
	kept     []*rpc.Cell
}

func (k *cellSink) Take(c *rpc.Cell) error {
	k.rowsScanned++
	if len(k.skipRow) > 0 && bytes.Equal(c.Row, k.skipRow) &&
		(len(k.skip) == 0 || bytes.Compare(c.Qualifier, k.skip) < 0) {
		return nil
	}
	k.last = c
	if k.buffered {
		k.kept = append(k.kept, c)
		if n := int(k.Left()); n > 0 && len(k.kept) >= 2*n+64 { // a reverse read wants only the last n
			k.kept = append(k.kept[:0], k.kept[len(k.kept)-n:]...)
		}
		return nil
	}
	return k.yieldCell(c)
}

func (k *cellSink) End() error { return nil }

// RestartRow makes the sink skip the cells of the row that it has taken.
func (k *cellSink) RestartRow() {
	k.skipRow = k.last.Row
	k.skip = rowAfter(k.last.Qualifier)
}

// yieldCell yields one cell as a row.
func (k *cellSink) yieldCell(c *rpc.Cell) (err error) {
	t, rows := k.st.table, len(k.st.table.row)
	if k.row == nil || !bytes.Equal(k.row, c.Row) {
		if k.rowArena, err = decodeKey(t.row, c.Row, k.keyVals[:rows], k.rowArena[:0], k.tolerant); err != nil {
			return err
		}
		k.row = c.Row
	}
	if k.arena, err = decodeKey(t.rest, c.Qualifier, k.keyVals[rows:], k.arena[:0], k.tolerant); err != nil {
		return err
	}
	if len(t.columns) > 0 {
		if k.vals[0], err = decodeValue(t.columns[0].Type.Kind, c.Value, k.tolerant); err != nil {
			return err
		}
	}
	return k.emit()
}
