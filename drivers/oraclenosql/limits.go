package oraclenosql

import (
	"fmt"

	"github.com/mailbench/mailbench/drivers"
)

// limits say how large writes may be, in bytes, and how many parts an atomic batch has; 0 is no
// limit. Beyond them a write is [drivers.ErrTooLarge].
type limits struct{ key, row, batch, parts int }

// limitsOf are the limits by the setting limits.
//
// On premises the proxy takes requests of 64 MiB and answers "413 Request Entity Too Large" above
// that; the rest is for names and keys. The store takes keys of 32,767 bytes, and 100,000 parts
// were fine. (Measured on 25.3.21. The memory of a server may be too small for rows of that size.)
// The cloud's are those that the proxy's source has for it (RequestLimits.java), and that Oracle's
// simulator of the cloud service refused writes for. It counts some bytes of encoding that check does
// not: a row of exactly this size passes here, and not there.
var limitsOf = map[string]limits{
	"onprem": {key: 32767, row: maxRequest, batch: maxRequest},
	"cloud":  {key: 64, row: 512 << 10, batch: 25 << 20, parts: 50},
}

const maxRequest = 64<<20 - 64<<10

// check returns an error if a write of these sizes is too large, or a read has too large a key.
func (l *limits) check(key, all int) error {
	switch {
	case l.key > 0 && key > l.key:
		return fmt.Errorf("a key of %d bytes, but %d are the most: %w", key, l.key, drivers.ErrTooLarge)
	case all > l.row:
		return fmt.Errorf("%d bytes, but a row has at most %d: %w", all, l.row, drivers.ErrTooLarge)
	}
	return nil
}

// checkBatch returns an error if an atomic batch is too large.
func (l *limits) checkBatch(parts []drivers.Call) error {
	size := 0
	for i := range parts {
		for _, v := range parts[i].Args {
			size += v.Size()
		}
	}
	switch {
	case l.parts > 0 && len(parts) > l.parts:
		return fmt.Errorf("%d parts, but an atomic batch has at most %d: %w", len(parts), l.parts, drivers.ErrTooLarge)
	case size > l.batch:
		return fmt.Errorf("%d bytes, but an atomic batch has at most %d: %w", size, l.batch, drivers.ErrTooLarge)
	}
	return nil
}
