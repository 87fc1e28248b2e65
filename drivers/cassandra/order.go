package cassandra

import (
	"bytes"
	"cmp"
	"encoding/binary"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
)

// compare compares two values of one key column as Cassandra sorts them. It
// decides which of two bounds on one column is the closer one: CQL takes one.
func compare(a, b drivers.Value) int {
	switch a.Kind() {
	case schemas.Text, schemas.Blob:
		return bytes.Compare(a.Raw(), b.Raw())
	case schemas.UUID, schemas.TimeUUID:
		return compareUUIDs(a.UUIDBytes(), b.UUIDBytes())
	}
	return cmp.Compare(a.Int64(), b.Int64())
}

// compareUUIDs compares by version; those of version 1 by their time and then
// by the other eight bytes, each signed (TimeUUIDType); others by their bytes.
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

// timeOf returns the 60 bits of time of a version 1 UUID, whose low ones stand
// at the front.
func timeOf(u [16]byte) uint64 {
	return uint64(binary.BigEndian.Uint16(u[6:])&0x0FFF)<<48 | uint64(binary.BigEndian.Uint16(u[4:]))<<32 | uint64(binary.BigEndian.Uint32(u[:]))
}
