package launch

import (
	"fmt"
	"strings"
	"testing"
)

// TestTail: as many lines as requested, whether or not the last one has an end, and all of a text
// that has fewer.
func TestTail(t *testing.T) {
	var long strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	for _, c := range []struct {
		text  string
		from  int64
		lines int
		want  string
	}{
		{"", 0, 2, ""},
		{"a\nb\nc\n", 0, 1, "c\n"},
		{"a\nb\nc\n", 0, 2, "b\nc\n"},
		{"a\nb\nc", 0, 2, "b\nc"},
		{"a\n\nc\n", 0, 2, "\nc\n"},
		{"a\nb\n", 0, 9, "a\nb\n"},
		{"a\nb\nc\n", 4, 9, "c\n"},
		{"a\n", 9, 1, ""},
		{long.String(), 0, 3, "line 2997\nline 2998\nline 2999\n"},
		{long.String(), 0, 2999, strings.TrimPrefix(long.String(), "line 0\n")},
		{long.String(), 7, 9999, strings.TrimPrefix(long.String(), "line 0\n")},
	} {
		f := strings.NewReader(c.text)
		if got, err := tailOf(f, c.from, c.lines); got != c.want || err != nil || f.Len() > 0 {
			t.Errorf("last %d lines of %d bytes from %d on: %.40q, %v, want %.40q", c.lines, len(c.text), c.from, got, err, c.want)
		}
	}
}
