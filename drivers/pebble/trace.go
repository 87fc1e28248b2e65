package pebble

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/mailbench/mailbench/drivers"
)

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
	next := drivers.Untold
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
