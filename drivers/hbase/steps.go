package hbase

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/tsuna/gohbase/pb"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// step is one request of a batch that is not atomic. Consecutive parts that write the same
// HBase row share a step if they can share an edit.
type step struct {
	edit       int // index in the session's edits
	conditions []*pb.Condition
	class      class
	bytes      int

	search *statement // a part that must find what it deletes; nil if the step has an edit
	args   []drivers.Value
}

// maxJoined is how many bytes of arguments the parts of one step have at most together.
const maxJoined = 2 << 20

// class is a group of writes. Only writes of the same class can share an edit.
type class uint8

const (
	writesCells class = iota
	deletesRows       // in one edit, HBase would also delete what other parts write to the row
	addsToCells
	dependsOnCells // the write has a condition, so it shares its edit with no other
)

func (st *statement) class() class {
	switch {
	case st.Pattern().Kind == schemas.PutIf || st.conditional():
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
func (s *session) plan(st *statement, parts []drivers.Call) ([]step, error) {
	s.steps = s.steps[:0]
	edits := 1 // s.edits[0] is for deleteFound
	for i := range parts {
		part, args := st.parts[parts[i].Part], parts[i].Args
		with, err := s.deletesWithHost(part, args)
		if err != nil {
			return nil, fmt.Errorf("part %s: %w", part.Pattern().Name, err)
		}
		if part.searches() && !with {
			s.steps = append(s.steps, step{search: part, args: args})
			continue
		}
		e := s.edit(edits, part.table)
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
		next := step{edit: edits, class: part.class(), bytes: size}
		if last := s.joinable(e, next); last != nil {
			to := &s.edits[last.edit]
			to.append(e)
			last.bytes += size
			continue
		}
		if next.conditions, err = part.conditions(e, args); err != nil {
			return nil, fmt.Errorf("part %s: %w", part.Pattern().Name, err)
		}
		s.steps = append(s.steps, next)
		edits++
	}
	for i := range s.steps {
		if s.steps[i].search == nil {
			s.edits[s.steps[i].edit].mergeChanges()
		}
	}
	return s.steps, nil
}

// deletesWithHost reports whether the part deletes rows of a nested table in a shared family,
// and the last step deletes the row that they are nested in (see deletedWith).
func (s *session) deletesWithHost(part *statement, args []drivers.Value) (ok bool, err error) {
	t := part.table
	if t.host == nil || !part.deletesRow() || len(s.steps) == 0 || s.steps[len(s.steps)-1].search != nil {
		return false, nil
	}
	last := &s.edits[s.steps[len(s.steps)-1].edit]
	if s.key, err = appendKey(s.key[:0], t.row, args[:len(t.row)]); err != nil {
		return false, err
	}
	return bytes.Equal(last.table, t.hbase) && bytes.Equal(last.row, s.key) && last.deletesRow(t), nil
}

// joinable returns the last step if the edit can join it, else nil.
func (s *session) joinable(e *edit, next step) *step {
	if len(s.steps) == 0 {
		return nil
	}
	last := &s.steps[len(s.steps)-1]
	if last.search != nil || last.class != next.class || next.class == dependsOnCells ||
		last.bytes+next.bytes > maxJoined {
		return nil
	}
	if to := &s.edits[last.edit]; !bytes.Equal(to.table, e.table) || !bytes.Equal(to.row, e.row) {
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

func (s *session) run(ctx context.Context, sl *slot, st *step) error {
	if st.search != nil {
		return st.search.Named(s.deleteFound(ctx, st.search, st.args))
	}
	e := &s.edits[st.edit]
	if len(st.conditions) == 0 {
		_, err := sl.apply(ctx, e, nil, &s.store.wal)
		return err
	}
	for _, c := range st.conditions {
		if applied, err := sl.apply(ctx, e, c, &s.store.wal); applied || err != nil {
			return err
		}
	}
	return nil
}

// ordered reports whether the steps must run one after another: two of them change the same
// row, or one must find what it deletes, for which it needs the session's own buffers.
func (s *session) ordered(steps []step) bool {
	s.hashes = s.hashes[:0]
	for i := range steps {
		if steps[i].search != nil {
			return true
		}
		e := &s.edits[steps[i].edit]
		s.hashes = append(s.hashes, maphash.Bytes(rowSeed, e.table)^maphash.Bytes(rowSeed, e.row))
	}
	slices.Sort(s.hashes)
	for i := 1; i < len(s.hashes); i++ {
		if s.hashes[i] == s.hashes[i-1] {
			return true
		}
	}
	return false
}

var rowSeed = maphash.MakeSeed()
