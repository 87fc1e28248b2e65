package pebble

import (
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/plan"
	"github.com/mailbench/mailbench/schemas"
)

// compiler compiles the patterns of a schema as if it were the first in its data folder.
func compiler(s *schemas.Schema, _ drivers.Options) (drivers.Compiler, error) {
	store, err := offline(s)
	if err != nil {
		return nil, err
	}
	return plan.Compiler(store.compile), nil
}

// Explain implements drivers.Explainer. It returns the keys for example arguments.
func (st *statement) Explain() ([]string, error) {
	p := st.Pattern()
	if p.Kind == schemas.Batch {
		head := "each part by itself:"
		if p.Atomic != schemas.AtomicNone {
			head = "one atomic batch of:"
		}
		parts, err := drivers.ExplainParts(p, st.parts)
		return slices.Concat(append([][]string{{head}}, parts...)...), err
	}
	args := drivers.Example(p)
	var element *drivers.Value
	if st.Layout.In >= 0 {
		element = &args[st.Layout.In].Elems()[0]
	}
	var b bounds
	if err := b.set(st, args, element); err != nil {
		return nil, st.Named(err)
	}
	line := st.verb() + fmt.Sprintf(" key %x", b.lower)
	if p.Kind == schemas.Slice || p.Kind == schemas.Scan || p.Kind == schemas.Delete && p.Scope != schemas.ScopeRow {
		line = st.verb() + fmt.Sprintf(" keys %x ≤ key < %x", b.lower, b.upper)
	}
	if p.Reverse {
		line += ", from the last"
	}
	if element != nil {
		line += ", for each element"
	}
	lines := []string{line, "  that is " + drivers.InWords(p)}
	if st.tracks {
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
	case st.locks || st.tracks:
		return "lock the row, read and set"
	case st.replaces:
		return "set"
	}
	return "merge into"
}

var (
	_ drivers.Tracer        = (*Store)(nil)
	_ drivers.TracedSession = (*tracedSession)(nil)
)

// work counts what the calls of a traced session did. The numbers come from the statistics of
// its iterators, requests and rows from the session's counter. A Get of Pebble has no statistics.
type work struct {
	all    []drivers.Work
	before drivers.Cost // the session's counter when the call began
	looked int          // number of keys at which rowIter stopped
}

// tracedSession is a session that counts what its calls did.
type tracedSession struct {
	*session
}

// Traced implements drivers.Tracer.
func (s *Store) Traced() (drivers.TracedSession, error) {
	se, err := s.Session()
	if err != nil {
		return nil, err
	}
	t := &tracedSession{se.(*session)}
	t.work = new(work)
	return t, nil
}

// Begin implements drivers.TracedSession.
func (t *tracedSession) Begin() {
	next := drivers.Unreported
	next.Requests, next.Rows, next.Hidden, next.Blocks = 0, 0, 0, 0
	t.work.all = append(t.work.all, next)
}

// Work implements drivers.TracedSession.
func (t *tracedSession) Work(context.Context) ([]drivers.Work, error) {
	all := t.work.all
	t.work.all = nil
	return all, nil
}

func (w *work) current() *drivers.Work {
	if len(w.all) == 0 {
		return new(drivers.Work)
	}
	return &w.all[len(w.all)-1]
}

// called adds what the session counted for a call.
func (w *work) called(now *drivers.Cost) {
	c := w.current()
	c.Requests += now.Calls - w.before.Calls
	c.Rows += now.RowsExamined - w.before.RowsExamined
}

// ended counts an iterator over ranges that is about to be closed. The iterator stopped at a key
// after each step and each seek, except at the end of a range.
func (w *work) ended(it *pebble.Iterator) {
	stats := it.Stats()
	seen := stats.ForwardStepCount[pebble.InterfaceCall] + stats.ReverseStepCount[pebble.InterfaceCall]
	if it.Valid() {
		seen++
	}
	w.add(&stats, seen)
}

// lookedUp counts an iterator that looked for single keys.
func (w *work) lookedUp(it *pebble.Iterator) {
	stats := it.Stats()
	w.add(&stats, w.looked)
	w.looked = 0
}

func (w *work) add(stats *pebble.IteratorStats, seen int) {
	c := w.current()
	c.Blocks += int64(stats.InternalStats.BlockBytes)
	// In a reverse read Pebble also passes the key before the one that it returns.
	c.Hidden += max(0, int64(stats.InternalStats.PointCount)-int64(seen))
}
