package random

import "github.com/mailbench/mailbench/schemas/strict"

// Size is a number of bytes, or a plain count.
type Size = strict.Size

// Sizes.
const (
	KB = strict.KB
	MB = strict.MB
	GB = strict.GB

	KiB = strict.KiB
	MiB = strict.MiB
	GiB = strict.GiB
)

// ParseSize reads a size such as 200, 6KB or 1.5MiB.
func ParseSize(s string) (Size, error) { return strict.ParseSize(s) }
