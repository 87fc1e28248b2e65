package reports

import (
	"math"

	"github.com/mailbench/mailbench/reports/units"
)

// Figure is a figure that models are compared by.
type Figure string

// Figures. The first three are counted: they do not depend on the machine. Rows and
// bytes are those read and those written together. The others are percentiles of the
// response times of everything that was due (of service times in a closed loop).
const (
	Calls Figure = "calls"
	Rows  Figure = "rows"
	Bytes Figure = "bytes"
	P50   Figure = "p50"
	P99   Figure = "p99"
)

// Counted reports whether the figure does not depend on the machine.
func (f Figure) Counted() bool { return f == Calls || f == Rows || f == Bytes || f == PartitionSize }

// Text writes a value of the figure with its unit.
func (f Figure) Text(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "never"
	case f == Bytes || f == PartitionSize:
		return units.Size(v)
	case f.Counted():
		return units.Amount(v)
	}
	return units.Duration(v)
}

// percentile is the percentile of a time, from 0 to 1.
func (f Figure) percentile() float64 {
	if f == P99 {
		return 0.99
	}
	return 0.5
}

// counted is a counted figure of one operation, and its standard deviation.
func (o *Op) counted(f Figure) (mean, deviation float64) {
	s := &o.Store
	switch f {
	case Calls:
		return s.get(f), s.CallsDeviation
	case Rows:
		return s.get(f), s.RowsDeviation
	}
	return s.get(f), s.BytesDeviation
}

// get is a counted figure. Rows and bytes are those read and written together.
func (s *StoreCost) get(f Figure) float64 {
	switch f {
	case Calls:
		return s.Calls
	case Rows:
		return s.RowsRead + s.RowsWritten
	}
	return s.BytesRead + s.BytesWritten
}

// time is a percentile of an operation of the cell, over everything that was due, in
// nanoseconds. It is infinite if it lies among operations that never ended.
func (c *Cell) time(o *Op, f Figure) float64 {
	all := c.Latency(o)
	if o.Due != nil {
		all = o.Due
	}
	ns := all.P50
	if f == P99 {
		ns = all.P99
	}
	if ns == NeverEnded {
		return math.Inf(1)
	}
	return float64(ns)
}

// intervals are a percentile of an operation in each interval of the cell's timeline, in
// nanoseconds. Intervals with too few operations for it are left out.
func (c *Cell) intervals(op string, f Figure) []float64 {
	var times []float64
	for i := range c.Timeline {
		in, ok := c.Timeline[i].Ops[op]
		if !ok || in.OK < EnoughFor(f.percentile()) {
			continue
		}
		if f == P99 {
			times = append(times, float64(in.P99))
		} else {
			times = append(times, float64(in.P50))
		}
	}
	return times
}
