package strict

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, or a plain count. It is written as a number, with a unit or
// without: B, KB, MB, GB are powers of 1000, and KiB, MiB, GiB are powers of 1024.
type Size int64

// Sizes.
const (
	KB Size = 1000
	MB      = 1000 * KB
	GB      = 1000 * MB

	KiB Size = 1 << 10
	MiB      = 1 << 20
	GiB      = 1 << 30
)

// units begin with the widest, so that String finds the shortest text.
var units = []struct {
	name string
	size Size
}{{"GiB", GiB}, {"GB", GB}, {"MiB", MiB}, {"MB", MB}, {"KiB", KiB}, {"KB", KB}, {"B", 1}}

// ParseSize reads a size such as 200, 6KB or 1.5MiB. The result must be a whole number
// that is not negative.
func ParseSize(s string) (Size, error) {
	number, unit := s, Size(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(f) || number == "" || strings.ContainsAny(number, "xXpP_") {
		return 0, fmt.Errorf("%q is not a size; expected a number, with a unit or none (B, KB, MB, GB, KiB, MiB, GiB)", s)
	}
	switch f *= float64(unit); {
	case f < 0:
		return 0, fmt.Errorf("%s is negative", s)
	case f > 1<<62:
		return 0, fmt.Errorf("%s is too large", s)
	case f != math.Trunc(f):
		return 0, fmt.Errorf("%s is not a whole number", s)
	}
	return Size(f), nil
}

// String returns the size as the language writes it, exactly: 6KB, 1536.
func (s Size) String() string {
	for _, u := range units {
		if u.size > 1 && s >= u.size && s%u.size == 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
