package drive

import "testing"

// A quota keeps GOMAXPROCS as Go chose it: 2 of 2 processors for a quota of a half.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		own, processors int
		quota           float64
		want            int
	}{{2, 2, 0, 6}, {16, 16, 0, 20}, {16, 16, 16, 20}, {2, 2, 0.5, 2}, {3, 16, 2.5, 3}} {
		if got := places(c.own, c.processors, c.quota); got != c.want {
			t.Errorf("places(%d, %d, %g) = %d, want %d", c.own, c.processors, c.quota, got, c.want)
		}
	}
}
