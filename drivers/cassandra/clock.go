package cassandra

import (
	"sync/atomic"
	"time"
)

// clock gives the timestamps of writes, in microseconds since 1970. Cassandra
// lets the later timestamp win, a delete over a put of the same one, and the
// larger of two values: so no two are ever equal, and writes take effect in the
// order in which this store was asked for them, whichever node they go through.
//
// Tables that conditional writes touch are the exception: see
// [statement.setsTimestamp].
type clock struct{ last atomic.Int64 }

// next returns the first of n timestamps that follow each other.
func (c *clock) next(n int64) int64 {
	for {
		last := c.last.Load()
		t := max(time.Now().UnixMicro(), last+1)
		if c.last.CompareAndSwap(last, t+n-1) {
			return t
		}
	}
}

// pass waits until a clock that counts in milliseconds is past a timestamp; 0 is
// none.
func (c *clock) waitPast(t int64) {
	if t > 0 {
		time.Sleep(time.Until(time.UnixMicro(t - t%1000 + 1000)))
	}
}
