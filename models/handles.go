package models

import (
	"bytes"
	"fmt"
	"slices"
)

// Handles is a buffer for sorting the handles of one call.
type Handles []Handle

// Distinct returns ErrNotFound if hs names a message twice: an operation that removes
// messages would not find it the second time.
func (s *Handles) Distinct(hs []Handle) error {
	if len(hs) < 2 {
		return nil
	}
	*s = append((*s)[:0], hs...)
	slices.SortFunc(*s, func(a, b Handle) int { return bytes.Compare(a[:], b[:]) })
	for i := 1; i < len(*s); i++ {
		if (*s)[i] == (*s)[i-1] {
			return fmt.Errorf("a message is named twice: %w", ErrNotFound)
		}
	}
	return nil
}
