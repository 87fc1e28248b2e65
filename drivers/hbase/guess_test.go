package hbase

import (
	"strings"
	"testing"

	"github.com/mailbench/mailbench/schemas"
)

// TestGuess: what bytes look like, and what keys are made of.
func TestGuess(t *testing.T) {
	id := "\x12\x34\x56\x78\x12\x34\x41\x23\x81\x23\x12\x34\x56\x78\x9a\xbc"
	for _, c := range []struct {
		values     []string
		key, value schemas.Kind
		why, shape string
	}{
		{nil, schemas.Blob, schemas.Blob, "without a value", "unknown"},
		{[]string{"a", "bcd"}, schemas.Text, schemas.Text, "text", `text of 1 to 3 bytes, such as "a"`},
		{[]string{"12", "345"}, schemas.Text, schemas.Text, "text of digits", "such as \"12\""},
		{[]string{`{"a":1}`, `[2]`}, schemas.Text, schemas.Text, "text in JSON", ""},
		{[]string{"ann#0001", "bo#0002"}, schemas.Text, schemas.Text, "text", `of 2 parts with '#' between them: text, 4 characters of digits`},
		{[]string{"\x00\x00\x00\x00\x00\x00\x00\x07"}, schemas.Bigint, schemas.Bigint, "8 bytes", "binary, 8 bytes, such as 0x0000000000000007"},
		{[]string{"\x00\x00\x01\x8b\xcf\xe5\x68\x00"}, schemas.Bigint, schemas.Bigint, "milliseconds", "binary"},
		{[]string{"\xff\xff\xff\xff\xff\xff\xff\x07"}, schemas.Blob, schemas.Bigint, "8 bytes", "binary"},
		{[]string{"\x00\x00\x00\x07"}, schemas.Blob, schemas.Int, "4 bytes", "binary"},
		{[]string{"\x00", "\xff"}, schemas.Blob, schemas.Boolean, "one byte", "binary"},
		{[]string{id}, schemas.UUID, schemas.UUID, "marks of a UUID", "16 bytes"},
		{[]string{"\xff\xfe\xfd"}, schemas.Blob, schemas.Blob, "bytes", "binary"},
		{[]string{strings.Repeat("a", keptBytes-1) + "\xc3"}, schemas.Text, schemas.Text, "text", ""},
	} {
		var all [][]byte
		for _, v := range c.values {
			all = append(all, []byte(v))
		}
		if got := guessKey(all); got.kind != c.key {
			t.Errorf("key %q: %s, want %s", c.values, got.kind, c.key)
		}
		if got := guessValue(all); got.kind != c.value || !strings.Contains(got.why, c.why) {
			t.Errorf("value %q: %s, %s; want %s, %s", c.values, got.kind, got.why, c.value, c.why)
		}
		if got := shapeOf(all); !strings.Contains(got, c.shape) {
			t.Errorf("key %q: %s; want %s", c.values, got, c.shape)
		}
	}
}
