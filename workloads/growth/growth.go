// Package growth finds how a metric grows with a size: its exponent with a confidence
// interval, and whether it is flat, logarithmic, linear or worse.
//
//	g := growth.Of([]growth.Point{{Size: 100, Value: 21e3}, {Size: 1000, Value: 22e3}, {Size: 10000, Value: 21e3}})
//	g.Class, g.Exponent, g.Low, g.High
//
// The exponent is the slope of the least-squares line through the logarithms of values and
// sizes. Its interval is Student's, with two degrees of freedom less than there are points, not
// trials: an error of a point is in all its trials, so more trials only make the points better.
// If the errors of the values are known (counters), they are used instead, with the
// quantile of the normal distribution.
//
// A slope does not distinguish a logarithm from a small power, nor a line with a fixed part from a
// root. So curves a + b·f(n) are fitted too, where f is the transformation of Box and Cox
// (G. E. P. Box and D. R. Cox, An Analysis of Transformations, 1964): it is the logarithm for
// the power 0, and a line for the power 1. The interval of the power has the powers whose curves
// fit not significantly worse than the best one, by the F test of the extra sum of squares
// (D. M. Bates and D. G. Watts, Nonlinear Regression Analysis, 1988, section 3.4). A class is
// given if the interval leaves no other.
// docs/internals/growth.md says how often that is right.
package growth

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Point is the value of a figure at one size: of a sweep, the median of the trials at one of its values.
type Point struct {
	Name  string  `json:"point"`
	Size  float64 `json:"size"`
	Value float64 `json:"value"`
	// Error is the relative standard error of Value, of a counter; nil: not known. It is used if the errors of all
	// points are known.
	Error *float64 `json:"error,omitempty"`
}

// Class says how a figure grows.
type Class string

// Classes. FlatFrom: no class fits all sizes, and from Growth.From on the figure is flat, as a list is
// that shows a page. Root is less than linear and more than logarithmic: a power between 0 and 1.
// Unclear: the interval leaves several classes.
const (
	Falling     Class = "falling"
	Flat        Class = "flat"
	Logarithmic Class = "logarithmic"
	Root        Class = "below linear"
	Linear      Class = "linear"
	Worse       Class = "worse than linear"
	FlatFrom    Class = "flat from"
	Unclear     Class = "inconclusive"
)

// Growth is how a figure grows.
type Growth struct {
	Class Class   `json:"class"`
	From  float64 `json:"from,omitempty"` // of FlatFrom: the size from which on the figure is flat
	// Exponent is the slope between the logarithms: 1 if twice the size has twice the value.
	// It lies between Low and High with 95% confidence. They are left out if there are too few points.
	Exponent float64  `json:"exponent"`
	Low      *float64 `json:"low,omitempty"`
	High     *float64 `json:"high,omitempty"`
	// PowerLow and PowerHigh bound the power of the part that grows, if the figure is that part
	// and a fixed part. They are left out if the exponent decides the class, or the power is unknown.
	PowerLow  *float64 `json:"power_low,omitempty"`
	PowerHigh *float64 `json:"power_high,omitempty"`
	Exact     bool     `json:"exact,omitempty"` // the errors of the values are known
}

// Known is nil for NaN and infinities, which JSON does not have.
func Known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// Bounds of the classes. docs/internals/growth.md has them too. A class is given if the whole interval is
// within its bounds.
const (
	// A figure is flat if its exponent is within ±flatMost and may be 0, or is within ±flatSure.
	// flatMost is a quarter more for ten times the size.
	flatMost, flatSure = 0.1, 0.03
	// A figure is linear if its exponent is within linearWithin of 1, whatever the curve.
	linearWithin = 0.15
	// A figure is worse than linear beyond this exponent or power. A fixed part only lowers the
	// exponent.
	worseFrom = 1.05
	// A power that may be 0, and is at most logMost, is a logarithm. A power that may be 1, and
	// is at least linearFrom, is a line.
	logMost, linearFrom = 0.45, 0.55
	// Powers from rootFrom to rootTo are neither a logarithm nor a line.
	rootFrom, rootTo = 0.05, 0.95
)

// Of fits the points. If all values are 0, the figure is flat. If some size or value is not
// above 0, it has no logarithm, and the class is Unclear.
func Of(points []Point) Growth {
	g := Growth{Class: Unclear}
	if len(points) < 2 {
		return g
	}
	least, most := math.Inf(1), 0.0
	for _, p := range points {
		if p.Size <= 0 || p.Value < 0 || math.IsInf(p.Value, 0) || math.IsNaN(p.Value) {
			return g
		}
		least, most = min(least, p.Value), max(most, p.Value)
	}
	if most == 0 {
		g.Class, g.Low, g.High, g.Exact = Flat, Known(0), Known(0), true
		return g
	}
	c, exact := curveOf(points)
	if least == 0 || slices.Min(c.x) == slices.Max(c.x) {
		return g
	}
	g.Exact = exact
	slope, half := c.slope(exact)
	g.Exponent, g.Low, g.High = slope, Known(slope-half), Known(slope+half)
	g.Class = bySlope(slope-half, slope+half)
	if exact && !c.straight(slope) {
		// Errors that are known do not make a line of points that lie elsewhere, such as a step or a peak.
		if slope, half := c.slope(false); bySlope(slope-half, slope+half) != g.Class {
			g.Class = ""
		}
	}
	if g.Class == "" {
		low, high := c.powers(exact)
		g.PowerLow, g.PowerHigh, g.Class = Known(low), Known(high), byPower(low, high)
	}
	if g.Class == Unclear || g.Class == Logarithmic { // a curve that ends flat is like one of a power below 0
		if n := c.flatFrom(exact); n > 0 {
			g.Class, g.From = FlatFrom, c.n[n]
		}
	}
	return g
}

// bySlope is the class that the interval of the exponent decides, or "".
func bySlope(low, high float64) Class {
	switch {
	case low >= -flatSure && high <= flatSure, low <= 0 && high >= 0 && low >= -flatMost && high <= flatMost:
		return Flat
	case high < 0:
		return Falling
	case low > worseFrom:
		return Worse
	case low >= 1-linearWithin && high <= 1+linearWithin:
		return Linear
	case low <= 0:
		return Unclear // it may not grow at all
	}
	return ""
}

// byPower is the class of a figure that grows, by the interval of the power.
func byPower(low, high float64) Class {
	switch {
	case math.IsNaN(low):
	case high == powerMost: // the greatest that is tried, so that it may be a step, too
		return Unclear
	case low > worseFrom:
		return Worse
	case low <= 1 && high >= 1 && low >= linearFrom:
		return Linear
	case low <= 0 && high >= 0 && high <= logMost:
		return Logarithmic
	case low >= rootFrom && high <= rootTo:
		return Root
	}
	return Unclear
}

// normal is the quantile of the normal distribution with 95% between it and its negative.
const normal = 1.959964

// Student is the quantile of Student's distribution for free degrees of freedom, at least 1, with all but
// the part doubt between it and its negative.
func Student(free int, doubt float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: float64(free)}.Quantile(1 - doubt/2)
}

// Mean is the mean of values, and half of the interval in which more of them would have theirs, but for the
// part doubt of all cases. One value has no interval: half of it is infinite.
func Mean(values []float64, doubt float64) (mean, half float64) {
	if len(values) < 2 {
		return stat.Mean(values, nil), math.Inf(1)
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	return mean, Student(len(values)-1, doubt) * stat.StdErr(deviation, float64(len(values)))
}

// curve holds sizes and values, and their logarithms.
type curve struct {
	n, x, z []float64 // sizes, and the logarithms of sizes and values
	errors  []float64 // standard errors of z
}

// curveOf is the curve of points. It is exact if all their errors are known.
func curveOf(points []Point) (c curve, exact bool) {
	c.errors, exact = make([]float64, len(points)), true
	for i, p := range points {
		c.n, c.x, c.z = append(c.n, p.Size), append(c.x, math.Log(p.Size)), append(c.z, math.Log(p.Value))
		if exact = exact && p.Error != nil; exact {
			c.errors[i] = *p.Error
		}
	}
	return c, exact
}

// slope is the slope of the least-squares line through the logarithms, and half the width of
// its 95% interval.
func (c *curve) slope(exact bool) (slope, half float64) {
	start, slope := stat.LinearRegression(c.x, c.z, nil, false)
	free, mx := len(c.x)-2, stat.Mean(c.x, nil)
	sxx := stat.MomentAbout(2, c.x, mx, nil) * float64(len(c.x))
	sum := 0.0
	for i, x := range c.x {
		if exact {
			sum += math.Pow((x-mx)*c.errors[i], 2) / sxx
		} else {
			sum += math.Pow(c.z[i]-start-slope*x, 2) / float64(free)
		}
	}
	switch half = math.Sqrt(sum / sxx); { // the standard error of the slope
	case exact:
		return slope, normal * half
	case free < 1: // two points lie on each line
		return slope, math.Inf(1)
	}
	return slope, Student(free, 0.05) * half
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
		tail := curve{c.n[k:], c.x[k:], c.z[k:], c.errors[k:]}
		slope, half := tail.slope(exact)
		if bySlope(slope-half, slope+half) != Flat {
			continue
		}
		low, high := slices.Min(tail.z), slices.Max(tail.z)
		apart := max(kneeLeast, 3*(high-low))
		if slices.Max(c.z[:k]) < low-apart || slices.Min(c.z[:k]) > high+apart {
			return k
		}
		return 0
	}
	return 0
}

// These bound the powers that are tried, so many from one whole number to the next.
const powerLeast, powerMost, powersEach = -1, 3, 20

// errorLeast is the least standard deviation that is assumed when curves are compared: no
// figure follows a curve more closely than by 1%.
const errorLeast = 0.01

// powers are the least and the greatest power whose curve fits not significantly worse than
// the best one. They are NaN if there are too few points.
func (c *curve) powers(exact bool) (low, high float64) {
	var sums []float64
	for i := powerLeast * powersEach; i <= powerMost*powersEach; i++ {
		sums = append(sums, c.misfit(float64(i)/powersEach, exact))
	}
	best, free := slices.Min(sums), len(c.x)-3
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
	low, high = math.Inf(1), math.Inf(-1)
	for i, s := range sums {
		if power := powerLeast + float64(i)/powersEach; s <= most {
			low, high = min(low, power), max(high, power)
		}
	}
	return low, high
}

// misfit is the sum of squares between the logarithms of the values and of the curve a + b·f(n) of a power that lies
// nearest to the values by weighted least squares, with a and b not below 0. It is in units of the errors if these are
// known. From the power 1 on f begins at 0 where n does: nothing costs less than nothing, and a line that begins below
// 0 looks like a power.
func (c *curve) misfit(power float64, exact bool) (sum float64) {
	k, first := len(c.n), slices.Min(c.n)
	f, value, weight, errors := make([]float64, k), make([]float64, k), make([]float64, k), make([]float64, k)
	for i, n := range c.n {
		f[i], value[i], errors[i] = math.Log(n/first), math.Exp(c.z[i]), 1
		if power != 0 { // the transformation of Box and Cox is the logarithm for 0
			f[i] = math.Expm1(power*f[i]) / power
		}
		if power >= 1 {
			f[i] += 1 / power
		}
		if exact {
			errors[i] = math.Hypot(c.errors[i], errorLeast)
		}
		weight[i] = math.Pow(errors[i]*value[i], -2)
	}
	a, b := stat.LinearRegression(f, value, weight, false)
	switch {
	case b <= 0:
		a, b = stat.Mean(value, weight), 0
	case a < 0:
		a, b = stat.LinearRegression(f, value, weight, true)
	}
	for i := range f {
		r := (math.Log(a+b*f[i]) - c.z[i]) / errors[i]
		sum += r * r
	}
	return sum
}
