package reports

import (
	"math"

	"github.com/mailbench/mailbench/reports/results"
)

// One call weighs as much as this many rows or bytes, to choose the counted figure in which
// models differ most. The weights are no measurements: they only decide which of the figures
// is shown.
const (
	rowsACall  = 20
	bytesACall = 10_000
)

// weight is how much the columns differ in a counted figure, in calls.
func (l *OverviewLine) weight() float64 {
	least, most := math.Inf(1), 0.0
	for i := range l.Values {
		if v := &l.Values[i]; v.Known {
			least, most = min(least, v.Median), max(most, v.Median)
		}
	}
	return inCalls(l.Figure, max(most-least, 0))
}

// inCalls is how many calls weigh as much as the value v of a counted figure.
func inCalls(f results.Figure, v float64) float64 {
	switch f {
	case results.Examined, results.Rows:
		return v / rowsACall
	case results.Bytes:
		return v / bytesACall
	}
	return v
}
