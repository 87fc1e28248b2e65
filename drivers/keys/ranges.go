package keys

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// FormatRange writes a range of keys as ParseRange reads it. A nil key is the table's beginning or its end.
func FormatRange(from, to []byte) string {
	return hex.EncodeToString(from) + ":" + hex.EncodeToString(to)
}

// ParseRange reads a range that FormatRange wrote.
func ParseRange(s string) (from, to []byte, err error) {
	low, high, ok := strings.Cut(s, ":")
	if ok {
		if from, err = hex.DecodeString(low); err == nil {
			to, err = hex.DecodeString(high)
		}
	}
	if !ok || err != nil {
		return nil, nil, fmt.Errorf("%q is no range of keys in hexadecimal, such as 0a:1f", s)
	}
	if len(from) == 0 {
		from = nil
	}
	if len(to) == 0 {
		to = nil
	}
	return from, to, nil
}
