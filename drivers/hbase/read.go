package hbase

import (
	"bytes"
	"context"
	"slices"

	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/keys"
	"github.com/mailbench/mailbench/drivers/plan"
)

// session runs statements for one worker.
type session struct {
	plan.Session[*statement]
	*rpc.Sender

	// skipped is the number of rows without a marker cell that a tolerant session has met
	// since Skipped was called, and skippedKeys are the keys of the first.
	skipped     int64
	skippedKeys [][]byte
}

var (
	_ drivers.Session = (*session)(nil)
	_ drivers.Skipper = (*session)(nil)
)

func (s *Store) newSession() *session {
	se := new(session)
	se.Init(&s.Gate, se)
	se.Sender = s.newSender(&se.Meter)
	return se
}

// Skipped implements drivers.Skipper.
func (s *session) Skipped() (rows int64, keys [][]byte) {
	rows, keys = s.skipped, s.skippedKeys
	s.skipped, s.skippedKeys = 0, nil
	return rows, keys
}

// reading is one read.
type reading struct {
	*session
	ctx  context.Context
	st   *statement
	args []drivers.Value
	scan rpc.Range // what it reads, without the bounds

	bounds    plan.Range
	columns   decoder
	row       []drivers.Value // the current row:
	key       []drivers.Value // its primary key,
	vals      []drivers.Value // its columns,
	statics   []drivers.Value // and the static columns of its partition
	keyBytes  []byte          // bytes of decoded key columns that are not raw
	staticsOf []byte          // row key of the partition whose static columns are in statics

	// Of wide HBase rows, whose cells are rows:
	wideRow, wideKey []byte      // the HBase row whose key is decoded, and bytes of its columns
	skipRow, skipTo  []byte      // the cells of this HBase row before this qualifier are left out, or all if it is empty
	buffered         bool        // cells are kept and not yielded
	kept             []*rpc.Cell // the last of them
}

// RunRead implements plan.Runner.
func (s *session) RunRead(ctx context.Context, st *statement, args []drivers.Value) error {
	p := st.Pattern()
	k, n := len(st.table.key), len(st.table.key)+len(st.table.columns)
	row := make([]drivers.Value, n+len(st.table.schema.Static))
	r := &reading{
		session: s, ctx: ctx, st: st, args: args, scan: st.view.scan, columns: decoder{tolerant: s.Tolerant},
		row: row, key: row[:k], vals: row[k:n], statics: row[n:],
	}
	if !st.table.wide {
		r.scan.Left = &s.Left
	}
	if len(p.Filter) > 0 { // rows or cells that have the values of the call pass, and of these what the statement reads
		var all []*pb.Filter
		for i, c := range p.Filter {
			if v := args[st.Layout.Filter+i]; st.table.wide {
				is := filter.NewCompareFilter(filter.Equal, bytesOf(appendValue(nil, v)))
				all = append(all, must(filter.NewValueFilter(is)))
			} else {
				all = append(all, columnIs(st.table.family, c.Name, v))
			}
		}
		r.scan.Filter = allOf(append(all, r.scan.Filter)...)
		if st.table.wide { // HBase does not report how many cells a filter drops
			s.Cost.Unreported++
		}
	}
	fixed := args[:len(p.By):len(p.By)]
	if st.Layout.In >= 0 {
		return st.readList(r, fixed, args[st.Layout.In].Elems())
	}
	return st.read(r, fixed)
}

// The reads of the rows that begin with the fixed columns. compileRead chooses one.

// scanRows reads a range of HBase rows, or of rows that are cells of several of them.
func (r *reading) scanRows(fixed []drivers.Value) error {
	st, scan, take := r.st, r.scan, r.takeRow
	if err := r.bounds.Set(&st.Plan, st.table.row, fixed, r.args, st.backward); err != nil || r.bounds.Empty {
		return err
	}
	scan.Start, scan.Stop = r.bounds.Lower, r.bounds.Upper
	switch n, after := len(st.table.row)-len(fixed), len(st.Pattern().After); {
	case !st.table.wide && st.backward:
		scan.Start, scan.Stop, scan.Reversed, scan.SkipStart = scan.Stop, scan.Start, true, len(scan.Stop) > 0
	case st.table.wide: // forwards: HBase reads the cells of a row in one order only
		take = r.takeCells
		if after <= n || r.args[st.Layout.After].IsNull() {
			break
		}
		// An earlier page has read the first cells of the first row.
		key, err := st.table.rest.Append(nil, 0, r.args[st.Layout.After+n:st.Layout.After+after])
		if err != nil {
			return err
		}
		r.skipRow, r.skipTo = bytes.Clone(r.bounds.Lower), st.table.rest.After(key, after-n)
	}
	return r.Scan(r.ctx, scan, take)
}

// getRow reads one HBase row.
func (r *reading) getRow(fixed []drivers.Value) error {
	last := len(fixed) - 1
	return r.getRows(fixed[:last:last], fixed[last:])
}

// getElement reads one value of a map.
func (r *reading) getElement(fixed []drivers.Value) error {
	st, column := r.st, r.st.Pattern().Element
	key, err := rowKey(st.table.row, fixed)
	if err != nil {
		return err
	}
	element := append([]byte(column.Name), elements)
	element, err = elementParts(column.Type).Append(element, 0, r.args[st.Layout.Element:st.Layout.Element+1])
	if err != nil {
		return err
	}
	scan := r.scan
	scan.Start, scan.Columns = key, columnsOf(st.table.family, []byte(column.Name), element)
	cells, err := r.Get(r.ctx, scan, 0)
	if err != nil {
		return err
	}
	if _, err := r.columns.decode(&st.view, cells, r.vals); err != nil || len(r.columns.elems) != 2 {
		return err
	}
	r.Cost.RowsScanned++
	return r.Yield(r.columns.elems[1:])
}

// maxStoreLimit is the most cells of a row that one Get requests. To read more, the driver
// scans the row.
const maxStoreLimit = 1000

// oneRow reads the cells of one row, within the bounds: with a Get if they are few, else with a scan of the row. HBase
// cannot read a row's cells backwards, so a reverse read reads the whole range and keeps its end.
func (r *reading) oneRow(fixed []drivers.Value) error {
	st, scan := r.st, r.scan
	if err := st.bound(&scan, &r.bounds, fixed, r.args); err != nil || r.bounds.Empty {
		return err
	}
	exact := len(fixed) == len(st.table.key) // lower is the qualifier of the one cell to read
	if exact {
		scan.Columns, scan.Filter = columnsOf(st.table.family, r.bounds.Lower), r.scan.Filter
	}
	r.buffered, r.kept = st.backward && !exact, nil
	if left := r.Left; exact || left > 0 && left <= maxStoreLimit && !st.backward {
		cells, err := r.Get(r.ctx, scan, max(left, 0))
		if err != nil {
			return err
		}
		return r.takeCells(cells)
	}
	err := r.Scan(r.ctx, scan, r.takeCells)
	for i := len(r.kept) - 1; i >= 0 && err == nil; i-- {
		err = r.takeCell(r.kept[i])
	}
	return err
}

// bound sets a scan to the rows that a call reads or deletes or, if the fixed columns are those of one wide row, to
// its cells. Where the bounds are empty there can be none.
func (st *statement) bound(scan *rpc.Range, b *plan.Range, fixed, args []drivers.Value) (err error) {
	rows := len(st.table.row)
	if !st.table.wide || len(fixed) < rows {
		err = b.Set(&st.Plan, st.table.row, fixed, args, st.backward)
		scan.Start, scan.Stop = b.Lower, b.Upper
		return err
	}
	if scan.Start, err = rowKey(st.table.row, fixed[:rows]); err != nil {
		return err
	}
	scan.Stop = append(scan.Start[:len(scan.Start):len(scan.Start)], 0)
	err = b.Set(&st.Plan, st.table.rest, fixed[rows:], args, st.backward)
	if len(b.Lower)+len(b.Upper) > 0 {
		first, last := append([]byte(nil), b.Lower...), append([]byte(nil), b.Upper...) // nil is no bound
		scan.Filter = allOf(must(filter.NewColumnRangeFilter(first, last, true, false)), scan.Filter)
	}
	return err
}

// The reads of the rows of each element of a list, in its order.

// oneByOne reads the elements one after another.
func (r *reading) oneByOne(fixed, list []drivers.Value) error {
	for _, v := range list {
		if err := r.st.read(r, append(fixed, v)); err != nil {
			return err
		}
	}
	return nil
}

// scanList reads the rows of all elements in one scan, if that yields them in the order of the list: HBase seeks from
// the rows of one element to those of the next.
func (r *reading) scanList(fixed, list []drivers.Value) error {
	if len(list) < 2 {
		return r.oneByOne(fixed, list)
	}
	ranges := make([]*filter.RowRange, len(list))
	for i, v := range list {
		if err := r.bounds.Set(&r.st.Plan, r.st.table.row, append(fixed, v), r.args, r.st.backward); err != nil {
			return err
		}
		if r.bounds.Empty || i > 0 && bytes.Compare(r.bounds.Lower, ranges[i-1].StopRow) < 0 {
			return r.oneByOne(fixed, list)
		}
		ranges[i] = filter.NewRowRange(bytes.Clone(r.bounds.Lower), bytes.Clone(r.bounds.Upper), true, false)
	}
	scan := r.scan
	scan.Start, scan.Stop = ranges[0].StartRow, ranges[len(list)-1].StopRow
	scan.Filter = allOf(must(filter.NewMultiRowRangeFilter(ranges)), scan.Filter)
	return r.Scan(r.ctx, scan, r.takeRow)
}

// getRows requests the rows of a multi together: as many as the pattern reads in parallel, so that their answers fit
// into memory.
func (r *reading) getRows(fixed, list []drivers.Value) error {
	together := maxTogether
	if n := r.st.Pattern().Parallel; n > 0 {
		together = n
	}
	scan := r.scan
	for some := range slices.Chunk(list, together) {
		calls := make([]*rpc.Call, len(some))
		for i, v := range some {
			var err error
			if scan.Start, err = rowKey(r.st.table.row, append(fixed, v)); err != nil {
				return err
			}
			calls[i] = rpc.NewGet(scan, 0)
		}
		if _, err := r.SendTogether(r.ctx, calls); err != nil {
			return err
		}
		for _, c := range calls {
			if err := r.takeRow(c.Found()); err != nil {
				return err
			}
		}
	}
	return nil
}

// getCells reads cells of one row. One Get reads up to maxTogether elements: by the cells' qualifiers if the elements
// complete them, else with a filter for their prefixes.
func (r *reading) getCells(fixed, list []drivers.Value) error {
	st, rows, scan := r.st, len(r.st.table.row), r.scan
	key, err := rowKey(st.table.row, fixed[:rows])
	if err != nil {
		return err
	}
	scan.Start = key
	for some := range slices.Chunk(list, maxTogether) {
		prefixes := make([][]byte, len(some))
		for i, v := range some {
			if prefixes[i], err = st.table.rest.Append(nil, 0, append(fixed, v)[rows:]); err != nil {
				return err
			}
		}
		slices.SortFunc(prefixes, bytes.Compare)
		prefixes = slices.CompactFunc(prefixes, bytes.Equal)
		if len(fixed)+1 == len(st.table.key) {
			scan.Columns = columnsOf(st.table.family, prefixes...)
		} else {
			scan.Filter = allOf(must(filter.NewMultipleColumnPrefixFilter(prefixes)), r.scan.Filter)
		}
		cells, err := r.Get(r.ctx, scan, 0)
		if err != nil {
			return err
		}
		r.Cost.RowsScanned += int64(len(cells))
		if err := r.takeListed(cells, some, len(fixed)); err != nil {
			return err
		}
	}
	return nil
}

// rowKey encodes the first columns of a row key.
func rowKey(parts keys.Columns, vals []drivers.Value) (key []byte, err error) {
	if key, err = parts.Append(nil, 0, vals); err == nil && len(vals) == len(parts) {
		err = rpc.CheckRow(key)
	}
	return key, err
}

// columnsOf returns some columns of a family, as a request has them.
func columnsOf(family string, qualifiers ...[]byte) []*pb.Column {
	return []*pb.Column{{Family: []byte(family), Qualifier: qualifiers}}
}

// takeRow yields the row that has the cells, if it exists.
func (r *reading) takeRow(cells []rpc.Cell) error {
	if len(cells) == 0 {
		return nil
	}
	if !r.scan.Filtered { // else HBase's scan metrics count them
		r.Cost.RowsScanned++
	}
	exists, err := r.columns.decode(&r.st.view, cells, r.vals)
	switch {
	case err != nil:
		return err
	case !exists && r.Tolerant: // it has no marker: mailbench did not write it
		if r.skipped++; len(r.skippedKeys) < drivers.SkippedNamed {
			r.skippedKeys = append(r.skippedKeys, bytes.Clone(cells[0].Row))
		}
		return nil
	case !exists:
		return nil
	}
	if r.keyBytes, err = r.st.table.row.Decode(cells[0].Row, r.key, r.keyBytes[:0], r.Tolerant); err != nil {
		return err
	}
	if r.st.statics.scan.Table != nil {
		if err := r.readStatics(); err != nil {
			return err
		}
	}
	return r.Yield(r.row)
}

// takeCells yields cells of an HBase row as rows, or keeps them.
func (r *reading) takeCells(cells []rpc.Cell) error {
	for i := range cells {
		c := &cells[i]
		r.Cost.RowsScanned++
		if len(r.skipRow) > 0 && bytes.Equal(c.Row, r.skipRow) &&
			(len(r.skipTo) == 0 || bytes.Compare(c.Qualifier, r.skipTo) < 0) {
			continue
		}
		if r.buffered {
			r.kept = append(r.kept, c)
			continue
		}
		if err := r.takeCell(c); err != nil {
			return err
		}
	}
	if n := int(r.Left); n > 0 && len(r.kept) > n { // a reverse read wants only the last n
		r.kept = append(r.kept[:0], r.kept[len(r.kept)-n:]...)
	}
	return nil
}

// takeListed yields the cells of each element of a list, in its order. Among the columns of the key, that of the
// elements is number at.
func (r *reading) takeListed(cells []rpc.Cell, list []drivers.Value, at int) (err error) {
	of, t, key := make(plan.ByElement[*rpc.Cell]), r.st.table, make([]drivers.Value, len(r.st.table.key))
	if r.st.backward {
		slices.Reverse(cells)
	}
	for i := range cells {
		c := &cells[i]
		if r.keyBytes, err = t.rest.Decode(c.Qualifier, key, r.keyBytes[:0], r.Tolerant); err != nil {
			return err
		}
		of.Add(key[at], c)
	}
	return of.Each(list, r.takeCell)
}

// takeCell yields one cell as a row.
func (r *reading) takeCell(c *rpc.Cell) (err error) {
	t := r.st.table
	if r.wideRow == nil || !bytes.Equal(r.wideRow, c.Row) { // most cells are of the row of the one before
		if r.wideKey, err = t.row.Decode(c.Row, r.key, r.wideKey[:0], r.Tolerant); err != nil {
			return err
		}
		r.wideRow = c.Row
	}
	r.keyBytes, err = t.rest.Decode(c.Qualifier, r.key, r.keyBytes[:0], r.Tolerant)
	if err == nil && len(t.columns) > 0 {
		r.vals[0], err = decodeValue(t.columns[0].Type.Kind, c.Value, r.Tolerant)
	}
	if err != nil {
		return err
	}
	if r.st.statics.scan.Table != nil {
		if err := r.readStatics(); err != nil {
			return err
		}
	}
	return r.Yield(r.row)
}

// readStatics reads the static columns of the current row's partition, unless r.statics has
// them already.
func (r *reading) readStatics() error {
	t, view := r.st.table.statics, &r.st.statics
	if r.key[0].Broken() {
		r.staticsOf = nil
		clear(r.statics)
		return nil
	}
	key, err := t.row.Append(nil, 0, r.key[:len(t.row)])
	if err != nil || r.staticsOf != nil && bytes.Equal(r.staticsOf, key) {
		return err
	}
	r.staticsOf = key
	clear(r.statics)
	scan := view.scan
	scan.Start = key
	cells, err := r.Get(r.ctx, scan, 0)
	if err == nil && len(cells) > 0 {
		r.Cost.RowsScanned++
		d := decoder{tolerant: r.Tolerant} // that of r has the values of the row
		_, err = d.decode(view, cells, r.statics)
	}
	return err
}
