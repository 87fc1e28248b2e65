package subject

import (
	"math"
	"runtime/debug"
	"testing"
)

// TestLargeAtOnce: who allows more memory gets more large messages at a time.
func TestLargeAtOnce(t *testing.T) {
	t.Cleanup(func() { debug.SetMemoryLimit(math.MaxInt64) })
	for _, c := range []struct {
		env         string
		limit, want int64
	}{
		{"", 96 << 20, 32 << 20},
		{"", math.MaxInt64, 32 << 20},
		{"64MiB", 64 << 20, 32 << 20},
		{"3GiB", 3 << 30, 1 << 30},
		{"off", math.MaxInt64, math.MaxInt64 / 3},
	} {
		t.Setenv("GOMEMLIMIT", c.env)
		debug.SetMemoryLimit(c.limit)
		if got := largeAtOnce(); got != c.want {
			t.Errorf("GOMEMLIMIT=%s: %d bytes, want %d", c.env, got, c.want)
		}
	}
}
