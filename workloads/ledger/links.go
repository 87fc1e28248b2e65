package ledger

import (
	"encoding/binary"
	"hash/crc32"
)

// The records of a ledger are a chain: the CRC-32C of each begins with that of the record before.
// So a record that is taken out, changed or moved is found. Until 2026-11-23, each checksum was
// that of its own record only; such a ledger is still read, and the chain begins where a later
// mailbench appended to it.

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	firstLink  = crc32.Checksum([]byte("mailbench ledger"), castagnoli) // before the first record
)

// sumOf is the checksum that a record has.
func sumOf(record []byte) uint32 { return binary.LittleEndian.Uint32(record[recordSize-4:]) }

// link enters the checksums of encoded records, which follow a record with the checksum before. It
// returns the last.
func link(before uint32, records []byte) uint32 {
	for ; len(records) > 0; records = records[recordSize:] {
		before = crc32.Update(before, castagnoli, records[:recordSize-4])
		binary.LittleEndian.PutUint32(records[recordSize-4:], before)
	}
	return before
}

// links checks the records of a ledger in order.
type links struct {
	sum     uint32 // checksum of the record before
	chained bool   // the chain has begun
}

// take reports whether the checksum of the next record is right, and goes on to that record if so.
func (l *links) take(record []byte) bool {
	sum := sumOf(record)
	switch sum {
	case crc32.Update(l.sum, castagnoli, record[:recordSize-4]):
		l.chained = true
	case crc32.Checksum(record[:recordSize-4], castagnoli):
		if l.chained {
			return false
		}
	default:
		return false
	}
	l.sum = sum
	return true
}
