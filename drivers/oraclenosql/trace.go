package oraclenosql

import (
	"context"

	"github.com/mailbench/mailbench/drivers"
)

var _ drivers.TracedSession = (*tracedSession)(nil)

// tracedSession is a session that tells what it asked of the engine. Oracle itself tells
// nothing: the rows that it read are known only where it reads no others than it returns.
type tracedSession struct {
	*session
	all   []drivers.Work
	begun bool
}

// Traced implements drivers.Tracer.
func (s *Store) Traced() (drivers.TracedSession, error) {
	se, err := s.session()
	if err != nil {
		return nil, err
	}
	return &tracedSession{session: se}, nil
}

// Begin implements drivers.TracedSession.
func (t *tracedSession) Begin() {
	t.note()
	t.begun = true
}

// note notes the work since the last Begin, and counts from here on.
func (t *tracedSession) note() {
	w := drivers.Untold
	t.slot.settle() // its counters begin anew below
	w.Requests, w.Time, w.Rows = t.transport.requests, t.transport.took, t.slot.read
	t.transport.requests, t.transport.took, t.slot.read, t.slot.sent = 0, 0, 0, 0
	for _, sl := range t.slots {
		sl.settle()
		w.Requests += sl.transport.requests
		w.Time += sl.transport.took
		if w.Rows >= 0 && sl.read >= 0 {
			w.Rows += sl.read
		} else {
			w.Rows = -1
		}
		sl.transport.requests, sl.transport.took, sl.read, sl.sent = 0, 0, 0, 0
	}
	if t.begun {
		t.all = append(t.all, w)
	}
	t.begun = false
}

// Work implements drivers.TracedSession.
func (t *tracedSession) Work(context.Context) ([]drivers.Work, error) {
	t.note()
	all := t.all
	t.all = nil
	return all, nil
}
