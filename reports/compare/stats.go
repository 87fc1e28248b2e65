package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/mailbench/mailbench/workloads/growth"
	"github.com/mailbench/mailbench/workloads/results"
)

// sample is one metric of both sides: the logarithm of its value in each trial. It is NaN for
// a trial that was left out.
type sample struct{ base, new results.Series }

// estimate is the logarithm of the ratio new/base with the bounds of its interval.
// Bounds are infinite if there were too few trials.
type estimate struct {
	base, new        float64 // means of the trials: ratio is their difference
	ratio, low, high float64
	spread           float64 // standard deviation of a side's trials
}

const (
	// alpha is the rate of false alarms: of comparisons of equal builds 5% may have a figure
	// that differs.
	alpha = 0.05
	// maxPermutations is how many permutations of the trials are tried. If there are no more,
	// all of them are.
	maxPermutations = 10_000
	// leastPaired is how many pairs it takes to find a difference by swapping the trials of a
	// pair. Of 2⁶ permutations 2 are as extreme as possible, which is less than alpha.
	leastPaired = 6
	// samConstant is added to the standard error of each figure, as a share of the smallest
	// difference that matters. Without it the figure whose few trials happen to lie closest
	// decides for all figures. It is like s0 of SAM (V. G. Tusher, R. Tibshirani, G. Chu,
	// Significance analysis of microarrays applied to the ionizing radiation response, 2001).
	samConstant = 0.25
	// winsorMost is how far from the median of its side a trial can count, in standard deviations.
	// A burst of another program spoils one trial, and must not hide what all others show.
	winsorMost = 3
	// rounding is how much a sum may change if its terms are added in another order.
	rounding = 1e-9
)

// maxT estimates all samples together. Limits are the smallest differences that matter. Trials are
// exchangeable if the builds are equal, so the trials are permuted between both runs, and the largest
// deviation of any figure is noted each time. The intervals are as wide as the largest deviation of
// 95% of the permutations. So they hold for all figures together, whatever the noise is like and
// however figures depend on each other: maxT of P. H. Westfall and S. S. Young, Resampling-Based
// Multiple Testing, 1993.
func maxT(samples []sample, limits []float64, paired bool, most int) []estimate {
	a := &permuter{limits: limits, paired: paired, most: most}
	for _, s := range samples {
		a.values = append(a.values, winsorize(s))
		a.base, a.all = len(s.base), len(s.base)+len(s.new)
	}
	a.isNew = make([]bool, a.all)
	for i := a.base; i < a.all; i++ {
		a.isNew[i] = true
	}
	estimates, criticalT := make([]estimate, len(samples)), a.criticalT()
	for i := range estimates {
		ratio, err := a.deviation(i)
		width := criticalT * err
		if math.IsNaN(width) {
			width = math.Inf(1)
		}
		base, fresh := a.means(i)
		estimates[i] = estimate{base, fresh, ratio, ratio - width, ratio + width, spread(a.values[i], a.base)}
	}
	return estimates
}

// permuter permutes trials. Trials of the base come first. In each permutation
// isNew says for each trial whether it counts as one of the new side.
type permuter struct {
	values    []results.Series // by sample and trial
	limits    []float64
	paired    bool
	base, all int
	most      int // permutations that are tried
	isNew     []bool
}

// winsorize returns the trials of both sides. Values that are far from all others are moved to a
// bound. Trials of both sides have the same bounds.
func winsorize(s sample) results.Series {
	base, fresh := s.base.Median(), s.new.Median()
	var apart results.Series
	for _, v := range s.base {
		apart = append(apart, math.Abs(v-base))
	}
	for _, v := range s.new {
		apart = append(apart, math.Abs(v-fresh))
	}
	const normal = 1.4826 // standard deviations in a median absolute deviation
	room := winsorMost * normal * apart.Median()
	values := slices.Concat(s.base, s.new)
	for i, v := range values { // NaN stays
		values[i] = min(max(v, min(base, fresh)-room), max(base, fresh)+room)
	}
	return values
}

// moments are sums over the trials of a side, or over the differences of pairs.
type moments struct{ n, sum, squares float64 }

func (m *moments) add(v float64) {
	if !math.IsNaN(v) {
		m.n++
		m.sum += v
		m.squares += v * v
	}
}

func (m *moments) mean() float64 { return m.sum / m.n }

// variance is the variance of the mean.
func (m *moments) variance() float64 { return max(0, m.squares-m.sum*m.sum/m.n) / (m.n - 1) / m.n }

// deviation is the difference of sample i in the permutation, and its standard error.
func (a *permuter) deviation(i int) (difference, err float64) {
	var of [2]moments
	values, floor := a.values[i], samConstant*a.limits[i]
	if a.paired {
		for t := range a.base {
			d := values[a.base+t] - values[t]
			if a.isNew[t] {
				d = -d
			}
			of[0].add(d)
		}
		return of[0].mean(), math.Sqrt(of[0].variance() + floor*floor)
	}
	origin := values[0] // sums of squares are more exact if numbers are small
	if math.IsNaN(origin) {
		origin = 0
	}
	for t, v := range values {
		side := 0
		if a.isNew[t] {
			side = 1
		}
		of[side].add(v - origin)
	}
	return of[1].mean() - of[0].mean(), math.Sqrt(floor*floor + of[0].variance() + of[1].variance())
}

// means are the means of both sides, of the trials that deviation is of.
func (a *permuter) means(i int) (base, fresh float64) {
	var of [2][]float64
	for t, v := range a.values[i] {
		other := v // of the pair
		if a.paired {
			other = a.values[i][(t+a.base)%a.all]
		}
		if !math.IsNaN(v + other) {
			side := min(1, t/max(1, a.base))
			of[side] = append(of[side], v)
		}
	}
	return stat.Mean(of[0], nil), stat.Mean(of[1], nil)
}

// spread is the standard deviation of trials from the mean of their side.
func spread(values results.Series, base int) float64 {
	var squares, n float64
	for _, side := range []results.Series{values[:base], values[base:]} {
		if side = side.Known(); len(side) > 1 {
			free := float64(len(side) - 1)
			squares, n = squares+free*stat.Variance(side, nil), n+free
		}
	}
	return math.Sqrt(squares / max(1, n))
}

// criticalT is a number of standard errors: in no more than 5% of the permutations some figure
// deviates by more. Figures of too few trials get no verdict, and have no part in it.
func (a *permuter) criticalT() float64 {
	var judged []int
	for i, v := range a.values {
		if min(len(v[:a.base].Known()), len(v[a.base:].Known())) >= leastTrials {
			judged = append(judged, i)
		}
	}
	var largest []float64
	for range a.permutations() {
		most := 0.0
		for _, i := range judged {
			d, err := a.deviation(i)
			if z := math.Abs(d) / err; z > most { // false for NaN
				most = z
			}
		}
		largest = append(largest, most)
	}
	if len(largest) == 0 {
		return math.Inf(1)
	}
	slices.Sort(largest)
	beyond := int(alpha * float64(len(largest)))
	return largest[len(largest)-1-beyond] * (1 + rounding)
}

// permutations yields each permutation once, or a sample of them, the observed one
// among it. The sample is always the same.
func (a *permuter) permutations() func(yield func() bool) {
	return func(yield func() bool) {
		observed := slices.Clone(a.isNew)
		defer copy(a.isNew, observed)
		switch {
		case a.paired && math.Pow(2, float64(a.base)) <= float64(a.most):
			for bits := range 1 << a.base {
				for t := range a.base {
					a.isNew[t] = bits>>t&1 == 1
				}
				if !yield() {
					return
				}
			}
			return
		case !a.paired && combin.GeneralizedBinomial(float64(a.all), float64(a.base)) < float64(a.most)+0.5:
			chosen := make([]int, a.all-a.base)
			for g := combin.NewCombinationGenerator(a.all, len(chosen)); g.Next(); {
				clear(a.isNew)
				for _, t := range g.Combination(chosen) {
					a.isNew[t] = true
				}
				if !yield() {
					return
				}
			}
			return
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range a.most {
			if !yield() {
				return
			}
			for t := range a.isNew[:a.base] {
				if a.paired {
					a.isNew[t] = random.IntN(2) == 1
				}
			}
			if !a.paired {
				random.Shuffle(a.all, func(i, j int) { a.isNew[i], a.isNew[j] = a.isNew[j], a.isNew[i] })
			}
		}
	}
}

// Counters depend on the code and on the messages that operations found. Runs
// with the same plan have the same operations, but which existing message an operation
// finds depends on what others did before it.
const (
	// knownErrors is how many standard errors two means must be apart. By chance that
	// happens to one counter in 10⁹, so no correction for many counters is needed.
	knownErrors = 6
	// knownOperations is how many operations it takes to know their deviation.
	knownOperations = 30
	// leastChange is a change of a mean that is more than rounding.
	leastChange = 1e-6
)

// count is a counter over all trials of a side. N is how many operations it is of.
type count struct{ mean, deviation, n float64 }

// pooled puts trials together.
func pooled(trials []observed, m *Measure) count {
	var n, sum, squares float64
	for i := range trials {
		o := &trials[i].op
		of := float64(o.Attempted())
		if of == 0 {
			continue
		}
		mean, deviation := m.count(o)
		n += of
		sum += of * mean
		squares += of * (deviation*deviation + mean*mean)
	}
	mean := sum / n
	return count{mean, math.Sqrt(max(0, squares/n-mean*mean)), n}
}

// judgeCount sets the verdict of a counter.
func (p *pair) judgeCount(f *Figure) {
	b, n := pooled(f.of.in[0], f.kind), pooled(f.of.in[1], f.kind)
	f.Base, f.New = &b.mean, &n.mean
	change := math.Abs(n.mean - b.mean)
	relative, floor, errors := change/b.mean, f.Limit*b.mean, f.Name == "errors"
	if errors { // errors are a share of operations already
		relative, floor = change, max(floor, f.Limit)
	} else if b.mean > 0 {
		ratio := n.mean / b.mean
		f.Ratio = &ratio
	}
	more, matters := n.mean > b.mean, relative >= f.Limit
	switch {
	case change <= leastChange*max(1, b.mean):
		f.Verdict = Same
		return
	case errors:
	case !f.of.equallyOften():
		f.cannotTell("the runs did not execute the same operations")
		return
	case p.sequential():
		f.Exact = true
		f.differs(more, matters)
		return
	case p.judgePaired(f, change, matters, b.mean, more):
		return
	}
	err := math.Hypot(b.deviation/math.Sqrt(b.n), n.deviation/math.Sqrt(n.n))
	switch {
	case min(b.n, n.n) < knownOperations:
		f.cannotTell(fmt.Sprintf("fewer than %d operations", knownOperations))
	case matters && change >= knownErrors*err:
		f.Exact = err == 0
		f.differs(more, true)
	case change+knownErrors*err <= floor:
		f.Verdict = Same
	default:
		f.cannotTell("operations choose messages at random, which explains the difference")
	}
}

// equallyOften reports whether both sides attempted the operation equally often in
// each trial. They do in an open loop, and if a phase ends after a number of operations.
func (s *series) equallyOften() bool {
	var attempted [2]int64
	for side, in := range s.in {
		for i := range in {
			attempted[side] += in[i].op.Attempted()
		}
	}
	return attempted[0]*int64(len(s.in[1])) == attempted[1]*int64(len(s.in[0]))
}

// judgePaired sets the verdict of a counter by trials of one number, which draw the same operations on both
// sides: there the counter differs by the code and by what operations found by chance. The trials themselves
// say how large that chance is: single operations differ much more from each other, since they are of
// unlike messages. It returns false if the sides do not have the same trials, each with the same number of
// operations, if there are fewer than leastTrials of them, or if they do not decide.
func (p *pair) judgePaired(f *Figure, change float64, matters bool, b float64, more bool) bool {
	base, new := slices.Clone(f.of.in[0]), slices.Clone(f.of.in[1])
	if len(base) < leastTrials || !p.sameTrials() {
		return false
	}
	byNumber := func(a, b observed) int { return a.cell.Trial - b.cell.Trial }
	slices.SortStableFunc(base, byNumber)
	slices.SortStableFunc(new, byNumber)
	differences := make([]float64, len(base))
	for i := range base {
		x, y := &base[i].op, &new[i].op
		if x.Attempted() == 0 || x.Attempted() != y.Attempted() {
			return false
		}
		was, _ := f.kind.count(x)
		is, _ := f.kind.count(y)
		differences[i] = is - was
	}
	// How far the mean of the differences may be from what more trials would give, with
	// a millionth of a doubt: 0 if all trials have the same difference.
	_, chance := growth.Mean(differences, 1e-6)
	switch {
	case matters && change > chance:
		f.Exact = chance <= leastChange*max(1, b)
		f.differs(more, true)
	case change+chance <= f.Limit*b:
		f.Verdict = Same
	default:
		return false
	}
	return true
}
