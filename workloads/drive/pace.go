package drive

import (
	"context"
	"time"
)

// pace is when a worker begins its operations: when they are due in an open loop, and
// after a pause in a closed one.
type pace struct {
	clock    *clock
	timer    *timer        // nil: a closed loop
	length   time.Duration // of the phase; 0: it has no end
	last     time.Duration // end of the operation before; at first -1, before all due times
	idealEnd time.Duration // last, if the client had lost no time: see undelayed
	failures int           // operations that failed in a row
}

// wait returns true when the operation is due, and false if ctx ended before.
func (p *pace) wait(ctx context.Context, due time.Duration) (bool, error) {
	const look = 100 * time.Millisecond // how long a worker may not notice that ctx ended
	for at := p.last; at < due; {
		at = min(due, at+look)
		if err := p.timer.until(p.clock, at); err != nil || ctx.Err() != nil {
			return false, err
		}
	}
	return true, nil
}

// Pauses of a client whose operations fail one after the other.
const (
	restLeast = time.Millisecond
	restMost  = 100 * time.Millisecond
)

// rest lets a client of a closed loop wait when two or more of its operations have
// failed in a row. Otherwise an engine that refuses at once would be called as fast
// as the processors can. In an open loop the schedule limits the calls.
func (p *pace) rest(ctx context.Context) {
	if p.failures < 2 {
		return
	}
	sleep(ctx, min(restMost, restLeast<<min(p.failures-2, 10)))
	p.last = p.clock.now()
}

// think lets a client wait before its operation. It returns false if the phase ends
// before.
func (p *pace) think(ctx context.Context, d time.Duration) bool {
	if p.length > 0 {
		d = min(d, p.length-p.last)
	}
	sleep(ctx, d)
	p.last = p.clock.now()
	return ctx.Err() == nil && (p.length == 0 || p.last < p.length)
}

// idle advances the worker's time after an operation of a closed loop that was not
// carried out. Without that, a phase with nothing to do would not end.
func (p *pace) idle(ctx context.Context, pause time.Duration) {
	if p.timer != nil {
		return
	}
	if pause > 0 {
		sleep(ctx, pause)
	}
	p.last = p.clock.now()
}

// sleep waits for so long, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
