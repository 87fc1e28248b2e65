package models

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// A TimeUUID counts ticks of 100 ns since the Gregorian reform, 1582-10-15, in
// 60 bits: up to the year 5236.
const (
	uuidEpoch   = 122_192_928_000_000_000 // ticks from there to 1970
	uuidMaxTick = 1<<60 - 1
	msTicks     = 10_000
	secTicks    = 10_000_000
)

// TimeUUIDs makes TimeUUIDs (RFC 9562 version 1) that differ even when their
// times are equal. It may be used by many goroutines at once.
//
// TimeUUIDs of equal times sort in the order of the calls: a counter of 33 bits
// follows the time, and the node's 21 bits follow the counter. Each of the eight
// bytes of counter and node has its high bit set. They therefore sort the same
// in engines that compare signed bytes, as Cassandra does, or unsigned bytes.
type TimeUUIDs struct {
	node  uint32
	count atomic.Uint64
}

// NewTimeUUIDs returns a generator whose UUIDs carry the low 21 bits of node,
// so that processes that share a store do not collide. 0 means random bits.
func NewTimeUUIDs(node uint64) *TimeUUIDs {
	if node == 0 {
		node = rand.Uint64()
	}
	return &TimeUUIDs{node: uint32(node) & (1<<21 - 1)}
}

// Next returns a new TimeUUID of time t.
func (g *TimeUUIDs) Next(t time.Time) [16]byte {
	n := g.count.Add(1)
	var u [16]byte
	putTicks(&u, ticks(t))
	u[8] = 0x80 | byte(n>>27)&0x3f // the RFC's variant, 10
	u[9] = 0x80 | byte(n>>20)
	// The lowest bit of a random node's first byte is 1, as the RFC asks.
	u[10] = 0x81 | byte(n>>14)<<1
	u[11] = 0x80 | byte(n>>7)
	u[12] = 0x80 | byte(n)
	u[13] = 0x80 | byte(g.node>>14)
	u[14] = 0x80 | byte(g.node>>7)
	u[15] = 0x80 | byte(g.node)
	return u
}

// MinTimeUUID returns CQL's minTimeuuid(t): the smallest of all TimeUUIDs whose time is in the
// same millisecond, in Cassandra's order (time, then the other bytes as signed).
func MinTimeUUID(t time.Time) [16]byte {
	n := ticks(t)
	return bound(n-n%msTicks, 0x80)
}

// MaxTimeUUID returns CQL's maxTimeuuid(t): the largest of all TimeUUIDs whose
// time is in the same millisecond.
func MaxTimeUUID(t time.Time) [16]byte {
	n := ticks(t)
	return bound(min(n-n%msTicks+msTicks-1, uuidMaxTick), 0x7f)
}

func bound(tick uint64, b byte) [16]byte {
	var u [16]byte
	putTicks(&u, tick)
	for i := 8; i < 16; i++ {
		u[i] = b
	}
	return u
}

// TimeOf returns the time of a TimeUUID, in UTC.
func TimeOf(u [16]byte) time.Time {
	n := int64(TicksOf(u)) - uuidEpoch
	return time.Unix(n/secTicks, n%secTicks*100).UTC()
}

// TicksOf returns the time of a TimeUUID in ticks since the Gregorian reform.
func TicksOf(u [16]byte) uint64 {
	return uint64(binary.BigEndian.Uint16(u[6:])&0x0fff)<<48 |
		uint64(binary.BigEndian.Uint16(u[4:]))<<32 |
		uint64(binary.BigEndian.Uint32(u[:]))
}

// ticks returns the ticks of t, clamped to 60 bits: a Date header may hold any date.
func ticks(t time.Time) uint64 {
	switch s := t.Unix(); {
	case s < -uuidEpoch/secTicks:
		return 0
	case s >= (uuidMaxTick-uuidEpoch)/secTicks:
		return uuidMaxTick
	default:
		return uint64(s*secTicks + int64(t.Nanosecond())/100 + uuidEpoch)
	}
}

func putTicks(u *[16]byte, n uint64) {
	binary.BigEndian.PutUint32(u[:], uint32(n))
	binary.BigEndian.PutUint16(u[4:], uint16(n>>32))
	binary.BigEndian.PutUint16(u[6:], uint16(n>>48)|0x1000)
}
