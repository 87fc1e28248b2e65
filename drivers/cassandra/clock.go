package cassandra

import (
	"sync/atomic"
	"time"
)

// clock makes the timestamps of writes, in microseconds since 1970. No two are
// equal, so writes take effect in the order in which this store got them, whichever
// node they go through. With equal timestamps Cassandra would prefer a delete over
// a put, and the larger of two values.
//
// Tables with conditional writes are the exception: see [statement.setsTimestamp].
type clock struct{ last atomic.Int64 }

// next returns the first of n consecutive timestamps.
func (c *clock) next(n int64) int64 {
	for {
		last := c.last.Load()
		t := max(time.Now().UnixMicro(), last+1)
		if c.last.CompareAndSwap(last, t+n-1) {
			return t
		}
	}
}
