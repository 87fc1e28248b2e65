package reports

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// duration writes nanoseconds with three digits and the unit that suits.
func duration(ns float64) string {
	switch {
	case ns < 999.5:
		return fmt.Sprintf("%.0fns", ns)
	case ns < 999.5e3:
		return digits3(ns/1e3) + "µs"
	case ns < 999.5e6:
		return digits3(ns/1e6) + "ms"
	}
	return digits3(ns/1e9) + "s"
}

// size writes bytes with three digits. A KB is 1000 bytes, as in workloads.
func size(bytes float64) string {
	for _, unit := range []string{"B", "KB", "MB", "GB"} {
		if bytes < 999.5 {
			if unit == "B" && bytes == float64(int64(bytes)) {
				return fmt.Sprintf("%.0fB", bytes)
			}
			return digits3(bytes) + unit
		}
		bytes /= 1000
	}
	return digits3(bytes) + "TB"
}

// amount writes a number without a unit with three digits.
func amount(v float64) string {
	switch {
	case v == float64(int64(v)) && v < 1e4:
		return strconv.FormatInt(int64(v), 10)
	case v < 9999.5:
		return digits3(v)
	case v < 999.5e3:
		return digits3(v/1e3) + "k"
	}
	return digits3(v/1e6) + "M"
}

// digits3 writes three significant digits, and all digits before the point.
func digits3(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// printable makes a text one line without deceptive characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case deceptive(r):
			return -1
		}
		return r
	}, s)
}

// deceptive reports whether a terminal or browser would act on the character or show
// others in another order: control and format characters, and bytes that are not
// UTF-8. Such characters come with mail into texts of errors and names of files.
func deceptive(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf) || r == unicode.ReplacementChar
}
