package significance

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/mailbench/mailbench/workloads/results"
)

const (
	// fewest is the least number of values on each side of a step.
	fewest = 2
	// exceeding is how many random orders of the values may divide as well as the real order.
	exceeding = 3
)

// Step is a place at which the values of a series change.
type Step struct {
	At            int     // index of the first value after it
	P             float64 // share of random orders that divide as well
	Before, After float64 // medians of the values up to the steps next to it
}

// LeastValues is how many values it takes until the clearest step is rare enough among all orders of the values.
func LeastValues(level float64) int {
	orders := 1.0 // ways to divide n values into halves
	for n := 2; ; n++ {
		orders *= float64(n) / float64((n+1)/2)
		if n >= 2*fewest && 2/orders <= level/(exceeding+1) { // 2 orders are the best: halves may change places
			return n
		}
	}
}

// Steps finds the steps of a series that are unlikely to be chance: at most the part level of series without a step
// has one. Values that differ by less than limit are joined with those next to them, the most alike first, so that
// small steps add up.
func Steps(values []float64, level, limit float64) []Step {
	steps := divide(values, 0, level, rand.New(rand.NewPCG(1, uint64(len(values)))))
	for {
		from, smallest := 0, -1
		for i := range steps {
			s, to := &steps[i], len(values)
			if i+1 < len(steps) {
				to = steps[i+1].At
			}
			s.Before, s.After = results.Median(values[from:s.At]), results.Median(values[s.At:to])
			if from = s.At; smallest < 0 || s.size() < steps[smallest].size() {
				smallest = i
			}
		}
		if smallest < 0 || steps[smallest].size() >= limit {
			return steps
		}
		steps = slices.Delete(steps, smallest, smallest+1)
	}
}

func (s *Step) size() float64 { return math.Abs(s.After - s.Before) }

// divide is the search of Matteson and James (E-divisive, JASA 2014). The place that divides the values best is a
// step, if few random orders of the values have a place that divides them as well. Then both sides are searched in
// the same way. The first value has the index from.
func divide(values []float64, from int, level float64, random *rand.Rand) []Step {
	if len(values) < 2*fewest {
		return nil
	}
	n, order := len(values), make([]int, len(values))
	d := &distances{n: n, of: make([]float64, n*n), sums: make([]float64, (n+1)*(n+1))}
	for i, a := range values {
		order[i] = i
		for j, b := range values {
			d.of[i*n+j] = math.Abs(a - b)
		}
	}
	at, best := d.parted(order)
	orders := int(math.Ceil((exceeding + 1) / level))
	as := 0
	for range orders {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		if _, q := d.parted(order); q >= best {
			if as++; as > exceeding {
				return nil
			}
		}
	}
	p := float64(as+1) / float64(orders+1)
	if p > level {
		return nil
	}
	steps := divide(values[:at], from, level, random)
	steps = append(steps, Step{At: from + at, P: p})
	return append(steps, divide(values[at:], from+at, level, random)...)
}

// distances are the distances of all pairs of values.
type distances struct {
	n    int
	of   []float64 // n × n distances
	sums []float64 // (n+1) × (n+1): sums of of over the rectangle from the first value of an order
}

// parted is the place that divides the values in that order best, and how well. The right side may end before the
// last value, so that a change that went away again is found too.
func (d *distances) parted(order []int) (at int, best float64) {
	w := d.n + 1
	for i, a := range order {
		row := 0.0
		for j, b := range order {
			row += d.of[a*d.n+b]
			d.sums[(i+1)*w+j+1] = d.sums[i*w+j+1] + row
		}
	}
	best = math.Inf(-1)
	for end := 2 * fewest; end <= d.n; end++ {
		for i := fewest; i <= end-fewest; i++ {
			left, both := d.sums[i*w+i], d.sums[i*w+end]
			m, n := float64(i), float64(end-i)
			right := d.sums[end*w+end] - 2*both + left
			across := both - left
			q := m * n / (m + n) * (2*across/(m*n) - left/(m*(m-1)) - right/(n*(n-1)))
			if q > best {
				at, best = i, q
			}
		}
	}
	return at, best
}
