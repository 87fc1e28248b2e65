package hbase

import (
	"bytes"
	"slices"
	"sort"

	"github.com/mailbench/mailbench/drivers"
)

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

func (k *cellSink) take(c cell, _ uint64) (more bool, err error) {
	k.examined(1)
	switch {
	case len(k.skipRow) > 0 && bytes.Equal(c.row, k.skipRow) && (len(k.skip) == 0 ||
		bytes.Compare(c.qualifier, k.skip) < 0):
		return true, nil
	}
	k.last = c
	switch {
	case k.buffered:
		k.kept = append(k.kept, c)
		if n := int(k.reading.left); n > 0 && len(k.kept) >= 2*n+64 { // a reverse read wants only the last n
			k.kept = append(k.kept[:0], k.kept[len(k.kept)-n:]...)
		}
		return true, nil
	}
	return k.yieldCell(c)
}

func (k *cellSink) end() (bool, error) { return true, nil }

// restartRow makes the sink skip the cells of the row that it has taken.
func (k *cellSink) restartRow() {
	k.skipRow = append(k.skipRow[:0], k.last.row...)
	k.skip = append(append(k.skip[:0], k.last.qualifier...), 0)
}

func (k *cellSink) rowLimit() uint32 { return 0 }

// yieldCell yields one cell as a row.
func (k *cellSink) yieldCell(c cell) (more bool, err error) {
	t, rows := k.st.table, len(k.st.table.row)
	if k.row == nil || !bytes.Equal(k.row, c.row) {
		if k.rowArena, err = decodeKey(t.row, c.row, k.keyVals[:rows], k.rowArena[:0]); err != nil {
			if !k.tolerant {
				return false, err
			}
			breakAll(k.keyVals[:rows], c.row)
		}
		k.row = c.row
	}
	if k.arena, err = decodeKey(t.rest, c.qualifier[len(t.lead):], k.keyVals[rows:], k.arena[:0]); err != nil {
		if !k.tolerant {
			return false, err
		}
		breakAll(k.keyVals[rows:], c.qualifier)
	}
	if len(t.columns) > 0 {
		if k.vals[0], err = decodeValue(t.columns[0].Type.Kind, c.value); err != nil {
			if !k.tolerant {
				return false, err
			}
			k.vals[0] = drivers.Broken(c.value)
		}
	}
	return k.emit()
}

// emitBackward yields kept cells from the last to the first.
func (r *reading) emitBackward(kept []cell) error {
	for _, c := range slices.Backward(kept) {
		if more, err := r.cells.yieldCell(c); err != nil || !more {
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
		if more, err := r.cells.yieldCell(c); err != nil || !more {
			return err
		}
	}
	return nil
}
