package growth

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// curve holds sizes and values, and their logarithms.
type curve struct {
	n, y, x, z []float64 // sizes, values, and the logarithms of both
	errors     []float64 // standard errors of z
}

func (c *curve) add(p Point) {
	c.n, c.y = append(c.n, p.Size), append(c.y, p.Value)
	c.x, c.z = append(c.x, math.Log(p.Size)), append(c.z, math.Log(p.Value))
	c.errors = append(c.errors, p.Error)
}

// spread reports whether there are at least two different sizes.
func (c *curve) spread() bool { return slices.Min(c.x) != slices.Max(c.x) }

// slope is the slope of the least-squares line through the logarithms, and half the width of
// its 95% interval.
func (c *curve) slope(exact bool) (slope, half float64) {
	k, mx := float64(len(c.x)), stat.Mean(c.x, nil)
	sxx := stat.MomentAbout(2, c.x, mx, nil) * k
	var start float64
	start, slope = stat.LinearRegression(c.x, c.z, nil, false)
	variance := 0.0 // variance of the slope
	for i := range c.x {
		e := c.errors[i]
		if !exact {
			r := c.z[i] - start - slope*c.x[i]
			variance += r * r / (k - 2) / sxx
			continue
		}
		w := (c.x[i] - mx) / sxx
		variance += w * w * e * e
	}
	switch {
	case exact:
		return slope, normal * math.Sqrt(variance)
	case len(c.x) < Fewest:
		return slope, math.Inf(1)
	}
	return slope, Student(len(c.x)-2, 0.05) * math.Sqrt(variance)
}

// straight reports whether the points lie as near to the least-squares line of a slope as their errors say.
func (c *curve) straight(slope float64) bool {
	mx, mz, sum := stat.Mean(c.x, nil), stat.Mean(c.z, nil), 0.0
	for i := range c.x {
		r := (c.z[i] - mz - slope*(c.x[i]-mx)) / math.Hypot(c.errors[i], errorLeast)
		sum += r * r
	}
	return sum <= normal*normal*float64(max(1, len(c.x)-2))
}

// tailLeast is how many points a flat end of a curve has, and kneeLeast the least that the points
// before it differ from it, as logarithms: a quarter.
const tailLeast, kneeLeast = 3, 0.22

// flatFrom is the number of the first point from which on the curve is flat, if those before it lie
// apart: all on one side of it, and further than its points scatter. It is 0 if there is none.
func (c *curve) flatFrom(exact bool) int {
	for k := 1; len(c.x)-k >= tailLeast; k++ {
		tail := curve{c.n[k:], c.y[k:], c.x[k:], c.z[k:], c.errors[k:]}
		if !tail.spread() {
			return 0
		}
		slope, half := tail.slope(exact)
		if bySlope(slope-half, slope+half) != Flat {
			continue
		}
		low, high := slices.Min(tail.z), slices.Max(tail.z)
		apart := max(kneeLeast, 3*(high-low))
		below, above := true, true
		for _, z := range c.z[:k] {
			below, above = below && z < low-apart, above && z > high+apart
		}
		if below || above {
			return k
		}
		return 0
	}
	return 0
}

// These bound the powers that are tried, and step from one to the next.
const powerLeast, powerMost, powerStep = -1.0, 3.0, 0.05

// errorLeast is the least standard deviation that is assumed when curves are compared: no
// figure follows a curve more closely than by 1%.
const errorLeast = 0.01

// powers are the least and the greatest power whose curve fits not significantly worse than
// the best one. They are NaN if there are too few points.
func (c *curve) powers(exact bool) (low, high float64) {
	var sums []float64
	best := math.Inf(1)
	for i := 0; powerLeast+float64(i)*powerStep <= powerMost; i++ {
		s := c.misfit(powerLeast+float64(i)*powerStep, exact)
		sums, best = append(sums, s), min(best, s)
	}
	free := len(c.x) - 3
	if math.IsInf(best, 1) || free < 1 && !exact {
		return math.NaN(), math.NaN()
	}
	// With known errors the sum of squares is in units of these. If even the least sum is large,
	// no curve follows the points within their errors, and the bound is raised.
	most := best
	if exact {
		most += normal * normal * max(1, best/float64(max(1, free)))
	} else {
		t := Student(free, 0.05)
		most += t * t * max(errorLeast*errorLeast, best/float64(free))
	}
	low, high = math.NaN(), math.NaN()
	for i, s := range sums {
		if p := powerLeast + float64(i)*powerStep; s <= most {
			if math.IsNaN(low) {
				low = p
			}
			high = p
		}
	}
	return low, high
}

// misfit is the least sum of squares between the logarithms of the values and of a curve
// a + b·f(n) of a power, with b not below 0. It is in units of the errors if these are known.
func (c *curve) misfit(power float64, exact bool) float64 {
	k := len(c.n)
	f, w := make([]float64, k), make([]float64, k)
	for i := range f {
		f[i] = boxCox(c.n[i]/c.n[0], power)
		w[i] = 1
		if exact {
			e := math.Hypot(c.errors[i], errorLeast)
			w[i] = 1 / (e * e)
		}
	}
	// The first fit minimizes relative differences. Steps of Gauss and Newton then minimize the
	// differences of logarithms.
	weights := make([]float64, k)
	for i := range w {
		weights[i] = w[i] / (c.y[i] * c.y[i])
	}
	a, b, ok := line(f, c.y, weights, power)
	if !ok {
		return math.Inf(1)
	}
	sum := c.squares(a, b, f, w)
	for range 8 {
		if math.IsInf(sum, 1) {
			break
		}
		working := make([]float64, k)
		for i := range working {
			fitted := a + b*f[i]
			working[i], weights[i] = fitted*(1+c.z[i]-math.Log(fitted)), w[i]/(fitted*fitted)
		}
		na, nb, ok := line(f, working, weights, power)
		next := c.squares(na, nb, f, w)
		if !ok || next >= sum {
			break
		}
		done := next > sum*(1-1e-3)
		if a, b, sum = na, nb, next; done {
			break
		}
	}
	return sum
}

// squares is the weighted sum of squares between the logarithms of values and curve.
func (c *curve) squares(a, b float64, f, w []float64) float64 {
	sum := 0.0
	for i := range f {
		v := a + b*f[i]
		if v <= 0 {
			return math.Inf(1)
		}
		d := c.z[i] - math.Log(v)
		sum += w[i] * d * d
	}
	return sum
}

// boxCox is the transformation of Box and Cox.
func boxCox(n, power float64) float64 {
	if math.Abs(power) < 1e-9 {
		return math.Log(n)
	}
	return math.Expm1(power*math.Log(n)) / power
}

// line fits y = a + b·f by weighted least squares. B is not below 0. From the power 1 on the
// curve has no part below 0: nothing costs less than nothing, and a line that begins below 0
// looks like a power.
func line(f, y, weights []float64, power float64) (a, b float64, ok bool) {
	if slices.Min(f) == slices.Max(f) {
		return 0, 0, false
	}
	if a, b = stat.LinearRegression(f, y, weights, false); b <= 0 {
		return stat.Mean(y, weights), 0, true
	}
	if power >= 1 && a < b/power {
		// Through 0: f + 1/power is the bare power of n.
		var num, den float64
		for i := range f {
			g := f[i] + 1/power
			num, den = num+weights[i]*g*y[i], den+weights[i]*g*g
		}
		b = num / den
		a = b / power
	}
	return a, b, true
}
