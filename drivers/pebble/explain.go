package pebble

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// Explain implements drivers.Explainer. It returns the keys for example arguments.
func (st *statement) Explain() ([]string, error) {
	p := st.Pattern()
	if p.Kind == schemas.Batch {
		return drivers.ExplainParts("one atomic batch of:", p, st.parts)
	}
	args := drivers.Example(p)
	var element *drivers.Value
	if st.Layout.In >= 0 {
		element = &args[st.Layout.In].Elems()[0]
	}
	var b plan.Range
	if err := b.Set(&st.Plan, st.path.cols, st.fixed(nil, args, element), args, p.Reverse); err != nil {
		return nil, st.Named(err)
	}
	line := st.verb() + fmt.Sprintf(" key %x", b.Lower)
	if p.Kind == schemas.Slice || p.Kind == schemas.Scan || p.Kind == schemas.Delete && p.Scope != schemas.ScopeRow {
		line = st.verb() + fmt.Sprintf(" keys %x ≤ key < %x", b.Lower, b.Upper)
	}
	if p.Reverse {
		line += ", from the last"
	}
	if element != nil {
		line += ", for each element"
	}
	lines := []string{line, "  that is " + drivers.InWords(p)}
	if st.changesIndex {
		lines = append(lines, "  the row is read first, and its entries in indexes over plain columns change with it")
	}
	if len(st.filters) > 0 {
		lines = append(lines, "  rows are compared after reading")
	}
	return lines, nil
}

func (st *statement) verb() string {
	switch p := st.Pattern(); {
	case p.Kind == schemas.Get:
		return "seek"
	case p.Kind.Reads():
		return "iterate"
	case p.Present && p.Kind == schemas.Delete:
		return "lock the row, and if it is there delete"
	case p.Kind == schemas.Delete:
		return "delete"
	case st.readsRow || st.changesIndex:
		return "lock the row, read and set"
	case st.putsWholeRow:
		return "set"
	}
	return "merge into"
}

var _ drivers.Tracer = (*Store)(nil)

// Traced implements drivers.Tracer. The work of calls is in the statistics of iterators, requests and rows are in the
// session's meter. A Get of Pebble has no statistics.
func (s *Store) Traced() (drivers.TracedSession, error) {
	se, err := s.Session()
	if err != nil {
		return nil, err
	}
	t, idle := se.(*session), drivers.Unreported
	idle.Requests, idle.Rows, idle.Hidden, idle.Blocks = 0, 0, 0, 0
	t.Trace(idle, true)
	return t, nil
}

// trace counts, in a traced session, what an iterator read that stopped at so many keys.
func (s *session) trace(stats pebble.IteratorStats, seen int) {
	s.Did(func(w *drivers.Work) {
		w.Blocks += int64(stats.InternalStats.BlockBytes)
		// In a reverse read Pebble also passes the key before the one that it returns.
		w.Hidden += max(0, int64(stats.InternalStats.PointCount)-int64(seen))
	})
}
