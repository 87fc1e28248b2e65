package run

import (
	"slices"
	"testing"
)

// Each trial begins with another one, and all are there.
func TestRotated(t *testing.T) {
	all := []string{"a", "b", "c"}
	for n, want := range [][]string{{"a", "b", "c"}, {"b", "c", "a"}, {"c", "a", "b"}, {"a", "b", "c"}} {
		if got := rotated(all, n); !slices.Equal(got, want) {
			t.Errorf("trial %d: %v, want %v", n+1, got, want)
		}
	}
	if got := rotated([]string{}, 3); len(got) != 0 {
		t.Errorf("of none: %v", got)
	}
}
