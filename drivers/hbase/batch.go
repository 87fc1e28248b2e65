package hbase

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// batch applies the parts of a batch.
func (w *writing) batch(ctx context.Context, st *statement, parts []drivers.Call) error {
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
	if only, alone := st.alone(e, parts); only != nil {
		if !alone {
			return fmt.Errorf("part %s must first read which cells it deletes: it is atomic only with a delete of table %s",
				only.Pattern().Name, only.table.host.schema.Name)
		}
		return w.deleteFound(ctx, only, parts[0].Args)
	}
	e.mergeChanges()
	_, err := w.slot.apply(ctx, e, nil, &w.cluster.wal)
	return err
}

// alone returns a part that deletes rows of a table in a shared family, if the edit does not
// also delete the row of the table that the family belongs to. Such a part must search for
// its cells. alone is true if all parts are that one.
func (st *statement) alone(e *edit, parts []drivers.Call) (only *statement, alone bool) {
	at := slices.IndexFunc(parts, func(c drivers.Call) bool {
		t := st.parts[c.Part].table
		return t.host != nil && st.parts[c.Part].deletesRow() && !e.deletesRow(t)
	})
	if at < 0 {
		return nil, false
	}
	part := parts[at].Part
	return st.parts[part], !slices.ContainsFunc(parts, func(c drivers.Call) bool { return c.Part != part })
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
	if n = min(n, len(w.groups)); n == 1 {
		for _, g := range w.groups {
			applied, err := w.runGroup(ctx, w.slot, w.multiAt(0), g)
			if done += applied; err != nil {
				return done, err
			}
		}
		return done, nil
	}
	w.multiAt(n - 1)
	var next, all atomic.Int64
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i, sl := range w.parallel(n) {
		wg.Go(func() {
			for errs[i] == nil {
				at := int(next.Add(1)) - 1
				if at >= len(w.groups) {
					return
				}
				errs[i] = plan.GuardWrite(func() error {
					applied, err := w.runGroup(ctx, sl, w.multis[i], w.groups[at])
					all.Add(int64(applied))
					return err
				})
				if errs[i] != nil {
					next.Store(int64(len(w.groups))) // the others begin nothing more
				}
			}
		})
	}
	wg.Wait()
	for _, one := range errs {
		if err == nil || errors.Is(one, drivers.ErrUnknown) {
			err = cmp.Or(one, err)
		}
	}
	return int(all.Load()), err
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
