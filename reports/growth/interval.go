package growth

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

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
