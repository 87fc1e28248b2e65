package drive

import (
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// spinFor is for how long before its due time an operation's worker spins. A timer is
	// 28 µs late at the median, so that most workers are awake by then.
	spinFor = 50 * time.Microsecond
	// spinLeast is how many processors must be free. Half of them may spin, and the rest is
	// for the calls, the engine's answers and the Go runtime: a spinning worker on their
	// processor delays what it waits for.
	spinLeast = 4
)

// spins are the workers of a phase that spin until an operation is due, in place of waiting
// for a timer to the end.
type spins struct {
	most int32 // at a time; 0: none
	now  atomic.Int32
	none string // why none spins although the workload says so
}

// allow says how many workers may spin with so many free processors.
func (s *spins) allow(free float64) {
	if s.most, s.none = int32(free/2), ""; free < spinLeast {
		s.most, s.none = 0, fmt.Sprintf("it takes %d free processors, and there are %.1f", spinLeast, max(0, free))
	}
}

// ahead is how long before an operation is due its worker must be awake.
func (s *spins) ahead() time.Duration {
	if s.most == 0 {
		return 0
	}
	return spinFor
}

// until returns when the operation is due. A worker for which no processor is left waits for
// its timer.
func (s *spins) until(c *clock, t *timer, due time.Duration) error {
	if s.most == 0 {
		return nil
	}
	defer s.now.Add(-1)
	if s.now.Add(1) > s.most {
		return t.until(c, due)
	}
	for c.now() < due {
	}
	return nil
}

// freeProcessors is how many of the processors that the process may use nobody uses. They
// are watched for a tenth of a second.
func freeProcessors() float64 {
	const watched = 100 * time.Millisecond
	before := systemUsage()
	time.Sleep(watched)
	after := systemUsage()
	if after.machine == 0 { // not known
		return processors()
	}
	return min(processors(), float64(machineProcessors())-float64(after.machine-before.machine)/float64(watched))
}
