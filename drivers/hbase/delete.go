package hbase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// deleteFound finds the rows or cells that a write deletes, and deletes them in the order of
// their keys, up to maxTogether in a request. If it is interrupted, the later ones remain.
func (w *writing) deleteFound(ctx context.Context, st *statement, args []drivers.Value) error {
	f := finder{reading: w.find, w: w, ctx: ctx, st: st, by: args[:len(st.Pattern().By)], args: args}
	var err error
	switch {
	case st.Pattern().Kind == schemas.Remove:
		return f.removeElements()
	case st.table.wide() && len(f.by) >= len(st.table.row):
		err = f.cells()
	default:
		err = f.rows()
	}
	if err == nil && st.Pattern().Scope == schemas.ScopePartition && len(st.table.statics) > 0 {
		err = f.statics()
	}
	if err != nil && f.deleted > 0 && !errors.Is(err, drivers.ErrUnknown) {
		return fmt.Errorf("%w: stopped after %d deletions: %w", drivers.ErrUnknown, f.deleted, err)
	}
	return err
}

// finder finds and deletes the rows or cells of one deleteFound.
type finder struct {
	*reading
	w        *writing
	ctx      context.Context
	st       *statement
	by, args []drivers.Value
	deleted  int
}

// scan gives the cells of the table between two rows to found.
func (f *finder) scan(start, stop []byte, passes *pb.Filter, found eachCell) error {
	t := f.st.table
	family := []*pb.Column{{Family: []byte(t.family)}}
	return f.reading.scan.run(f.ctx, t.hbase, scanRange{start: start, stop: stop, columns: family, filter: passes}, found)
}

// rows deletes the rows of a range, maxTogether at a time.
func (f *finder) rows() error {
	if err := f.bounds.set(f.st, f.st.table.row, f.by, f.args); err != nil || f.bounds.none {
		return err
	}
	var keys [][]byte
	remove := func() error {
		f.slot.cost.Cost.RowsExamined += int64(len(keys))
		m := f.w.multiAt(0)
		m.begin()
		for _, row := range keys {
			e := edit{table: f.st.table.hbase, row: row, counted: f.st.table.counted}
			e.deleteAll(f.st.table.family)
			m.next().encode(&e, nil, &f.cluster.wal)
		}
		keys = keys[:0]
		done, err := m.send(f.ctx, f.cluster, f.parallel(1)[0])
		f.deleted += done
		return err
	}
	err := f.scan(f.bounds.lower, f.bounds.upper, allOf(firstOnly(), keysOnly()), func(c cell) error {
		if keys = append(keys, c.row); len(keys) < maxTogether {
			return nil
		}
		return remove()
	})
	if err != nil {
		return err
	}
	return remove()
}

// cells deletes the cells of a range of one row, maxTogether at a time.
func (f *finder) cells() error {
	t := f.st.table
	if err := f.rowKey(t.row, f.by[:len(t.row)]); err != nil {
		return err
	}
	if err := f.bounds.set(f.st, t.rest, f.by[len(t.row):], f.args); err != nil || f.bounds.none {
		return err
	}
	passes := keysOnly()
	if len(f.bounds.lower)+len(f.bounds.upper) > 0 {
		passes = allOf(columnRange(f.bounds.lower, f.bounds.upper), passes)
	}
	e := f.w.edit(0, t)
	e.row = append(e.row, f.key...)
	remove := func() error {
		if _, err := f.parallel(1)[0].apply(f.ctx, e, nil, &f.cluster.wal); err != nil {
			return err
		}
		f.deleted += len(e.ops)
		e.ops, e.arena = e.ops[:0], e.arena[:0]
		return nil
	}
	err := f.scan(f.key, append(f.key, 0), passes, func(c cell) error {
		f.slot.cost.Cost.RowsExamined++
		from := e.beginQualifier("")
		e.arena = append(e.arena, c.qualifier...)
		if e.delete(t.family, from); len(e.ops) < maxTogether {
			return nil
		}
		return remove()
	})
	if err != nil {
		return err
	}
	return remove()
}

// statics deletes the static columns of a partition.
func (f *finder) statics() (err error) {
	t := f.st.table
	e := f.w.edit(0, t)
	if e.row, err = appendKey(e.row, t.static, f.by[:len(t.static)]); err != nil {
		return err
	}
	e.deleteAll(staticFamily)
	_, err = f.slot.apply(f.ctx, e, nil, &f.cluster.wal)
	return err
}

// removeElements removes elements from lists: it finds them by their values and
// deletes those that it found. What is appended meanwhile stays.
func (f *finder) removeElements() error {
	st, e := f.st, f.w.edit(0, f.st.table)
	if err := st.put(e, f.args); err != nil { // sets e.row; a remove puts no cell
		return err
	}
	family, _ := st.family()
	c := f.slot.call
	c.asGet(st.table.hbase, e.row, []*pb.Column{{Family: []byte(family)}}, wantedRanges(st.lists, false), 0)
	if err := f.slot.send(f.ctx); err != nil {
		return err
	}
	f.slot.cost.Cost.RowsExamined++
	err := c.eachCell(func(c cell, _ uint64) error {
		for _, w := range st.lists {
			if !bytes.HasPrefix(c.qualifier, append([]byte(w.name), elements)) {
				continue
			}
			v, err := decodeValue(w.typ.Elem.Kind, c.value, false)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(f.args[w.at].Elems(), v.Equal) {
				from := e.beginQualifier("")
				e.arena = append(e.arena, c.qualifier...)
				e.delete(family, from)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = f.slot.apply(f.ctx, e, nil, &f.cluster.wal)
	return err
}
