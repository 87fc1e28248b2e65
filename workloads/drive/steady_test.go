package drive

import (
	"math"
	"slices"
	"testing"
)

// wave are windows around a level, which no chance makes.
func wave(n int, level float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = level * (1 + 0.02*math.Sin(float64(i*i)))
	}
	return all
}

func TestWarm(t *testing.T) {
	rising := wave(20, 100)
	for i := range rising {
		rising[i] *= 1 + 0.05*float64(i)
	}
	rough := wave(20, 100)
	for i := range rough {
		rough[i] *= 1 + 0.4*math.Sin(float64(i*i))
	}
	cooling := wave(8, 100)
	for i := range cooling {
		cooling[i] *= 1 + 30/float64(1+i)
	}
	for _, c := range []struct {
		name         string
		windows      []float64
		warm, steady bool
	}{
		{"nothing", nil, false, false},
		{"three windows that agree", []float64{100, 100, 100}, false, false},
		{"nine windows that agree", wave(9, 100), false, true},
		{"ten windows that agree", wave(10, 100), true, true},
		{"a line", rising, false, false},
		{"noise in which nothing can be told", rough, false, true},
		{"a beginning that falls", cooling, false, false},
		{"and what comes after it", slices.Concat(cooling, wave(10, 100)), true, true},
	} {
		if got := warm(c.windows); got != c.warm {
			t.Errorf("%s: warm is %v", c.name, got)
		}
		if got := Steady(c.windows); got != c.steady {
			t.Errorf("%s: steady is %v", c.name, got)
		}
	}
}
