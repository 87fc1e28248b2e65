package plan

import (
	"sync/atomic"
	"time"

	"github.com/mailbench/mailbench/drivers"
)

// Calls counts the calls of a store that are under way, so that Close can wait for them.
// The zero value is for an open store.
type Calls struct {
	closed atomic.Bool
	n      atomic.Int64
}

// Enter begins a call, which must end with Leave. After Close it begins none and returns
// drivers.ErrClosed.
func (c *Calls) Enter() error {
	c.n.Add(1)
	if c.closed.Load() {
		c.n.Add(-1)
		return drivers.ErrClosed
	}
	return nil
}

// Leave ends a call.
func (c *Calls) Leave() { c.n.Add(-1) }

// Closed reports whether the store is closed or closing.
func (c *Calls) Closed() bool { return c.closed.Load() }

// Close refuses all further calls and waits for those under way. It reports false if
// the store was closed before.
func (c *Calls) Close() (first bool) {
	first = !c.closed.Swap(true)
	for c.n.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	return first
}
