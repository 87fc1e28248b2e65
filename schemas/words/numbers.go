package words

import (
	"fmt"
	"strconv"
	"time"
)

// Duration writes nanoseconds with three digits and the unit that suits.
func Duration(ns float64) string {
	switch {
	case ns < 999.5:
		return fmt.Sprintf("%.0fns", ns)
	case ns < 999.5e3:
		return Digits(ns/1e3) + "µs"
	case ns < 999.5e6:
		return Digits(ns/1e6) + "ms"
	}
	return Digits(ns/1e9) + "s"
}

// Size writes bytes with three digits. A KB is 1000 bytes, as in workloads.
func Size(bytes float64) string {
	for _, unit := range []string{"B", "KB", "MB", "GB", "TB"} {
		if bytes < 999.5 {
			if unit == "B" && bytes == float64(int64(bytes)) {
				return fmt.Sprintf("%.0fB", bytes)
			}
			return Digits(bytes) + unit
		}
		bytes /= 1000
	}
	return Digits(bytes) + "PB"
}

// Amount writes a number without a unit with three digits.
func Amount(v float64) string {
	switch {
	case v == float64(int64(v)) && v < 1e4:
		return strconv.FormatInt(int64(v), 10)
	case v < 9999.5:
		return Digits(v)
	case v < 999.5e3:
		return Digits(v/1e3) + "k"
	}
	return Digits(v/1e6) + "M"
}

// Digits writes three significant digits, and all digits before the point.
func Digits(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// Clock writes seconds as minutes and seconds, and with hours from an hour on.
func Clock(seconds float64) string {
	s := int(seconds)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// About writes a time that is estimated: 1h05m, 12m, 3m20s, 45s.
func About(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	case d >= 10*time.Minute:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d >= time.Minute:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%ds", int(d.Seconds()))
}
