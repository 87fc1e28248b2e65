package history

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/mailbench/mailbench/reports/compare"
	"github.com/mailbench/mailbench/workloads/results"
)

const (
	// falseAlarms is the share of series in which a timed figure may be said to change although
	// only chance divides the runs.
	falseAlarms = 0.05
	// window is how many of a series' last runs are searched. The search takes time with the
	// square of it.
	window = 100
	// fewest is the least number of runs on each side of a change.
	fewest = 2
	// exceeding is how many random orders of the runs may divide as well as the real order.
	exceeding = 3
)

// timed finds where timed figures changed.
func (s *Series) timed() {
	var timed []*Figure
	for i := range s.Figures {
		if s.Figures[i].Measure.Timed() {
			timed = append(timed, &s.Figures[i])
		}
	}
	if len(timed) == 0 {
		return
	}
	level := falseAlarms / float64(len(timed))
	s.Least = leastRuns(level)
	for _, f := range timed {
		if len(f.known()) >= s.Least {
			s.Tested++
			f.search(level)
		}
	}
}

// leastRuns is how many runs it takes until the clearest change is rare enough among all
// orders of the runs.
func leastRuns(level float64) int {
	orders := 1.0 // ways to divide n runs into halves
	for n := 2; ; n++ {
		orders *= float64(n) / float64((n+1)/2)
		if n >= 2*fewest && 2/orders <= level/(exceeding+1) { // 2 orders are the best: halves may change places
			return n
		}
	}
}

// known are the indexes of the last runs that have the figure, at most window.
func (f *Figure) known() []int {
	var at []int
	for i, v := range f.Values {
		if v != nil && *v > 0 {
			at = append(at, i)
		}
	}
	return at[max(0, len(at)-window):]
}

// search finds the changes of the figure that are unlikely to be chance and larger than its
// limit. Neighboring runs that differ by less are joined, the most alike first, so that small
// steps add up.
func (f *Figure) search(level float64) {
	at := f.known()
	logs := make([]float64, len(at))
	for i, n := range at {
		logs[i] = math.Log(*f.Values[n])
	}
	steps := divide(logs, 0, level, rand.New(rand.NewPCG(1, uint64(len(logs)))))
	matters := math.Log1p(f.Measure.Limit)
	for len(steps) > 0 {
		least, by := 0, math.Inf(1)
		for i := range steps {
			before, after := around(logs, steps, i)
			if d := math.Abs(after - before); d < by {
				least, by = i, d
			}
		}
		if by >= matters {
			break
		}
		steps = slices.Delete(steps, least, least+1)
	}
	for i, step := range steps {
		before, after := around(logs, steps, i)
		says := compare.Better
		if after > before != f.Measure.HigherIsBetter {
			says = compare.Worse
		}
		f.Changes = append(f.Changes, Change{
			Run: at[step.at], Before: math.Exp(before), After: math.Exp(after),
			Says: says, P: step.p,
		})
	}
}

// step is a place that divides a series.
type step struct {
	at int     // index of the first value after it
	p  float64 // share of random orders that divide as well
}

// around are the medians of the values between a step and the steps before and after it.
func around(logs []float64, steps []step, i int) (before, after float64) {
	from, to := 0, len(logs)
	if i > 0 {
		from = steps[i-1].at
	}
	if i+1 < len(steps) {
		to = steps[i+1].at
	}
	return results.Median(logs[from:steps[i].at]), results.Median(logs[steps[i].at:to])
}

// divide is the search of Matteson and James (E-divisive, JASA 2014). The place that divides
// the values best is a step, if few random orders of the values have a place that divides them
// as well. Then both sides are searched in the same way.
func divide(values []float64, from int, level float64, random *rand.Rand) []step {
	if len(values) < 2*fewest {
		return nil
	}
	d := distancesOf(values)
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
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
	steps = append(steps, step{from + at, p})
	return append(steps, divide(values[at:], from+at, level, random)...)
}

// distances are the distances of all pairs of values.
type distances struct {
	n    int
	of   []float64 // n × n distances
	sums []float64 // (n+1) × (n+1): sums of of over the rectangle from the first value of an order
}

func distancesOf(values []float64) *distances {
	n := len(values)
	d := &distances{n: n, of: make([]float64, n*n), sums: make([]float64, (n+1)*(n+1))}
	for i, a := range values {
		for j, b := range values {
			d.of[i*n+j] = math.Abs(a - b)
		}
	}
	return d
}

// parted is the place that divides the values in that order best, and how well. The right side
// may end before the last value, so that a change that went away again is found too.
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
