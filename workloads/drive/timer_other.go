//go:build !linux

package drive

import "time"

// clock counts from the start of a phase.
type clock struct {
	base    time.Time
	start   time.Duration  // of precise, at base
	virtual *time.Duration // if set, it is the time; tests set it
}

func startClock() (clock, error) { return clock{base: time.Now(), start: precise()}, nil }

func (c *clock) now() time.Duration {
	if c.virtual != nil {
		return *c.virtual
	}
	return precise() - c.start
}

// timer wakes one worker at a due time, as well as the runtime can.
type timer struct{}

func newTimer() (*timer, error) { return &timer{}, nil }

func (*timer) until(c *clock, at time.Duration) error {
	if c.virtual != nil {
		*c.virtual = max(*c.virtual, at)
		return nil
	}
	time.Sleep(at - c.now())
	return nil
}

func (*timer) close() {}
