package judge

import (
	"math"
	"slices"

	"github.com/mailbench/mailbench/workloads/results"
)

// A phase is steady if its service times show no trend. The line through its windows is
// that of Theil and Sen: the median of the slopes between all pairs of windows. Its
// interval is Sen's, from the distribution of Kendall's S (P. K. Sen, Estimates of the
// Regression Coefficient Based on Kendall's Tau, 1968). One slow window moves neither.
//
// Windows that follow each other are alike, so that noise looks like a trend. The variance
// of S is raised as K. H. Hamed and A. R. Rao do (A modified Mann-Kendall trend test for
// autocorrelated data, 1998), for noise whose correlation falls with the distance of two
// windows. docs/internals/decisions/0011-steady.md says what that finds and what it does not.
const (
	// trendWindows is how many windows it takes to distinguish a trend from noise.
	trendWindows = 8
	// trendMost is how many windows are compared with each other. If there are more, they are
	// put together in batches.
	trendMost = 60
	// trendDeviations is how wide the interval is: 99% of normally distributed values.
	trendDeviations = 2.576
	// driftLeast is the share above which a change is reported.
	driftLeast = 0.1
	// correlationMost bounds the correlation of neighboring windows that is assumed.
	correlationMost = 0.9
)

// Trend is how the service time changed over the windows; false if there are too few of
// them to decide.
func Trend(windows []float64) (results.Trend, bool) {
	if len(windows) < trendWindows {
		return results.Trend{}, false
	}
	logs := batches(windows)
	for i, w := range logs {
		logs[i] = math.Log(max(w, 1)) // a change is a ratio
	}
	n := len(logs)
	slopes := make([]float64, 0, n*(n-1)/2)
	for i := range logs {
		for k := i + 1; k < n; k++ {
			slopes = append(slopes, (logs[k]-logs[i])/float64(k-i))
		}
	}
	slices.Sort(slopes)
	m := len(slopes)
	slope := (slopes[(m-1)/2] + slopes[m/2]) / 2

	s := trendDeviations * math.Sqrt(kendallVariance(n)*inflation(n, correlation(logs, slope)))
	// If the residuals of the line are a curve, they look like correlated noise, and the interval
	// would be too wide. But noise of any correlation seldom rises from each window to the next,
	// so the interval is never wider than all slopes but the outermost.
	i := max(1, int(math.Floor((float64(m)-s)/2))-1)
	low, high := slopes[i], slopes[m-1-i]
	for i := range logs {
		logs[i] -= slope * float64(i)
	}
	from := results.Median(logs)
	over := func(slope float64) float64 {
		return min(math.Expm1(slope*float64(n-1)), results.TrendMost)
	}
	return results.Trend{
		From: math.Exp(from), To: math.Exp(from + slope*float64(n-1)),
		Change: over(slope), Low: over(low), High: over(high),
	}, true
}

// Drifts reports whether there is a trend: noise does not explain it, and it is more than
// driftLeast.
func Drifts(t results.Trend) bool {
	return math.Abs(t.Change) > driftLeast && (t.Low > 0 || t.High < 0)
}

// Steady reports whether both bounds of the trend are within SteadyWithin.
func Steady(t results.Trend) bool { return t.Low >= -SteadyWithin && t.High <= SteadyWithin }

// batches are medians of neighboring windows, at most trendMost.
func batches(windows []float64) []float64 {
	n := len(windows)
	if n <= trendMost {
		return slices.Clone(windows)
	}
	all := make([]float64, trendMost)
	for i := range all {
		all[i] = results.Median(windows[i*n/trendMost : (i+1)*n/trendMost])
	}
	return all
}

// kendallVariance is the variance of Kendall's S of n independent values.
func kendallVariance(n int) float64 { return float64(n) * float64(n-1) * float64(2*n+5) / 18 }

// inflation is the factor by which the variance of S is larger than that of independent
// values, if the correlation of the ranks falls by the factor r with each window of distance
// (Hamed and Rao).
func inflation(n int, r float64) float64 {
	sum, power := 0.0, 1.0
	for k := 1; k < n; k++ {
		power *= r
		sum += float64(n-k) * float64(n-k-1) * float64(n-k-2) * power
	}
	return 1 + 2*sum/(float64(n)*float64(n-1)*float64(n-2))
}

// correlation is the correlation of neighbors around the line: the less of two estimates. The
// first is from the residuals. It is corrected for the line that was fitted: for n values it
// comes out too low by about (2+4r)/n. The second is from the differences of neighbors, which
// are correlated by -1/2 if values are independent. A step does not mislead it, but makes the
// residuals look like correlated noise.
func correlation(values []float64, slope float64) float64 {
	n := len(values)
	residuals, differences := make([]float64, n), make([]float64, n-1)
	for i, v := range values {
		residuals[i] = v - slope*float64(i)
		if i > 0 {
			differences[i-1] = residuals[i] - residuals[i-1]
		}
	}
	around := (ofRanks(residuals)*float64(n) + 2) / float64(n-4)
	between := 1 + 2*ofRanks(differences)
	return min(max(0, min(around, between)), correlationMost)
}

// ofRanks is the correlation of the ranks of neighbors; 0 if all values are the same.
func ofRanks(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := float64(len(values)-1) / 2
	var squares, products, before float64
	for i, v := range values {
		first, found := slices.BinarySearch(sorted, v)
		last := first
		for found && last+1 < len(sorted) && sorted[last+1] == v {
			last++
		}
		rank := float64(first+last)/2 - middle
		squares += rank * rank
		if i > 0 {
			products += rank * before
		}
		before = rank
	}
	if squares == 0 {
		return 0
	}
	return products / squares
}
