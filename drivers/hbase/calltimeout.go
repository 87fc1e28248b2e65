package hbase

import (
	"context"
	"time"
)

// callTimeout bounds each call of a slot by the timeout setting: gohbase itself
// would look for a region for ever. It reuses its context as long as calls
// succeed and have the same parent, so that most calls allocate none.
type callTimeout struct {
	timeout time.Duration
	last    time.Time // the call is one of several that share a timeout, which ends then
	parent  context.Context
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
}

// start starts the timer of a call. The context that it returns ends with its
// parent or after the timeout.
func (t *callTimeout) start(parent context.Context) (context.Context, context.CancelCauseFunc) {
	timeout := t.timeout
	if !t.last.IsZero() {
		timeout = time.Until(t.last)
	}
	if t.ctx != nil && t.parent == parent && t.ctx.Err() == nil {
		t.timer.Reset(timeout)
		return t.ctx, t.cancel
	}
	t.end()
	t.parent = parent
	t.ctx, t.cancel = context.WithCancelCause(parent)
	cancel := t.cancel
	t.timer = time.AfterFunc(timeout, func() { cancel(errTimeout) })
	return t.ctx, t.cancel
}

// until makes the next calls share a timeout, which ends at that time; the zero time
// gives each call its own again.
func (t *callTimeout) until(last time.Time) { t.last = last }

// stop stops the timer after a call. If the timer has just fired, the context
// cannot be used again.
func (t *callTimeout) stop() {
	if !t.timer.Stop() {
		t.end()
	}
}

func (t *callTimeout) end() {
	if t.ctx != nil {
		t.timer.Stop()
		t.cancel(nil)
	}
	t.parent, t.ctx, t.cancel, t.timer = nil, nil, nil, nil
}
