package hbase

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// stamps are what tells apart, and orders, what this process writes to
// collections within one millisecond of HBase's clock: nanoseconds since 1970,
// each greater than the one before.
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

// process keeps elements of lists apart that two processes append in the same nanosecond.
var processTag = rand.Uint32()

// appendListKey appends what follows a list's name in the qualifier of an element.
func appendListKey(dst []byte, stamp uint64) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(dst, stamp), processTag)
}
