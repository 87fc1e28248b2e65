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

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Point is the value of a figure at one size.
type Point struct {
	Size, Value float64
	// Error is the relative standard error of Value; negative: not known. It is used if the
	// errors of all points are known.
	Error float64
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
	Unclear     Class = "cannot tell"
)

// Growth is how a figure grows.
type Growth struct {
	Class Class
	// Exponent is the slope between the logarithms: 1 if twice the size has twice the value.
	// It lies between Low and High with 95% confidence. Low and High are infinite if there
	// are too few points.
	Exponent, Low, High float64
	// PowerLow and PowerHigh bound the power of the part that grows, if the figure is that part
	// and a fixed part. They are NaN if the exponent decides the class, or the power is
	// unknown.
	PowerLow, PowerHigh float64
	From                float64 // of FlatFrom: the size from which on the figure is flat
	Points              int     // number of points that it is made from
	Exact               bool    // the errors of the values are known
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

// Fewest is how many points an interval takes if their errors are not known.
const Fewest = 3

// Of fits the points. If all values are 0, the figure is flat. If some size or value is not
// above 0, it has no logarithm, and the class is Unclear.
func Of(points []Point) Growth {
	g := Growth{
		Class: Unclear, Low: math.Inf(-1), High: math.Inf(1), PowerLow: math.NaN(),
		PowerHigh: math.NaN(), Points: len(points),
	}
	if len(points) < 2 {
		return g
	}
	zeros, exact := 0, true
	c := curve{}
	for _, p := range points {
		if p.Size <= 0 || p.Value < 0 || math.IsInf(p.Value, 0) || math.IsNaN(p.Value) {
			return g
		}
		if p.Value == 0 {
			zeros++
		}
		exact = exact && p.Error >= 0
		c.add(p)
	}
	if zeros == len(points) {
		g.Class, g.Low, g.High, g.Exact = Flat, 0, 0, true
		return g
	}
	if zeros > 0 || !c.spread() {
		return g
	}
	g.Exact = exact
	slope, half := c.slope(exact)
	g.Exponent, g.Low, g.High = slope, slope-half, slope+half
	g.Class = bySlope(g.Low, g.High)
	if exact && !c.straight(slope) {
		// Errors that are known do not make a line of points that lie elsewhere, such as a step or a peak.
		if slope, half := c.slope(false); bySlope(slope-half, slope+half) != g.Class {
			g.Class = ""
		}
	}
	if g.Class == "" {
		g.PowerLow, g.PowerHigh = c.powers(exact)
		g.Class = byPower(g.PowerLow, g.PowerHigh)
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
