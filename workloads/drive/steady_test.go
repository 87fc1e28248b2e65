package drive

import "testing"

func TestWarm(t *testing.T) {
	for _, c := range []struct {
		windows []float64
		want    bool
	}{
		{[]float64{100, 100}, false},
		{[]float64{400, 200, 100}, false},
		{[]float64{400, 200, 100, 105, 98}, true},
	} {
		if got := warm(c.windows); got != c.want {
			t.Errorf("warm(%v) = %v", c.windows, got)
		}
	}
}
