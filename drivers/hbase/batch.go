package hbase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync/atomic"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// RunBatch implements plan.Runner.
func (w *writing) RunBatch(ctx context.Context, st *statement, parts []drivers.Call) error {
	if st.Pattern().Atomic != schemas.AtomicNone {
		return w.atomicBatch(ctx, st, parts)
	}
	return w.separateBatch(ctx, st, parts)
}

// atomicBatch applies all parts in one edit of their HBase row.
func (w *writing) atomicBatch(ctx context.Context, st *statement, parts []drivers.Call) error {
	e := w.edit(0, st.parts[parts[0].Part].table)
	for i := range parts {
		if err := w.join(e, st.parts[parts[i].Part], parts[i].Args); err != nil {
			return err
		}
	}
	e.mergeChanges()
	_, err := w.slot.apply(ctx, e, nil, &w.cluster.wal)
	return err
}

// join adds a part to an edit. The part must write the same HBase row.
func (w *writing) join(e *edit, part *statement, args []drivers.Value) error {
	if len(e.ops) == 0 {
		return part.put(e, args)
	}
	w.key = append(w.key[:0], e.row...)
	e.row = e.row[:0]
	if err := part.put(e, args); err != nil {
		return err
	}
	if !bytes.Equal(w.key, e.row) {
		return fmt.Errorf("part %s writes to another row than the parts before it, and HBase changes only one atomically",
			part.Pattern().Name)
	}
	return nil
}

// separateBatch applies the parts in the order of the steps. Those that may take effect in any
// order are sent together.
func (w *writing) separateBatch(ctx context.Context, st *statement, parts []drivers.Call) error {
	steps, err := w.plan(st, parts)
	if err != nil {
		return err
	}
	parallel := st.Pattern().Parallel
	for done := 0; done < len(steps); {
		wave := w.wave(steps[done:], parallel > 1)
		n, err := w.runWave(ctx, wave, max(parallel, 1))
		if done += n; err != nil {
			return plan.Partial(err, done, len(steps))
		}
	}
	return nil
}

// wave returns how many of the steps, from the first on, may take effect in any order. They
// change different HBase rows, and if the pattern is not parallel, they are of the same parts. A step
// that must find what it deletes is alone, because it needs the buffers of the session.
func (w *writing) wave(steps []step, parallel bool) []step {
	w.hashes = w.hashes[:0]
	for i := range steps {
		s := &steps[i]
		if s.search != nil {
			return steps[:max(i, 1)]
		}
		e := &w.edits[s.edit]
		row := maphash.Bytes(rowSeed, e.table) ^ maphash.Bytes(rowSeed, e.row)
		if i > 0 && !parallel && s.kinds != steps[0].kinds || slices.Contains(w.hashes, row) {
			return steps[:i]
		}
		w.hashes = append(w.hashes, row)
	}
	return steps
}

// runWave applies the steps of a wave: those of one table by multis, the others by themselves,
// and n requests at a time. done is how many steps took effect for certain.
func (w *writing) runWave(ctx context.Context, wave []step, n int) (done int, err error) {
	w.groups = w.groups[:0]
	for len(wave) > 0 {
		together := w.together(wave)
		w.groups, wave = append(w.groups, wave[:together]), wave[together:]
	}
	slots := []*slot{w.slot}
	if n = min(n, len(w.groups)); n > 1 {
		slots = w.parallel(n)
	}
	w.multiAt(n - 1)
	var applied atomic.Int64
	_, err = plan.Writes(len(w.groups), n, func(i, on int) error {
		steps, err := w.runGroup(ctx, slots[on], w.multis[on], w.groups[i])
		applied.Add(int64(steps))
		return err
	})
	return int(applied.Load()), err
}

// together returns how many of the steps, from the first on, one multi can hold: changes of
// rows of one table, each by one mutation without a condition.
func (w *writing) together(steps []step) int {
	if steps[0].search != nil { // it has no edit yet
		return 1
	}
	size, first := 0, &w.edits[steps[0].edit]
	for i := range steps {
		s := &steps[i]
		if s.search != nil || len(s.conditions) > 0 || i == maxTogether {
			return max(i, 1)
		}
		e := &w.edits[s.edit]
		if size += s.bytes; size > maxMulti || e.mutations() != 1 || !bytes.Equal(e.table, first.table) {
			return max(i, 1)
		}
	}
	return len(steps)
}

// multiAt returns w.multis[i].
func (w *writing) multiAt(i int) *multi {
	for len(w.multis) <= i {
		w.multis = append(w.multis, new(multi))
	}
	return w.multis[i]
}

// runGroup applies steps that one multi can hold.
func (w *writing) runGroup(ctx context.Context, sl *slot, m *multi, group []step) (done int, err error) {
	if len(group) == 1 {
		if err := w.run(ctx, sl, &group[0]); err != nil {
			return 0, err
		}
		return 1, nil
	}
	m.begin()
	for i := range group {
		m.next().encode(&w.edits[group[i].edit], nil, &w.cluster.wal)
	}
	return m.send(ctx, w.cluster, sl)
}

var rowSeed = maphash.MakeSeed()

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
		if part.searches() {
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
		var err error
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

// checkAtomic returns an error if the batch is atomic and HBase cannot apply its parts at once.
func (st *statement) checkAtomic() error {
	a := st.Pattern().Atomic
	for i := 0; i < len(st.parts) && a != schemas.AtomicNone; i++ {
		if err := st.parts[i].atomic(a, st.parts, i); err != nil {
			return fmt.Errorf("atomic: %s: %w: %w", a, err, drivers.ErrUnsupported)
		}
	}
	return nil
}

// atomic returns an error if the statement, which is parts[at], cannot be in one edit of an
// HBase row together with the parts before it.
func (st *statement) atomic(a schemas.Atomicity, parts []*statement, at int) error {
	p, t := st.Pattern(), st.table
	switch {
	case a == schemas.AtomicAll:
		return errors.New("HBase changes only one row atomically")
	case a != schemas.AtomicRow && st.rowColumns() != len(p.Table.Partition):
		return fmt.Errorf("each row of table %s is an HBase row, and HBase changes only one atomically", t.schema.Name)
	case st.searches():
		return fmt.Errorf("part %s must first read which cells it deletes", p.Name)
	case p.Kind == schemas.PutIf || p.ReturnsNew:
		return fmt.Errorf("part %s depends on the stored row", p.Name)
	}
	for _, o := range parts[:at+1] {
		if !bytes.Equal(o.table.hbase, t.hbase) || o.rowColumns() != st.rowColumns() {
			return fmt.Errorf("parts %s and %s are of different HBase rows", o.Pattern().Name, p.Name)
		}
		if o.table.family != t.family || o.Pattern().Static != p.Static {
			continue
		}
		if st.deletesRow() != o.deletesRow() {
			return fmt.Errorf("one of the parts %s and %s deletes the row, and HBase would also delete what the other writes",
				o.Pattern().Name, p.Name)
		}
		if o.table == t && (p.Kind == schemas.Add) != (o.Pattern().Kind == schemas.Add) {
			return fmt.Errorf("one of the parts %s and %s adds to columns of a table, and the other writes to it",
				o.Pattern().Name, p.Name)
		}
	}
	return nil
}

// rowColumns returns how many columns of the primary key are in the HBase row key.
func (st *statement) rowColumns() int {
	if st.Pattern().Static {
		return len(st.table.static)
	}
	return len(st.table.row)
}

// deletesRow reports whether the statement deletes a family of an HBase row.
func (st *statement) deletesRow() bool {
	p := st.Pattern()
	return p.Kind == schemas.Delete && (!st.table.wide() || len(p.By) == len(st.table.row))
}

// searches reports whether the write must first find what it deletes. One delete of HBase
// removes a column, a family or a whole row, but not several rows.
func (st *statement) searches() bool {
	p, t := st.Pattern(), st.table
	switch p.Kind {
	case schemas.Remove:
		return true
	case schemas.Delete:
		if len(t.statics) == 0 && (len(p.By) == len(t.key) || t.isWideRow(len(p.By))) {
			return false
		}
		return p.Scope != schemas.ScopeRow
	}
	return false
}
