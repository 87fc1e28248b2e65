package hbase

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mailbench/mailbench/schemas"
)

// guess is the type that bytes look like, and why.
type guess struct {
	kind     schemas.Kind
	why      string
	unsigned bool // a number of a key without its sign flipped
}

// guessKey guesses the type of a row key or qualifier, as mailbench could read it.
func guessKey(all [][]byte) guess {
	switch n := lengthOf(all); {
	case len(all) == 0:
		return guess{kind: schemas.Blob}
	case printable(all):
		return guess{kind: schemas.Text}
	case n == 16 && areUUIDs(all):
		return guess{kind: schemas.UUID}
	case n == 8 && !slices.ContainsFunc(all, func(b []byte) bool { return b[0] >= 0x80 }):
		return guess{kind: schemas.Bigint, unsigned: true}
	}
	return guess{kind: schemas.Blob}
}

// guessValue guesses the type of values.
func guessValue(all [][]byte) guess {
	switch n := lengthOf(all); {
	case len(all) == 0:
		return guess{kind: schemas.Blob, why: "without a value"}
	case n == 1 && !slices.ContainsFunc(all, func(b []byte) bool { return b[0] != 0 && b[0] != 0xff }):
		return guess{kind: schemas.Boolean, why: "one byte, 0 or -1"}
	case printable(all):
		return guess{kind: schemas.Text, why: "text" + textForm(all)}
	case n == 4:
		return guess{kind: schemas.Int, why: "4 bytes"}
	case n == 8 && areTimes(all):
		return guess{kind: schemas.Bigint, why: "8 bytes, which could be milliseconds since 1970"}
	case n == 8:
		return guess{kind: schemas.Bigint, why: "8 bytes"}
	case n == 16 && areUUIDs(all):
		return guess{kind: schemas.UUID, why: "16 bytes with the marks of a UUID"}
	}
	return guess{kind: schemas.Blob, why: "bytes"}
}

// lengthOf returns the length that all values have, or -1.
func lengthOf(all [][]byte) int {
	n := -1
	for i, b := range all {
		if i > 0 && len(b) != n {
			return -1
		}
		n = len(b)
	}
	return n
}

// printable reports whether all values are text that people read. The last character may be cut.
func printable(all [][]byte) bool {
	return !slices.ContainsFunc(all, func(b []byte) bool {
		if len(b) == keptBytes {
			for i := 0; i < utf8.UTFMax && !utf8.Valid(b); i++ {
				b = b[:len(b)-1]
			}
		}
		return !utf8.Valid(b) || strings.ContainsFunc(string(b), func(r rune) bool {
			return unicode.IsControl(r) && !unicode.IsSpace(r)
		})
	})
}

func areUUIDs(all [][]byte) bool {
	return !slices.ContainsFunc(all, func(b []byte) bool { return b[6]>>4 == 0 || b[6]>>4 > 8 || b[8]>>6 != 2 })
}

// areTimes reports whether all numbers are milliseconds from 2000 to 2100.
func areTimes(all [][]byte) bool {
	least, most := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	return !slices.ContainsFunc(all, func(b []byte) bool {
		n := binary.BigEndian.Uint64(b)
		return n < uint64(least.UnixMilli()) || n > uint64(most.UnixMilli())
	})
}

// textForm says what texts look like beside being text.
func textForm(all [][]byte) string {
	every := func(is func(b []byte) bool) bool {
		return !slices.ContainsFunc(all, func(b []byte) bool { return !is(b) })
	}
	switch {
	case every(func(b []byte) bool { return number.Match(b) }):
		return " of digits"
	case every(func(b []byte) bool { return len(b) > 1 && (b[0] == '{' || b[0] == '[') && json.Valid(b) }):
		return " in JSON"
	}
	return ""
}

var number = regexp.MustCompile(`^-?[0-9]+$`)

// delimiters are what divides a text key into parts, in the order in which they are tried.
const delimiters = "\x00#|:/!_-."

// shapeOf says what keys look like.
func shapeOf(all [][]byte) string {
	if len(all) == 0 {
		return "unknown"
	}
	least, most := math.MaxInt, 0
	for _, b := range all {
		least, most = min(least, len(b)), max(most, len(b))
	}
	size := fmt.Sprintf("%d to %d bytes", least, most)
	if least == most {
		size = fmt.Sprintf("%d bytes", least)
	}
	if !printable(all) {
		return fmt.Sprintf("binary, %s, such as 0x%x", size, all[0][:min(len(all[0]), 32)])
	}
	text := fmt.Sprintf("text of %s, such as %s", size, strconv.Quote(string(all[0][:min(len(all[0]), 48)])))
	for _, by := range delimiters {
		if parts := partsOf(all, string(by)); len(parts) > 1 {
			return text + fmt.Sprintf(", of %d parts with %q between them: %s", len(parts), by, strings.Join(parts, ", "))
		}
	}
	return text
}

// partsOf says what the parts of keys are, if all keys have as many.
func partsOf(all [][]byte, by string) (words []string) {
	var columns [][][]byte
	for i, b := range all {
		parts := strings.Split(string(b), by)
		if i == 0 {
			columns = make([][][]byte, len(parts))
		}
		if len(parts) != len(columns) {
			return nil
		}
		for k, p := range parts {
			columns[k] = append(columns[k], []byte(p))
		}
	}
	for _, c := range columns {
		word := "text" + textForm(c)
		if n := lengthOf(c); n >= 0 {
			word = fmt.Sprintf("%d characters", n) + textForm(c)
		}
		words = append(words, word)
	}
	return words
}
