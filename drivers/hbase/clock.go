package hbase

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// lastStamp is the last stamp of this process. A stamp is in nanoseconds since 1970,
// and each is greater than the one before. Stamps order the writes to collections
// within one millisecond of HBase's clock.
var lastStamp atomic.Int64

func nextStamp() uint64 {
	for {
		last, now := lastStamp.Load(), time.Now().UnixNano()
		if now <= last {
			now = last + 1
		}
		if lastStamp.CompareAndSwap(last, now) {
			return uint64(now)
		}
	}
}

// processTag tells apart the list elements that two processes append in the same
// nanosecond.
var processTag = rand.Uint32()

// appendListKey appends what follows a list's name in the qualifier of an element.
func appendListKey(dst []byte, stamp uint64) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(dst, stamp), processTag)
}
