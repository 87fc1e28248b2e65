package results

import (
	"math"

	"github.com/mailbench/mailbench/schemas/words"
)

// Figure is a figure that models are compared by.
type Figure string

// Figures. Those up to BytesWritten are counted: they do not depend on the machine. Examined are the
// rows that the engine read. Rows and bytes are those returned and those written together. P50 and P99
// are percentiles of the response times of everything that was due (of service times in a closed
// loop). Stored are the bytes that a message takes in the engine's files. ClientCPU and EngineCPU are
// processor time.
const (
	Calls        Figure = "calls"
	Examined     Figure = "examined"
	Rows         Figure = "rows"
	Bytes        Figure = "bytes"
	BytesRead    Figure = "read"
	BytesWritten Figure = "written"
	P50          Figure = "p50"
	P99          Figure = "p99"
	Stored       Figure = "stored"
	ClientCPU    Figure = "cpu"
	EngineCPU    Figure = "engine cpu"
)

// PartitionSize is the figure of a forecast. PartitionOp is its Op, where others name an operation.
const (
	PartitionSize Figure = "size"
	PartitionOp   string = "partition"
)

// Counted reports whether the figure does not depend on the machine.
func (f Figure) Counted() bool {
	switch f {
	case Calls, Examined, Rows, Bytes, BytesRead, BytesWritten, PartitionSize:
		return true
	}
	return false
}

// Name is the figure in a sentence.
func (f Figure) Name() string {
	switch f {
	case Examined:
		return "rows examined"
	case BytesRead:
		return "bytes read"
	case BytesWritten:
		return "bytes written"
	}
	return string(f)
}

// Text writes a value of the figure with its unit.
func (f Figure) Text(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "never"
	case f == Bytes || f == BytesRead || f == BytesWritten || f == Stored || f == PartitionSize:
		return words.Size(v)
	case f.Counted():
		return words.Amount(v)
	}
	return words.Duration(v)
}

// Percentile is the percentile of a time, from 0 to 1.
func (f Figure) Percentile() float64 {
	if f == P99 {
		return 0.99
	}
	return 0.5
}

// Of is a counted figure of the cost. Rows and bytes are those read and those written together.
// Rows examined that nobody knows are NaN.
func (s *StoreCost) Of(f Figure) float64 {
	switch f {
	case Calls:
		return s.Calls
	case Examined:
		if s.RowsExamined == nil {
			return math.NaN()
		}
		return *s.RowsExamined
	case Rows:
		return s.RowsRead + s.RowsWritten
	case BytesRead:
		return s.BytesRead
	case BytesWritten:
		return s.BytesWritten
	}
	return s.BytesRead + s.BytesWritten
}

// Counted is a counted figure of the operation, and its standard deviation. Bytes read and bytes
// written have that of their sum.
func (o *Op) Counted(f Figure) (mean, deviation float64) {
	s := &o.Store
	switch f {
	case Calls:
		return s.Of(f), s.CallsDeviation
	case Examined:
		return s.Of(f), s.ExaminedDeviation
	case Rows:
		return s.Of(f), s.RowsDeviation
	}
	return s.Of(f), s.BytesDeviation
}

// Time is a percentile of an operation of the cell, over everything that was due, in
// nanoseconds. It is infinite if it lies among operations that never ended.
func (c *Cell) Time(o *Op, f Figure) float64 {
	all := c.Due(o)
	ns := all.P50
	if f == P99 {
		ns = all.P99
	}
	if ns == NeverEnded {
		return math.Inf(1)
	}
	return float64(ns)
}

// Times are a percentile of an operation in each interval of the cell's timeline, in
// nanoseconds. Intervals with too few operations for it are left out.
func (c *Cell) Times(op string, f Figure) []float64 {
	var times []float64
	for i := range c.Timeline {
		in, ok := c.Timeline[i].Ops[op]
		if !ok || in.OK < EnoughFor(f.Percentile()) {
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
