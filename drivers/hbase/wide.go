package hbase

import (
	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
)

// maxStoreLimit is the most cells of a row that one Get asks for. To read more, the driver
// scans the row.
const maxStoreLimit = 1000

// readCells reads rows that are cells of wide HBase rows.
func (r *reading) readCells() error {
	st := r.st
	r.cells.reading, r.cells.row, r.cells.skipRow = r, nil, r.cells.skipRow[:0]
	r.staticOf = nil
	if len(st.filters) > 0 { // HBase does not tell how many cells a filter drops
		r.slot.cost.Cost.Untold++
	}
	r.fixed = append(r.fixed[:0], r.args[:len(st.Pattern().By)]...)
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
	if err := r.bounds.set(st, st.table.rest, fixed[rows:], r.args); err != nil {
		return err
	}
	if r.bounds.empty() {
		return nil
	}
	return r.oneRow(len(fixed) == len(st.table.key))
}

// oneRow reads the cells of one row within the bounds: with a Get if they are few, else with a
// scan of the row. If exact, lower is the qualifier of the one cell to read. HBase cannot read
// a row's cells backwards, so a reverse read reads the whole range and keeps its end.
func (r *reading) oneRow(exact bool) error {
	st := r.st
	ask, filter := st.view.ask, r.valueFilter()
	switch {
	case exact:
		ask = r.askFor(r.bounds.lower)
	case len(r.bounds.lower)+len(r.bounds.upper) > 0:
		filter = allOf(r.rangeFilter(), filter)
	}
	r.cells.buffered = st.backward && !exact
	r.cells.kept = r.cells.kept[:0]
	if left := r.calls.Left(); exact || left > 0 && left <= maxStoreLimit && !st.backward {
		c := r.slot.request("Get", st.table.hbase, r.key)
		c.asGet(r.key, ask, filter, uint32(max(left, 0)))
		if err := r.slot.sendBatched(r.ctx); err != nil {
			return err
		}
		return c.eachCell(r.cells.take)
	}
	s := &r.scan.r
	s.start, s.stop = append(s.start[:0], r.key...), append(append(s.stop[:0], r.key...), 0)
	s.reversed, s.skipStart, s.columns, s.filter = false, false, ask, filter
	r.scan.sink = &r.cells
	if err := r.scan.run(r.ctx, st.table.hbase); err != nil || !r.cells.buffered {
		return err
	}
	return r.emitBackward(r.cells.kept)
}

func (r *reading) askFor(qualifier []byte) []*pb.Column {
	r.element.Family = append(r.element.Family[:0], r.st.table.family...)
	r.element.Qualifier = append(r.element.Qualifier[:0], qualifier)
	r.elementAsk = append(r.elementAsk[:0], &r.element)
	return r.elementAsk
}

// rangeFilter lets the qualifiers within the bounds pass.
func (r *reading) rangeFilter() *pb.Filter {
	return columnRange(nilIfEmpty(r.bounds.lower), nilIfEmpty(r.bounds.upper))
}

func nilIfEmpty(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// valueFilter returns the filter on the cells' values.
func (r *reading) valueFilter() *pb.Filter {
	if len(r.st.filters) == 0 {
		return nil
	}
	return valueIs(r.args[r.st.Layout.Filter])
}

// severalRows scans rows for cells: the row keys begin with the fixed columns.
func (r *reading) severalRows(fixed []drivers.Value) error {
	st, rows := r.st, len(r.st.table.row)
	if err := r.bounds.set(st, st.table.row, fixed, r.args); err != nil {
		return err
	}
	r.bounds.part(st)
	if r.bounds.empty() {
		return nil
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
	s := &r.scan.r // forwards: HBase reads the cells of a row in one order only
	s.start, s.stop = append(s.start[:0], r.bounds.lower...), append(s.stop[:0], r.bounds.upper...)
	s.reversed, s.skipStart = false, false
	s.columns, s.filter = st.view.ask, allOf(st.view.filter, r.valueFilter())
	r.scan.sink = &r.cells
	return r.scan.run(r.ctx, st.table.hbase)
}

// wideMany reads the cells of one row for each element of a list, in the list's order. One Get
// reads up to maxTogether elements: by the cells' qualifiers if the elements complete them, else
// with a filter for their prefixes.
func (r *reading) wideMany(list []drivers.Value) error {
	st, rows := r.st, len(r.st.table.row)
	if err := r.rowKey(st.table.row, r.fixed[:rows]); err != nil {
		return err
	}
	below := r.fixed[rows:]
	whole := len(r.fixed)+1 == len(st.table.key)
	for len(list) > 0 {
		n := min(len(list), maxTogether)
		r.rest, r.prefixes = r.rest[:0], r.prefixes[:0]
		for _, v := range list[:n] {
			var err error
			at := len(r.rest)
			if r.rest, err = appendKey(r.rest, st.table.rest, below); err != nil {
				return err
			}
			if r.rest, err = st.table.rest[len(below)].append(r.rest, v); err != nil {
				return err
			}
			r.prefixes = append(r.prefixes, r.rest[at:len(r.rest):len(r.rest)])
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
