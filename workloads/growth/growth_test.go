package growth

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// law is a curve that data is drawn from, and the classes that are right for it.
type law struct {
	name  string
	value func(n float64) float64
	right []Class
}

var laws = []law{
	{"c", func(float64) float64 { return 40 }, []Class{Flat}},
	{"log n", func(n float64) float64 { return 5 * math.Log(n) }, []Class{Logarithmic}},
	{"log n - 3", func(n float64) float64 { return math.Log(n) - 3 }, []Class{Logarithmic}},
	{"sqrt n", math.Sqrt, []Class{Root}},
	{"20 + sqrt n", func(n float64) float64 { return 20 + math.Sqrt(n) }, []Class{Root}},
	{"n", func(n float64) float64 { return 3 * n }, []Class{Linear}},
	{"1000 + n", func(n float64) float64 { return 1000 + n }, []Class{Linear}},
	{"n log n", func(n float64) float64 { return n * math.Log(n) }, []Class{Worse, Linear}}, // the two are alike over few decades
	{"n^2", func(n float64) float64 { return n * n }, []Class{Worse}},
	{"10^6 + n^2", func(n float64) float64 { return 1e6 + n*n }, []Class{Worse}},
	{"1/n", func(n float64) float64 { return 1 / n }, []Class{Falling}},
}

// design is where the law is measured.
type design struct {
	from, factor   float64
	points, trials int
	noise          float64 // standard deviation of the logarithms
}

func (d design) String() string {
	return fmt.Sprintf("%d points %g to %.0f, %d trials, %g%%", d.points, d.from, d.from*math.Pow(d.factor, float64(d.points-1)), d.trials, 100*d.noise)
}

// counted is a point of a counter, whose relative standard error is known.
func counted(n, value, known float64) Point { return Point{Size: n, Value: value, Error: &known} }

// draw measures a law once: the median of the trials at each size.
func (d design) draw(rng *rand.Rand, value func(n float64) float64) []Point {
	var points []Point
	for i := range d.points {
		n := d.from * math.Pow(d.factor, float64(i))
		logs := make([]float64, d.trials)
		for t := range logs {
			logs[t] = rng.NormFloat64() * d.noise
		}
		slices.Sort(logs)
		mid := (logs[(d.trials-1)/2] + logs[d.trials/2]) / 2
		points = append(points, Point{Size: n, Value: value(n) * math.Exp(mid)})
	}
	return points
}

// rounds is how often each law is drawn. The table of docs/internals/growth.md is of 2000:
//
//	go test ./workloads/growth -run Rates -v -args -rounds 2000
var rounds = flag.Int("rounds", 100, "how often TestRates draws each law")

// A class that is given is seldom a wrong one, with however few points and however much
// noise; and where there are points and trials enough, the right one is given. The draws are the same each time.
func TestRates(t *testing.T) {
	half := math.Sqrt(10)
	for _, of := range []struct {
		design
		enough bool
	}{
		{design{100, 10, 3, 1, 0.1}, false},
		{design{100, 10, 3, 5, 0.1}, false},
		{design{100, 10, 4, 5, 0.1}, false},
		{design{100, half, 5, 1, 0.1}, false},
		{design{100, half, 5, 5, 0.1}, false},
		{design{100, half, 5, 1, 0.03}, false},
		{design{100, 10, 5, 5, 0.1}, false},
		{design{100, 10, 6, 1, 0.1}, false},
		{design{100, 10, 6, 5, 0.1}, true},
		{design{100, 10, 6, 1, 0.03}, true},
	} {
		line := fmt.Sprintf("| %s |", of)
		for _, l := range laws {
			rng := rand.New(rand.NewPCG(1, 2))
			right, unclear := 0, 0
			for range *rounds {
				switch g := Of(of.draw(rng, l.value)); {
				case g.Class == Unclear:
					unclear++
				case slices.Contains(l.right, g.Class):
					right++
				}
			}
			n := float64(*rounds)
			wrong := float64(*rounds-right-unclear) / n
			line += fmt.Sprintf(" %.0f/%.1f |", 100*float64(right)/n, 100*wrong)
			if wrong > 0.05 || of.enough && float64(right) < 0.95*n {
				t.Errorf("%s, %s: %.1f%% right, %.1f%% wrong", of, l.name, 100*float64(right)/n, 100*wrong)
			}
		}
		t.Log(line)
	}
}

// A metric that grows to a bound and stays there, such as the rows of a page, is flat from there on;
// the ten laws are seldom called so.
func TestFlatFrom(t *testing.T) {
	half := math.Sqrt(10)
	bound := func(n float64) float64 { return min(n, 1000) }
	rng := rand.New(rand.NewPCG(5, 6))
	right, wrong := 0, 0
	for range 1000 {
		d := design{100, half, 7, 5, 0.03}
		if g := Of(d.draw(rng, bound)); g.Class == FlatFrom && g.From > 900 && g.From < 1100 {
			right++
		}
		for _, l := range laws {
			if g := Of(d.draw(rng, l.value)); g.Class == FlatFrom {
				wrong++
			}
		}
	}
	t.Logf("%d of 1000 are flat from 1000 on; of %d draws of other laws %d", right, 1000*len(laws), wrong)
	if right < 900 || wrong > 10*len(laws) {
		t.Errorf("%d of 1000 are flat from 1000 on; of %d draws of other laws %d", right, 1000*len(laws), wrong)
	}
	counted := []Point{counted(10, 10, 0), counted(25, 25, 0), counted(100, 25, 0), counted(1000, 25, 0)}
	if g := Of(counted); g.Class != FlatFrom || g.From != 25 {
		t.Errorf("a page of 25: %+v", g)
	}
}

// A metric that steps, or follows no curve, at five sizes from 100 to 10,000 gets no class: one point does not
// make a power. Counters have known errors, which say nothing about how well a line fits.
func TestSteps(t *testing.T) {
	for _, p := range []struct {
		name   string
		values [5]float64
	}{
		{"rows of datastax' list", [5]float64{22.2, 25, 25, 25, 38.2}},
		{"a step at the end", [5]float64{25, 25, 25, 25, 50}},
		{"a step of a half at the end", [5]float64{25, 25, 25, 25, 37.5}},
		{"a step of ten times", [5]float64{25, 25, 25, 25, 250}},
		{"a step of 300 times, as a line has it", [5]float64{25, 25, 25, 25, 8000}},
		{"a step of 1000 times", [5]float64{25, 25, 25, 25, 25000}},
		{"a step down at the end", [5]float64{25, 25, 25, 25, 10}},
		{"a step before the end", [5]float64{25, 25, 25, 50, 50}},
		{"a step of ten times before the end", [5]float64{25, 25, 25, 250, 250}},
		{"a peak", [5]float64{25, 25, 60, 25, 25}},
		{"up and down", [5]float64{25, 60, 25, 60, 25}},
	} {
		rng := rand.New(rand.NewPCG(7, 8))
		for _, noise := range []struct{ drawn, known, wrong float64 }{
			{0, 0, 0}, {0.001, 0.001, 0}, {0, 0.05, 0}, {0.03, -1, 0.01}, {0.1, -1, 0.05},
		} {
			got := map[Class]int{}
			for range 200 {
				var points []Point
				for i, v := range p.values {
					n, v := 100*math.Pow(10, float64(i)/2), v*math.Exp(noise.drawn*rng.NormFloat64())
					if noise.known < 0 {
						points = append(points, Point{Size: n, Value: v})
					} else {
						points = append(points, counted(n, v, noise.known))
					}
				}
				got[Of(points).Class]++
			}
			if wrong := 200 - got[Unclear]; float64(wrong) > 200*noise.wrong {
				t.Errorf("%s, noise %g, known errors %g: %v", p.name, noise.drawn, noise.known, got)
			}
		}
	}
}

// The interval holds the exponent of a power as often as it says.
func TestInterval(t *testing.T) {
	const rounds = 4000
	for _, k := range []int{3, 4, 6} {
		rng := rand.New(rand.NewPCG(3, 4))
		held := 0
		for range rounds {
			d := design{from: 50, factor: 4, points: k, trials: 1, noise: 0.1}
			low, high := interval(d.draw(rng, func(n float64) float64 { return math.Pow(n, 0.7) }))
			if low <= 0.7 && 0.7 <= high {
				held++
			}
		}
		if share := float64(held) / rounds; math.Abs(share-0.95) > 0.015 {
			t.Errorf("%d points: %.1f%% of the intervals hold the exponent, want 95%%", k, 100*share)
		}
	}
}

func interval(points []Point) (low, high float64) {
	c, _ := curveOf(points)
	slope, half := c.slope(false)
	return slope - half, slope + half
}

// Counters have known errors: three points are enough.
func TestCounted(t *testing.T) {
	for _, c := range []struct {
		name  string
		value func(n float64) float64
		error float64
		want  Class
	}{
		{"all the same", func(float64) float64 { return 3 }, 0, Flat},
		{"nothing", func(float64) float64 { return 0 }, 0, Flat},
		{"a page of 25, and a little noise", func(n float64) float64 { return 25 + 0.01*math.Mod(n, 7) }, 0.001, Flat},
		{"the whole folder", func(n float64) float64 { return n }, 0, Linear},
		{"the whole folder, and a row", func(n float64) float64 { return 900 + n }, 0, Linear},
		{"levels", func(n float64) float64 { return 2 + math.Log10(n) }, 0, Logarithmic},
		{"pairs", func(n float64) float64 { return n * (n - 1) / 2 }, 0.001, Worse},
		{"a root", math.Sqrt, 0.001, Root},
		{"fewer", func(n float64) float64 { return 1 + 1e4/n }, 0.001, Falling},
		{"nothing at first", func(n float64) float64 { return max(0, n-500) }, 0, Unclear},
		{"grows within its noise", func(n float64) float64 { return math.Pow(n, 0.2) }, 0.8, Unclear},
	} {
		var points []Point
		for _, n := range []float64{100, 1000, 10000} {
			points = append(points, counted(n, c.value(n), c.error))
		}
		if g := Of(points); g.Class != c.want || !g.Exact && c.want != Unclear {
			t.Errorf("%s: %+v, want %s", c.name, g, c.want)
		}
	}
}

// A fixed part that is a millionth of the largest value does not hide what grows.
func TestWideRange(t *testing.T) {
	var points []Point
	for n := 100.0; n <= 1e6; n *= 10 {
		points = append(points, Point{Size: n, Value: 1e6 + n*n})
	}
	if g := Of(points); g.Class != Worse {
		t.Errorf("10^6 + n^2: %+v", g)
	}
}

// The bounds of the classes are those of docs/internals/growth.md.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      Class // "": the curve decides
	}{
		{-0.1, 0.1, Flat},
		{-0.05, 0.11, Unclear},
		{-0.11, 0.05, Unclear},
		{0.02, 0.03, Flat}, // not 0, and too little to matter
		{0.02, 0.04, ""},
		{-0.03, -0.02, Flat},
		{-0.04, -0.02, Falling},
		{0.85, 1.15, Linear},
		{0.84, 1.15, ""},
		{0.85, 1.16, ""},
		{1.05, 1.3, ""},
		{1.06, 1.3, Worse},
	} {
		if got := bySlope(c.low, c.high); got != c.want {
			t.Errorf("an exponent from %g to %g is %q, want %q", c.low, c.high, got, c.want)
		}
	}
	for _, c := range []struct {
		low, high float64
		want      Class
	}{
		{math.NaN(), math.NaN(), Unclear},
		{-0.2, 0.45, Logarithmic},
		{-0.2, 0.46, Unclear},
		{0.01, 0.4, Unclear},
		{0.05, 0.95, Root},
		{0.04, 0.95, Unclear},
		{0.05, 0.96, Unclear},
		{0.55, 1.2, Linear},
		{0.54, 1.2, Unclear},
		{0.55, powerMost, Unclear},
		{1.01, 1.2, Unclear},
		{1.06, 1.2, Worse},
	} {
		if got := byPower(c.low, c.high); got != c.want {
			t.Errorf("a power from %g to %g is %q, want %q", c.low, c.high, got, c.want)
		}
	}
}

// Points that say nothing make no class, and no number that is none.
func TestTooLittle(t *testing.T) {
	for name, points := range map[string][]Point{
		"none":           nil,
		"one":            {{Size: 100, Value: 5}},
		"two":            {{Size: 100, Value: 5}, {Size: 1000, Value: 5}},
		"one size":       {{Size: 100, Value: 5}, {Size: 100, Value: 6}, {Size: 100, Value: 7}},
		"no size":        {{Size: 0, Value: 5}, {Size: 100, Value: 5}, {Size: 1000, Value: 5}},
		"never ended":    {{Size: 10, Value: 5}, {Size: 100, Value: math.Inf(1)}, {Size: 1000, Value: 5}},
		"not known":      {{Size: 10, Value: 5}, {Size: 100, Value: math.NaN()}, {Size: 1000, Value: 5}},
		"less than none": {{Size: 10, Value: 5}, {Size: 100, Value: -5}, {Size: 1000, Value: 5}},
	} {
		g := Of(points)
		if g.Class != Unclear || math.IsNaN(g.Exponent) || g.Low != nil && math.IsNaN(*g.Low) || g.High != nil && math.IsNaN(*g.High) {
			t.Errorf("%s: %+v", name, g)
		}
	}
	if g := Of([]Point{counted(100, 5, 0), counted(1000, 5, 0)}); g.Class != Flat {
		t.Errorf("two counts that are the same: %+v", g)
	}
}
