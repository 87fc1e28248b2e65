package hbase

import (
	"bytes"
	"context"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// maxJoined is how many bytes of arguments the parts of one step have at most together.
const maxJoined = 2 << 20

func (st *statement) class() class {
	switch {
	case st.Pattern().Kind == schemas.PutIf:
		return dependsOnCells
	case st.deletesRow():
		return deletesRows
	case st.Pattern().Kind == schemas.Add:
		return addsToCells
	}
	return writesCells
}

// plan makes steps of the parts of a batch. All parts are checked before the
// first is sent.
func (w *writing) plan(st *statement, parts []drivers.Call) ([]step, error) {
	w.steps = w.steps[:0]
	edits := 1 // w.edits[0] is for deleteFound
	for i := range parts {
		part, args := st.parts[parts[i].Part], parts[i].Args
		with, err := w.deletesWithHost(part, args)
		if err != nil {
			return nil, fmt.Errorf("part %s: %w", part.Pattern().Name, err)
		}
		if part.searches() && !with {
			w.steps = append(w.steps, step{search: part, args: args})
			continue
		}
		e := w.edit(edits, part.table)
		if err := part.put(e, args); err != nil {
			return nil, fmt.Errorf("part %s: %w", part.Pattern().Name, err)
		}
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("part %s: %w", part.Pattern().Name, err)
		}
		size := 0
		for i := range args {
			size += args[i].Size()
		}
		next := step{edit: edits, kinds: 1 << parts[i].Part, class: part.class(), bytes: size}
		if last := w.joinable(e, next); last != nil {
			to := &w.edits[last.edit]
			to.append(e)
			last.bytes += size
			last.kinds |= next.kinds
			continue
		}
		if next.conditions, err = part.conditions(e, args); err != nil {
			return nil, fmt.Errorf("part %s: %w", part.Pattern().Name, err)
		}
		w.steps = append(w.steps, next)
		edits++
	}
	for i := range w.steps {
		if w.steps[i].search == nil {
			w.edits[w.steps[i].edit].mergeChanges()
		}
	}
	return w.steps, nil
}

// deletesWithHost reports whether the part deletes rows of a nested table in a shared family,
// and the last step deletes the row that they are nested in (see deletedWith).
func (w *writing) deletesWithHost(part *statement, args []drivers.Value) (ok bool, err error) {
	t := part.table
	if t.host == nil || !part.deletesRow() || len(w.steps) == 0 || w.steps[len(w.steps)-1].search != nil {
		return false, nil
	}
	last := &w.edits[w.steps[len(w.steps)-1].edit]
	if w.key, err = appendKey(w.key[:0], t.row, args[:len(t.row)]); err != nil {
		return false, err
	}
	return bytes.Equal(last.table, t.hbase) && bytes.Equal(last.row, w.key) && last.deletesRow(t), nil
}

// joinable returns the last step if the edit can join it, else nil.
func (w *writing) joinable(e *edit, next step) *step {
	if len(w.steps) == 0 {
		return nil
	}
	last := &w.steps[len(w.steps)-1]
	if last.search != nil || last.class != next.class || next.class == dependsOnCells ||
		last.bytes+next.bytes > maxJoined {
		return nil
	}
	if to := &w.edits[last.edit]; !bytes.Equal(to.table, e.table) || !bytes.Equal(to.row, e.row) {
		return nil
	}
	return last
}

// append appends the changes of another edit of the same row.
func (e *edit) append(next *edit) {
	at := len(e.arena)
	e.arena = append(e.arena, next.arena...)
	for _, o := range next.ops {
		o.from, o.to = o.from+at, o.to+at
		e.ops = append(e.ops, o)
	}
}

func (w *writing) run(ctx context.Context, sl *slot, st *step) error {
	if st.search != nil {
		return st.search.Named(w.deleteFound(ctx, st.search, st.args))
	}
	e := &w.edits[st.edit]
	if len(st.conditions) == 0 {
		_, err := sl.apply(ctx, e, nil, &w.cluster.wal)
		return err
	}
	for _, c := range st.conditions {
		if applied, err := sl.apply(ctx, e, c, &w.cluster.wal); applied || err != nil {
			return err
		}
	}
	return nil
}
