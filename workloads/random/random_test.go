package random

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

const draws = 200_000

// fits fails if the counts of draws differ from the expected probabilities by
// more than chance allows: chi-square with k-1 degrees of freedom has mean k-1 and
// variance 2(k-1); five standard deviations above it are beyond chance, the
// seed being fixed. Cells that expect less than 5 are put together.
func fits(t *testing.T, what string, counts []int, p func(i int) float64) {
	t.Helper()
	var chi, rest, restCount float64
	total, cells := 0, 0
	for _, c := range counts {
		total += c
	}
	add := func(count, expected float64) {
		chi += (count - expected) * (count - expected) / expected
		cells++
	}
	for i, c := range counts {
		if e := p(i) * float64(total); e >= 5 {
			add(float64(c), e)
		} else {
			rest += e
			restCount += float64(c)
		}
	}
	if rest >= 5 {
		add(restCount, rest)
	}
	k := float64(cells - 1)
	if limit := k + 5*math.Sqrt(2*k); chi > limit {
		t.Errorf("%s: chi-square %.1f over %d cells, above %.1f", what, chi, cells, limit)
	}
}

func TestZipf(t *testing.T) {
	for _, s := range []float64{0.2, 0.99, 1, 1.0000001, 1.5, 3} {
		for _, n := range []int{1, 2, 7, 100, 10_000} {
			var r Rand
			r.Seed(1, uint64(n), math.Float64bits(s))
			z := NewZipf(s, n)
			counts := make([]int, n)
			for range draws {
				counts[z.Draw(&r)-1]++
			}
			sum := 0.0
			for k := n; k >= 1; k-- {
				sum += math.Pow(float64(k), -s)
			}
			fits(t, fmt.Sprintf("s %v, n %d", s, n), counts, func(i int) float64 { return math.Pow(float64(i+1), -s) / sum })
		}
	}
}

// TestZipfOver: changing n is the same as beginning with it.
func TestZipfOver(t *testing.T) {
	if a, b := NewZipf(0.99, 5).Over(1000), NewZipf(0.99, 1000); a != b {
		t.Errorf("%+v is not %+v", a, b)
	}
}

func TestKeys(t *testing.T) {
	for _, n := range []int{10, 1000, tableMost, tableMost + 1} {
		testKeys(t, n)
	}
}

func testKeys(t *testing.T, n int) {
	sum := 0.0
	for k := n; k >= 1; k-- {
		sum += math.Pow(float64(k), -DefaultTheta)
	}
	for keys, p := range map[Keys]func(rank int) float64{
		{}:                                  func(int) float64 { return 1 / float64(n) },
		{Theta: DefaultTheta}:               func(i int) float64 { return math.Pow(float64(i+1), -DefaultTheta) / sum },
		{Theta: DefaultTheta, Latest: true}: func(i int) float64 { return math.Pow(float64(i+1), -DefaultTheta) / sum },
	} {
		c := keys.Chooser(n)
		rank := make(map[int]int, n)
		for i := range n {
			rank[c.Key(i)] = i
		}
		if len(rank) != n {
			t.Errorf("%v: %d ranks fall on %d keys", keys, n, len(rank))
		}
		if keys.Latest && c.Key(0) != 0 {
			t.Errorf("the newest is key %d, not 0", c.Key(0))
		}
		other := keys.Chooser(1)
		counts, among := make([]int, n), make([]int, n)
		var r Rand
		r.Seed(2, 0, 0)
		for range draws {
			counts[rank[c.Choose(&r)]]++
			among[rank[other.Among(n, &r)]]++
		}
		fits(t, fmt.Sprint(keys, " of ", n), counts, p)
		fits(t, fmt.Sprint(keys, " among ", n), among, p)
	}
	for n := 1; n < 500; n++ {
		c := Keys{Theta: 1}.Chooser(n)
		seen := make([]bool, n)
		for i := range n {
			seen[c.Key(i)] = true
		}
		if slices.Contains(seen, false) {
			t.Fatalf("of %d keys some are never asked for", n)
		}
	}
}

// TestDistributions compares draws with the distribution functions by
// Kolmogorov's distance; 1.95/√n is passed by chance once in a thousand.
func TestDistributions(t *testing.T) {
	normal := func(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }
	sigma := math.Log(200.0/6) / Z99
	for _, of := range []struct {
		Dist
		cdf func(x float64) float64
	}{
		{Uniform{1000, 1001000}, func(x float64) float64 { return (x - 1000) / 1e6 }},
		{Lognormal{6000, 200e3}, func(x float64) float64 { return normal(math.Log(x/6000) / sigma) }},
		{Pareto{20e3, 1.2, 25e6}, func(x float64) float64 {
			return (1 - math.Pow(20e3/x, 1.2)) / (1 - math.Pow(20e3/25e6, 1.2))
		}},
		{Empirical{{1000, 0}, {4000, 0.5}, {1e6, 1}}, func(x float64) float64 {
			if x < 4000 {
				return 0.5 * math.Log(x/1000) / math.Log(4)
			}
			return 0.5 + 0.5*math.Log(x/4000)/math.Log(250)
		}},
		{Empirical{{1, 0}, {1, 0.7}, {2, 0.7}, {2, 0.9}, {9, 0.9}, {9, 1}}, func(x float64) float64 {
			switch {
			case x < 2:
				return 0.7
			case x < 9:
				return 0.9
			}
			return 1
		}},
	} {
		d, cdf := of.Dist, of.cdf
		var r Rand
		values, sum := make([]float64, draws), 0.0
		for i := range values {
			r.Seed(3, 0, uint64(i))
			v := d.Draw(&r)
			values[i] = float64(v)
			sum += values[i]
		}
		slices.Sort(values)
		worst := 0.0
		for i, v := range values {
			if i+1 < len(values) && values[i+1] == v { // rounded to whole numbers: compare at steps' ends
				continue
			}
			worst = max(worst, math.Abs(cdf(v+0.5)-float64(i+1)/draws))
		}
		if limit := 1.95/math.Sqrt(draws) + 0.0005; worst > limit {
			t.Errorf("%v: distance %.5f, above %.5f", d, worst, limit)
		}
		// The heaviest of these tails leaves the mean of the draws within 8%.
		if m := sum / draws; math.Abs(m/d.Mean()-1) > 0.08 {
			t.Errorf("%v: mean of the draws %.0f, of the distribution %.0f", d, m, d.Mean())
		}
	}
	if m, want := NewZipf(1, 2).Mean(), 4.0/3; math.Abs(m-want) > 1e-9 {
		t.Errorf("mean of zipf %v, want %v", m, want)
	}
	if d := (Pareto{1, 1, 1000}); math.Abs(d.Mean()-math.Log(1000)*1000/999) > 1e-6 {
		t.Errorf("mean of a pareto with alpha 1: %v", d.Mean())
	}
}

// TestString: the text of a fitted distribution is that of the language.
func TestString(t *testing.T) {
	for text, d := range map[string]Dist{
		"8KB": Constant{8000}, "1500": Constant{1500}, "{empirical: [[512, 0], [2KB, 0.235], [2MB, 1]]}": Empirical{{512, 0}, {2000, 0.235}, {2e6, 1}},
	} {
		if got := fmt.Sprint(d); got != text {
			t.Errorf("%s, want %s", got, text)
		}
	}
}

// TestRand: one bit more of seed, stream or n changes half of all bits, and
// draws replay.
func TestRand(t *testing.T) {
	first := func(seed, stream, n uint64) uint64 {
		var r Rand
		r.Seed(seed, stream, n)
		return r.Uint64()
	}
	var ones [64]int
	const n = 10_000
	for i := range uint64(n) {
		for b := range 64 {
			ones[b] += int((first(1, 2, i) ^ first(1, 2, i+1)) >> b & 1)
		}
	}
	for b, c := range ones { // a standard deviation is 50
		if c < n/2-250 || c > n/2+250 {
			t.Errorf("bit %d changes %d times in %d", b, c, n)
		}
	}
	seen := map[uint64]bool{}
	for _, v := range []uint64{first(0, 0, 0), first(1, 0, 0), first(0, 1, 0), first(0, 0, 1), first(1, 1, 0)} {
		seen[v] = true
	}
	if len(seen) != 5 {
		t.Error("seed, stream and n do not keep draws apart")
	}
	if got := fmt.Sprintf("%016x %016x", first(1, 2, 3), first(42, 0, 1<<40)); got != "1bd4b39a1e84fd9a 54d19db1e0b51472" {
		t.Errorf("draws are %s: recorded runs do not replay any more", got)
	}
}

func TestDrawsAllocateNothing(t *testing.T) {
	dists := []Dist{Constant{1}, Uniform{1, 2}, Lognormal{10, 100}, Pareto{1, 1, 10}, NewZipf(1, 10), Empirical{{1, 0}, {2, 1}}}
	c := Keys{Theta: 0.99}.Chooser(1000)
	r := new(Rand)
	if n := testing.AllocsPerRun(100, func() {
		r.Seed(1, 2, 3)
		for _, d := range dists {
			d.Draw(r)
		}
		c.Choose(r)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A distribution of one value is one.
func TestOneValue(t *testing.T) {
	for _, d := range []Dist{Uniform{5, 5}, Lognormal{5, 5}, Pareto{5, 1.2, 5}, NewZipf(1, 1)} {
		var r Rand
		r.Seed(1, 2, 3)
		if one := d.Draw(&r); d.Mean() != float64(one) || d.Draw(&r) != one {
			t.Errorf("%v: %v", d, one)
		}
	}
}

func BenchmarkZipf(b *testing.B) {
	c := Keys{Theta: DefaultTheta}.Chooser(1_000_000)
	var r Rand
	for n := uint64(0); b.Loop(); n++ {
		r.Seed(1, 0, n)
		c.Choose(&r)
	}
}
