package drive

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mailbench/mailbench/workloads"
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
	spin     time.Duration // how long before the due time the timer wakes: see spinOf
	spinning *atomic.Bool  // a worker of the phase spins
}

// A timer wakes some 40 µs late. Workers wake up to spinMost before their operation is due and watch
// the clock. Each operation may cost spinShare of a processor divided by the rate, so that all of them
// take at most that share: spinning at 10,000/s would keep processors from the engine.
const (
	spinMost  = 100 * time.Microsecond
	spinShare = 0.05
)

// spinOf is how long workers may spin before each operation, at that many operations a second on that
// many processors. With one processor it would take the engine's.
func spinOf(perSecond, processors float64) time.Duration {
	if perSecond <= 0 || processors < 2 {
		return 0
	}
	return min(spinMost, time.Duration(spinShare/perSecond*float64(time.Second)))
}

// perSecond is how many operations a second the schedule of a phase offers on average.
func perSecond(p *workloads.Phase) (sum float64) {
	streams := p.Streams
	if !p.HasStreams() {
		streams = []workloads.Phase{*p}
	}
	for i := range streams {
		if streams[i].Arrivals == workloads.Closed {
			continue // its operations are not due
		}
		for _, n := range streams[i].Asks() {
			sum += n
		}
	}
	return sum
}

// wait returns true when the operation is due, and false if ctx ended before.
func (p *pace) wait(ctx context.Context, due time.Duration) (bool, error) {
	const look = 100 * time.Millisecond // how long a worker may not notice that ctx ended
	wake := due - p.spin
	for at := p.last; at < wake; {
		at = min(wake, at+look)
		if err := p.timer.until(p.clock, at); err != nil || ctx.Err() != nil {
			return false, err
		}
	}
	if p.spin == 0 {
		return true, nil
	}
	if p.clock.virtual != nil || !p.spinning.CompareAndSwap(false, true) {
		return true, p.timer.until(p.clock, due)
	}
	for p.clock.now() < due {
	}
	p.spinning.Store(false)
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
