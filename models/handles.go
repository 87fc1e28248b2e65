package models

import (
	"bytes"
	"slices"
)

// Handles is a buffer to look through the handles of one call in.
type Handles []Handle

// Distinct reports whether none of hs is named twice: an operation that counts
// what it removes must not count it again.
func (s *Handles) Distinct(hs []Handle) bool {
	if len(hs) < 2 {
		return true
	}
	*s = append((*s)[:0], hs...)
	slices.SortFunc(*s, func(a, b Handle) int { return bytes.Compare(a[:], b[:]) })
	for i := 1; i < len(*s); i++ {
		if (*s)[i] == (*s)[i-1] {
			return false
		}
	}
	return true
}
