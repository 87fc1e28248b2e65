package drive

import (
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// spinFor is how long before an operation is due its timer fires and its worker spins. A
	// timer is 28 µs late at the median, so most workers wake before the operation is due.
	spinFor = 50 * time.Microsecond
	// spinLeast is how many processors must be free. Workers may spin on half of them. The
	// rest is for calls, the engine's answers and the Go runtime, which spinning would delay.
	spinLeast = 4
)

// spins are the workers of a phase that spin until an operation is due, in place of waiting
// for a timer to the end.
type spins struct {
	limit    int32 // how many may spin at a time; 0: none
	spinning atomic.Int32
	whyNone  string // why no worker spins although the workload asks for it
}

// allow sets how many workers may spin, from the number of free processors.
func (s *spins) allow(free float64) {
	if s.limit, s.whyNone = int32(free/2), ""; free < spinLeast {
		s.limit, s.whyNone = 0, fmt.Sprintf("it takes %d free processors, and there are %.1f", spinLeast, max(0, free))
	}
}

// ahead is how long before an operation is due its worker must be awake.
func (s *spins) ahead() time.Duration {
	if s.limit == 0 {
		return 0
	}
	return spinFor
}

// until returns when the operation is due. If as many workers spin as may, this one waits for
// its timer.
func (s *spins) until(c *clock, t *timer, due time.Duration) error {
	if s.limit == 0 {
		return nil
	}
	defer s.spinning.Add(-1)
	if s.spinning.Add(1) > s.limit {
		return t.until(c, due)
	}
	for c.now() < due {
	}
	return nil
}

// freeProcessors is how many of the processors that this process may use are idle. It
// watches them for a tenth of a second.
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
