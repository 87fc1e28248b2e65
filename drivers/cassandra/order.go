package cassandra

import (
	"bytes"
	"cmp"
	"encoding/binary"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// compare compares two values of a key column in Cassandra's order. CQL takes one
// bound on a column, so the driver compares two to send the closer one.
func compare(a, b drivers.Value) int {
	switch a.Kind() {
	case schemas.Text, schemas.Blob:
		return bytes.Compare(a.Raw(), b.Raw())
	case schemas.UUID, schemas.TimeUUID:
		return compareUUIDs(a.UUIDBytes(), b.UUIDBytes())
	}
	return cmp.Compare(a.Int64(), b.Int64())
}

// compareUUIDs compares first by version. UUIDs of version 1 are then compared by
// time and by the last eight bytes as signed bytes, as in TimeUUIDType; others by
// their bytes.
func compareUUIDs(a, b [16]byte) int {
	if v, w := a[6]>>4, b[6]>>4; v != w {
		return cmp.Compare(v, w)
	} else if v != 1 {
		return bytes.Compare(a[:], b[:])
	}
	if c := cmp.Compare(timeOf(a), timeOf(b)); c != 0 {
		return c
	}
	for i := 8; i < 16; i++ {
		if c := cmp.Compare(int8(a[i]), int8(b[i])); c != 0 {
			return c
		}
	}
	return 0
}

// timeOf returns the 60-bit time of a version 1 UUID. The UUID begins with the low
// bits.
func timeOf(u [16]byte) uint64 {
	high, middle, low := binary.BigEndian.Uint16(u[6:]), binary.BigEndian.Uint16(u[4:]), binary.BigEndian.Uint32(u[:])
	return uint64(high&0x0FFF)<<48 | uint64(middle)<<32 | uint64(low)
}
