// Package words writes numbers and texts as people read them, everywhere in mailbench in the same
// way: durations, sizes and counts with three digits, nouns in the plural, lines of some width,
// tables, and texts from elsewhere as one line without deceptive characters. It imports nothing,
// since all folders write with it.
package words

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Wrap writes lead and text in lines of at most width columns; 0 is one line. Lines after the
// first are indented by indent columns. A word that is longer than a line is not broken.
func Wrap(lead, text string, indent, width int) []string {
	var all []string
	line, n, empty := lead, utf8.RuneCountInString(lead), true
	for _, word := range strings.Fields(text) {
		more := utf8.RuneCountInString(word)
		switch {
		case empty:
			line, n, empty = line+word, n+more, false
		case width == 0 || n+1+more <= width:
			line, n = line+" "+word, n+1+more
		default:
			all = append(all, line)
			line, n = strings.Repeat(" ", indent)+word, indent+more
		}
	}
	return append(all, strings.TrimRight(line, " "))
}

const gap = "  " // between two columns

// Table writes rows in columns. The first ones, as many as left says, are aligned at the left, and
// the others, which are numbers, at the right. A row of one cell goes over all columns. Lines have
// at most width columns, or any number if it is 0: the text of a last column at the left is broken
// into lines, and is on the lines below if the other columns leave it too little room.
func Table(rows [][]string, left, width int) string {
	const least, below = 20, 4 // columns of a text that can still be read, and how far it is indented below
	last := len(rows[0]) - 1
	widths := make([]int, last+1)
	for _, row := range rows {
		for i, cell := range row {
			if len(row) == len(widths) {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	indent := 0
	for _, n := range widths[:last] {
		indent += n + len(gap)
	}
	var all []string
	for _, row := range rows {
		if len(row) < len(widths) {
			all = append(all, row[0])
			continue
		}
		lead := ""
		for i, cell := range row[:last] {
			lead += Align(cell, widths[i], i < left) + gap
		}
		switch text := row[last]; {
		case left <= last:
			all = append(all, lead+Align(text, widths[last], false))
		case width > 0 && width < indent+least:
			all = append(all, strings.TrimRight(lead, " "))
			all = append(all, Wrap(strings.Repeat(" ", below), text, below, width)...)
		default:
			all = append(all, Wrap(lead, text, indent, width)...)
		}
	}
	return strings.Join(all, "\n") + "\n"
}

// Align fills a text up to width columns: at its right, or if it is a number at its left.
func Align(cell string, width int, left bool) string {
	room := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(cell)))
	if left {
		return cell + room
	}
	return room + cell
}

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
	case math.Abs(v-math.Round(v)) < 1e-9 && v < 1e4: // also a mean of whole numbers
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
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

// List joins parts as a sentence does, with "and" before the last.
func List(all []string) string {
	if n := len(all) - 1; n > 0 {
		return strings.Join(all[:n], ", ") + " and " + all[n]
	}
	return strings.Join(all, "")
}

// Thousands writes a whole number with commas: 1,234,567.
func Thousands[N ~int | ~int64 | ~uint64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural writes a number with its noun: 1 run, 2 runs, 0 processes, 3,000 queries. It knows the rules that nouns of
// mailbench follow, and no exceptions from them.
func Plural[N ~int | ~int64](n N, noun string) string {
	stem, y := strings.CutSuffix(noun, "y")
	hisses := func(end string) bool { return strings.HasSuffix(noun, end) }
	switch {
	case n == 1:
	case slices.ContainsFunc([]string{"s", "x", "ch", "sh"}, hisses):
		noun += "es"
	case y && !strings.ContainsAny(stem[len(stem)-1:], "aeiou"):
		noun = stem + "ies"
	default:
		noun += "s"
	}
	return Thousands(n) + " " + noun
}

// OneLine makes a text one line without deceptive characters.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case Deceptive(r):
			return -1
		}
		return r
	}, s)
}

var markdown = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "<", "&lt;", ">", "&gt;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "@", "&#64;")

// Markdown makes a text one line, and escapes what has a meaning in Markdown.
func Markdown(s string) string { return markdown.Replace(OneLine(s)) }

// Deceptive reports whether a terminal or browser would act on the character, or show others
// in another order. These are control and format characters, separators of lines, and bytes that are not UTF-8.
// They come from mail, and get into texts of errors and names of files.
func Deceptive(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar
}
