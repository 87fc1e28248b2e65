package page

import (
	"math"

	"github.com/mailbench/mailbench/schemas/words"
)

// nextStep is 1, 2, 5, 10, 20, 50 and so on.
func nextStep(step int) int {
	for n := step; ; n /= 10 {
		switch n {
		case 1, 5:
			return 2 * step
		case 2:
			return 5 * step / 2
		}
	}
}

// linearScale is an axis from 0 to a round number.
type linearScale struct{ step, top, from, to float64 }

// newLinearScale has room for all values up to most. 0 is at from, and the top is at to.
func newLinearScale(most, from, to float64) linearScale {
	if most <= 0 {
		most = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for most/step < 3 {
		step /= 2
	}
	return linearScale{step, math.Ceil(most/step) * step, from, to}
}

func (s linearScale) at(v float64) float64 { return s.from + v/s.top*(s.to-s.from) }

func (s linearScale) ticks(text func(float64) string) []tick {
	ts := []tick{{s.at(0), "0"}}
	for v := s.step; v <= s.top*1.001; v += s.step {
		ts = append(ts, tick{s.at(v), words.OneLine(text(v))})
	}
	return ts
}
