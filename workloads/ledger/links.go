package ledger

import (
	"encoding/binary"
	"hash/crc32"
)

// The records of a ledger are a chain: the CRC-32C of each begins with that of the record before.
// So a record that is taken out, changed or moved is found.

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

// follows reports whether the checksum of an encoded record is right behind a record with the
// checksum before.
func follows(before uint32, record []byte) bool {
	return sumOf(record) == crc32.Update(before, castagnoli, record[:recordSize-4])
}
