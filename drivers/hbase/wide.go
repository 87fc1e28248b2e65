package hbase

import (
	"bytes"
	"slices"
	"sort"

	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
)

// maxStoreLimit is the most cells of a row that one Get requests. To read more, the driver
// scans the row.
const maxStoreLimit = 1000

// readCells reads rows that are cells of wide HBase rows.
func (r *reading) readCells() error {
	st := r.st
	r.cells.row, r.cells.skipRow = nil, r.cells.skipRow[:0]
	r.whole.left = nil       // the cells of a row may be many rows
	if len(st.filters) > 0 { // HBase does not report how many cells a filter drops
		r.slot.cost.Cost.Unreported++
	}
	rows := len(st.table.row)
	if st.Layout.In < 0 {
		return r.wideSlice(r.fixed)
	}
	list := r.args[st.Layout.In].Elems()
	p := st.Pattern()
	if len(p.By) >= rows && p.From == nil && p.To == nil && len(p.After) == 0 {
		return r.wideMany(list)
	}
	for _, v := range list {
		if err := r.wideSlice(append(r.fixed, v)); err != nil {
			return err
		}
	}
	return nil
}

// wideSlice reads the cells below the fixed columns: of one row, or of several.
func (r *reading) wideSlice(fixed []drivers.Value) error {
	st, rows := r.st, len(r.st.table.row)
	if len(fixed) < rows {
		return r.severalRows(fixed)
	}
	if err := r.rowKey(st.table.row, fixed[:rows]); err != nil {
		return err
	}
	if err := r.bounds.set(st, st.table.rest, fixed[rows:], r.args); err != nil || r.bounds.none {
		return err
	}
	return r.oneRow(len(fixed) == len(st.table.key))
}

// oneRow reads the cells of one row within the bounds: with a Get if they are few, else with a
// scan of the row. If exact, lower is the qualifier of the one cell to read. HBase cannot read
// a row's cells backwards, so a reverse read reads the whole range and keeps its end.
func (r *reading) oneRow(exact bool) error {
	st := r.st
	requested, passes := st.view.requested, r.valueFilter()
	switch {
	case exact:
		requested = r.requestedFor(st.table.family, r.bounds.lower)
	case len(r.bounds.lower)+len(r.bounds.upper) > 0:
		passes = allOf(columnRange(r.bounds.lower, r.bounds.upper), passes)
	}
	r.cells.buffered = st.backward && !exact
	r.cells.kept = r.cells.kept[:0]
	if left := r.left(); exact || left > 0 && left <= maxStoreLimit && !st.backward {
		c := r.slot.call
		c.asGet(st.table.hbase, r.key, requested, passes, uint32(max(left, 0)))
		if err := r.slot.send(r.ctx); err != nil {
			return err
		}
		return c.eachCell(r.cells.take)
	}
	scan := r.whole
	r.rest = append(append(r.rest[:0], r.key...), 0)
	scan.start, scan.stop, scan.columns, scan.filter = r.key, r.rest, requested, passes
	if err := r.scan.run(r.ctx, st.table.hbase, scan, &r.cells); err != nil || !r.cells.buffered {
		return err
	}
	return r.emitBackward(r.cells.kept)
}

// requestedFor returns some columns of a family, as a request has them.
func (r *reading) requestedFor(family string, qualifiers ...[]byte) []*pb.Column {
	r.element.Family = append(r.element.Family[:0], family...)
	r.element.Qualifier = append(r.element.Qualifier[:0], qualifiers...)
	r.elementRequested = append(r.elementRequested[:0], &r.element)
	return r.elementRequested
}

// valueFilter returns the filter on the cells' values.
func (r *reading) valueFilter() *pb.Filter {
	if len(r.st.filters) == 0 {
		return nil
	}
	return must(filter.NewValueFilter(filter.NewCompareFilter(filter.Equal,
		bytesOf(appendValue(nil, r.args[r.st.Layout.Filter])))))
}

// severalRows scans rows for cells: the row keys begin with the fixed columns.
func (r *reading) severalRows(fixed []drivers.Value) error {
	st, rows := r.st, len(r.st.table.row)
	if err := r.bounds.set(st, st.table.row, fixed, r.args); err != nil || r.bounds.none {
		return err
	}
	r.cells.buffered = false
	if n := rows - len(fixed); len(st.Pattern().After) > n && !r.args[st.Layout.After].IsNull() {
		// An earlier page has read the first cells of the first row.
		after := r.args[st.Layout.After : st.Layout.After+len(st.Pattern().After)]
		var err error
		r.cells.skipRow = append(r.cells.skipRow, r.bounds.lower...)
		if r.cells.skip, err = appendKey(r.cells.skip[:0], st.table.rest, after[n:]); err != nil {
			return err
		}
		r.cells.skip = keyAfter(r.cells.skip, st.table.rest, len(after)-n)
	}
	scan := r.whole // forwards: HBase reads the cells of a row in one order only
	scan.start, scan.stop, scan.filter = r.bounds.lower, r.bounds.upper, r.valueFilter()
	return r.scan.run(r.ctx, st.table.hbase, scan, &r.cells)
}

// wideMany reads the cells of one row for each element of a list, in the list's order. One Get
// reads up to maxTogether elements: by the cells' qualifiers if the elements complete them, else
// with a filter for their prefixes.
func (r *reading) wideMany(list []drivers.Value) error {
	st, rows := r.st, len(r.st.table.row)
	if err := r.rowKey(st.table.row, r.fixed[:rows]); err != nil {
		return err
	}
	at := len(r.fixed)
	whole := len(r.fixed)+1 == len(st.table.key)
	for len(list) > 0 {
		n := min(len(list), maxTogether)
		r.rest, r.prefixes = r.rest[:0], r.prefixes[:0]
		for _, v := range list[:n] {
			var err error
			from := len(r.rest)
			r.fixed = append(r.fixed[:at], v)
			if r.rest, err = appendKey(r.rest, st.table.rest, r.fixed[rows:]); err != nil {
				return err
			}
			r.prefixes = append(r.prefixes, r.rest[from:len(r.rest):len(r.rest)])
		}
		if err := r.getPrefixes(whole); err != nil {
			return err
		}
		for i := range n {
			if err := r.emitPrefix(r.prefixes[i], whole); err != nil {
				return err
			}
		}
		list = list[n:]
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
	k.slot.cost.Cost.RowsExamined++
	if len(k.skipRow) > 0 && bytes.Equal(c.row, k.skipRow) &&
		(len(k.skip) == 0 || bytes.Compare(c.qualifier, k.skip) < 0) {
		return nil
	}
	k.last = c
	if k.buffered {
		k.kept = append(k.kept, c)
		if n := int(k.left()); n > 0 && len(k.kept) >= 2*n+64 { // a reverse read wants only the last n
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

// yieldCell yields one cell as a row.
func (k *cellSink) yieldCell(c cell) (err error) {
	t, rows := k.st.table, len(k.st.table.row)
	if k.row == nil || !bytes.Equal(k.row, c.row) {
		if k.rowArena, err = decodeKey(t.row, c.row, k.keyVals[:rows], k.rowArena[:0], k.tolerant); err != nil {
			return err
		}
		k.row = c.row
	}
	if k.arena, err = decodeKey(t.rest, c.qualifier, k.keyVals[rows:], k.arena[:0], k.tolerant); err != nil {
		return err
	}
	if len(t.columns) > 0 {
		if k.vals[0], err = decodeValue(t.columns[0].Type.Kind, c.value, k.tolerant); err != nil {
			return err
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
	requested, passes := st.view.requested, r.valueFilter()
	if whole {
		requested = r.requestedFor(st.table.family, r.sorted...)
	} else {
		passes = allOf(must(filter.NewMultipleColumnPrefixFilter(r.sorted)), passes)
	}
	r.cells.kept = r.cells.kept[:0]
	c := r.slot.call
	c.asGet(st.table.hbase, r.key, requested, passes, 0)
	if err := r.slot.send(r.ctx); err != nil {
		return err
	}
	return c.eachCell(r.cells.keepCell)
}

func (k *cellSink) keepCell(c cell, _ uint64) error {
	k.slot.cost.Cost.RowsExamined++
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
