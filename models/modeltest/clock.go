package modeltest

import (
	"sync/atomic"
	"time"
)

// start is the time at which every rule begins: a whole second, well inside the range of every
// engine's timestamps.
var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// clock stands still until advance is called, so that a model and its reference read the same
// time however often they ask.
type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.nanos.Store(start.UnixNano())
	return c
}

func (c *clock) now() time.Time { return time.Unix(0, c.nanos.Load()).UTC() }

func (c *clock) advance(d time.Duration) { c.nanos.Add(int64(d)) }
