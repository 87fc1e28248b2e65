package hbase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/hbase/rpc"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

const (
	// maxTogether is how many rows one multi reads or changes at most.
	maxTogether = 500
	// maxMulti is how many bytes of cells one multi changes at most, unless a single change is
	// larger. HBase's own client sends as many to a server in one request
	// (hbase.client.max.perrequest.heapsize).
	maxMulti = 4 << 20
)

// RunBatch implements plan.Runner. A batch runs in the order of its steps. Steps that may take effect in any order are
// sent together.
func (s *session) RunBatch(ctx context.Context, st *statement, parts []drivers.Call) error {
	steps, err := st.steps(parts)
	if err != nil {
		return err
	}
	parallel := st.Pattern().Parallel
	for rest := steps; len(rest) > 0; {
		groups, n := together(rest, parallel > 1)
		var applied atomic.Int64 // steps that took effect for certain
		_, err := plan.Writes(len(groups), min(max(parallel, 1), len(groups)), func(i int) error {
			done, err := s.runGroup(ctx, groups[i])
			applied.Add(int64(done))
			return err
		})
		if err != nil {
			return plan.PartsApplied(err, len(steps)-len(rest)+int(applied.Load()), len(steps))
		}
		rest = rest[n:]
	}
	return nil
}

// together returns how many of the steps, from the first on, may take effect in any order, in groups that one multi can
// hold. They change different HBase rows, and if the pattern is not parallel, they are of the same parts. A step that
// must find what it deletes is alone: it scans. The changes of one multi are of one table, and each is one mutation
// without a condition.
func together(steps []step, parallel bool) (groups [][]step, n int) {
	rows, begin, size := make(map[string]bool), 0, 0
	alone := func(s *step) bool { return len(s.conditions) > 0 || !s.edit.Single() }
	for ; n < len(steps); n++ {
		first, s := &steps[begin], &steps[n]
		if n > 0 && (s.edit == nil || first.edit == nil || !parallel && s.kinds != first.kinds) {
			break
		}
		if s.edit != nil {
			row := string(s.edit.Table) + "," + string(s.edit.Row)
			if rows[row] {
				break
			}
			rows[row] = true
		}
		size += s.bytes
		if n > begin && (size > maxMulti || n-begin == maxTogether || alone(first) || alone(s) ||
			!bytes.Equal(first.edit.Table, s.edit.Table)) {
			groups = append(groups, steps[begin:n])
			begin, size = n, s.bytes
		}
	}
	return append(groups, steps[begin:n]), n
}

// runGroup applies steps that one multi can hold.
func (s *session) runGroup(ctx context.Context, group []step) (done int, err error) {
	if head := &group[0]; len(group) == 1 {
		if _, _, err = s.run(ctx, head); err == nil {
			return 1, nil
		}
		if head.edit == nil {
			err = head.st.Named(err)
		}
		return 0, err
	}
	edits := make([]*rpc.Edit, len(group))
	for i := range group {
		edits[i] = group[i].edit
	}
	return s.ApplyTogether(ctx, edits)
}

// maxJoined is how many bytes of arguments the parts of one step have at most together, unless they are atomic.
const maxJoined = 2 << 20

// steps makes steps of the parts of a batch: one, if it is atomic. All parts are checked before the first is sent.
func (st *statement) steps(parts []drivers.Call) (steps []step, err error) {
	for i := range parts {
		part, args := st.parts[parts[i].Part], parts[i].Args
		next, err := part.step(args)
		if err == nil && next.edit != nil {
			err = next.edit.Check()
		}
		if err != nil {
			return nil, fmt.Errorf("part %s: %w", part.Pattern().Name, err)
		}
		next.kinds = 1 << parts[i].Part
		for j := range args {
			next.bytes += args[j].Size()
		}
		n := len(steps)
		switch {
		case n == 0 || st.Pattern().Atomic == schemas.AtomicNone && !steps[n-1].joins(&next):
			steps = append(steps, next)
			continue
		case !bytes.Equal(steps[n-1].edit.Row, next.edit.Row):
			return nil, fmt.Errorf("part %s writes to another row than the parts before it, and HBase changes only one atomically",
				part.Pattern().Name)
		}
		last := &steps[n-1]
		last.edit.Ops = append(last.edit.Ops, next.edit.Ops...)
		last.bytes += next.bytes
		last.kinds |= next.kinds
	}
	for i := range steps {
		if steps[i].edit != nil {
			steps[i].edit.Merge()
		}
	}
	return steps, nil
}

// joins reports whether the next step can be part of this one. An edit has one condition at most. A deletion of the row
// also deletes what the edit writes to it.
func (s *step) joins(next *step) bool {
	if s.edit == nil || next.edit == nil {
		return false
	}
	p, q := s.st.Pattern().Kind, next.st.Pattern().Kind
	return p != schemas.PutIf && q != schemas.PutIf && (p == schemas.Add) == (q == schemas.Add) &&
		s.st.deletesRow() == next.st.deletesRow() && s.bytes+next.bytes <= maxJoined &&
		bytes.Equal(s.edit.Table, next.edit.Table) && bytes.Equal(s.edit.Row, next.edit.Row)
}

// atomic returns an error if the statement, which is parts[at], cannot be in one edit of an
// HBase row together with the parts before it.
func (st *statement) atomic(a schemas.Atomicity, parts []*statement, at int) error {
	p, t := st.Pattern(), st.table
	switch {
	case a == schemas.AtomicAll:
		return errors.New("HBase changes only one row atomically")
	case a != schemas.AtomicRow && len(st.table.row) != len(p.Table.Partition):
		return fmt.Errorf("each row of table %s is an HBase row, and HBase changes only one atomically", t.schema.Name)
	case st.searches():
		return fmt.Errorf("part %s must first read which cells it deletes", p.Name)
	case p.Kind == schemas.PutIf || p.ReturnsNew:
		return fmt.Errorf("part %s depends on the stored row", p.Name)
	}
	for _, o := range parts[:at+1] {
		if !bytes.Equal(o.table.hbase, t.hbase) || len(o.table.row) != len(st.table.row) {
			return fmt.Errorf("parts %s and %s are of different HBase rows", o.Pattern().Name, p.Name)
		}
		if o.table.family != st.table.family {
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

// deletesRow reports whether the statement deletes a family of an HBase row.
func (st *statement) deletesRow() bool {
	p := st.Pattern()
	return p.Kind == schemas.Delete && (!st.table.wide || len(p.By) == len(st.table.row))
}

// searches reports whether the write must first find what it deletes. One delete of HBase
// removes a column, a family or a whole row, but not several rows.
func (st *statement) searches() bool {
	p, t := st.Pattern(), st.table
	switch p.Kind {
	case schemas.Remove:
		return true
	case schemas.Delete:
		if n := len(p.By); t.statics == nil && (n == len(t.key) || n == len(t.row)) { // a row, or all cells of a wide row
			return false
		}
		return p.Scope != schemas.ScopeRow
	}
	return false
}
