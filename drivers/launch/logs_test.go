package launch

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestSeekLast: as many lines as requested, whether or not the last one has an end, and all of a text
// that has fewer.
func TestSeekLast(t *testing.T) {
	var long strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	for _, c := range []struct {
		text  string
		lines int
		want  string
	}{
		{"", 2, ""},
		{"a\nb\nc\n", 1, "c\n"},
		{"a\nb\nc\n", 2, "b\nc\n"},
		{"a\nb\nc", 2, "b\nc"},
		{"a\n\nc\n", 2, "\nc\n"},
		{"a\nb\n", 9, "a\nb\n"},
		{long.String(), 2999, strings.TrimPrefix(long.String(), "line 0\n")},
	} {
		r := strings.NewReader(c.text)
		if err := seekLast(r, c.lines); err != nil {
			t.Fatal(err)
		}
		if got, _ := io.ReadAll(r); string(got) != c.want {
			t.Errorf("last %d lines of %d bytes: %.40q, want %.40q", c.lines, len(c.text), got, c.want)
		}
	}
}
