package results

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mailbench/mailbench/schemas/words"
)

// Figure is a figure that models are compared by.
type Figure string

// Figures. Those up to BytesWritten are counted: they do not depend on the machine. Examined are the
// rows that the engine read. Rows and bytes are those returned and those written together. P50 and P99
// are percentiles of the response times of all scheduled operations (of service times in a closed
// loop).
const (
	Requests     Figure = "requests"
	Examined     Figure = "scanned"
	Rows         Figure = "rows"
	Bytes        Figure = "bytes"
	BytesRead    Figure = "read"
	BytesWritten Figure = "written"
	P50          Figure = "p50"
	P99          Figure = "p99"
)

// PartitionSize is the figure of a forecast. PartitionOp is its Op, where others name an operation.
const (
	PartitionSize Figure = "size"
	PartitionOp   string = "partition"
)

// counters are the figures that do not depend on the machine: their names in a sentence, and their mean of an operation
// with its standard deviation. Unknown rows scanned are NaN. Rows and bytes are those read and those written together;
// bytes read and bytes written have the deviation of their sum. A forecast has no operations.
var counters = map[Figure]struct {
	name string
	of   func(s *StoreCost) (mean, deviation float64)
}{
	Requests: {"requests", func(s *StoreCost) (float64, float64) { return s.Requests, s.RequestsDeviation }},
	Examined: {"rows scanned", func(s *StoreCost) (float64, float64) {
		if s.RowsScanned == nil {
			return math.NaN(), 0
		}
		return *s.RowsScanned, s.ScannedDeviation
	}},
	Rows: {"rows", func(s *StoreCost) (float64, float64) { return s.RowsRead + s.RowsWritten, s.RowsDeviation }},
	Bytes: {"bytes", func(s *StoreCost) (float64, float64) {
		return s.BytesRead + s.BytesWritten, s.BytesDeviation
	}},
	BytesRead:     {"bytes read", func(s *StoreCost) (float64, float64) { return s.BytesRead, s.BytesDeviation }},
	BytesWritten:  {"bytes written", func(s *StoreCost) (float64, float64) { return s.BytesWritten, s.BytesDeviation }},
	PartitionSize: {"size", nil},
}

// Counted reports whether the figure does not depend on the machine.
func (f Figure) Counted() bool { return counters[f].name != "" }

// Name is the figure in a sentence.
func (f Figure) Name() string { return cmp.Or(counters[f].name, string(f)) }

// Text writes a value of the figure with its unit.
func (f Figure) Text(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return Dropped
	case f == Bytes || f == BytesRead || f == BytesWritten || f == PartitionSize:
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

// Of is the mean of a counter.
func (s *StoreCost) Of(f Figure) float64 {
	mean, _ := counters[f].of(s)
	return mean
}

// Counted is a counter of the operation, and its standard deviation.
func (o *Op) Counted(f Figure) (mean, deviation float64) { return counters[f].of(&o.Store) }

// Objective is a bound that a figure of measured cells must keep (a service level
// objective). The workload sets it. If several hold for the same figure of a cell, the last
// one counts.
type Objective struct {
	Model  string  `json:"model,omitempty"` // the model that it holds for; "": all
	Engine string  `json:"engine,omitempty"`
	Phase  string  `json:"phase,omitempty"`
	Stream string  `json:"stream,omitempty"` // the stream whose figure it is; "": the whole phase
	Op     string  `json:"op,omitempty"`     // "": all operations together
	Figure string  `json:"figure"`           // such as p99, wait.p99 or errors
	Sign   string  `json:"sign"`             // <, <=, > or >=
	Bound  float64 `json:"bound"`            // nanoseconds, a share from 0 to 1, or operations a second
	Text   string  `json:"text"`             // the bound as it was written: <20ms
}

// Name is the figure with its stream and operation: list.p99, or readers/list.p99.
func (o *Objective) Name() string {
	name := o.Figure
	if o.Op != "" {
		name = o.Op + "." + name
	}
	if o.Stream != "" {
		name = o.Stream + "/" + name
	}
	return name
}

// Holds reports whether the objective holds for a cell.
func (o *Objective) Holds(c *Cell) bool {
	return c.Kind == KindMeasure && (o.Model == "" || o.Model == c.Model) &&
		(o.Engine == "" || o.Engine == c.Engine) && (o.Phase == "" || o.Phase == c.Phase)
}

// Keeps reports whether a value keeps the bound. NeverEnded is more than any time.
func (o *Objective) Keeps(v float64) bool {
	switch o.Sign {
	case "<":
		return v != NeverEnded && v < o.Bound
	case "<=":
		return v != NeverEnded && v <= o.Bound
	case ">":
		return v == NeverEnded || v > o.Bound
	}
	return v == NeverEnded || v >= o.Bound
}

// Attainment is what became of an objective.
type Attainment string

// Attainments. Unclear: the cell's values do not decide. NoSuch: the model does not
// offer the operation.
const (
	Met     Attainment = "met"
	Missed  Attainment = "missed"
	Unclear Attainment = "unclear"
	NoSuch  Attainment = "n/a"
)

// Attained is what became of an objective in a cell. Package judge finds it.
type Attained struct {
	Objective string     `json:"objective"` // such as list.p99
	Bound     string     `json:"bound"`     // such as <20ms
	Verdict   Attainment `json:"verdict"`
	Code      Code       `json:"code,omitempty"`  // why it is not met
	Text      string     `json:"text,omitempty"`  // the same for people
	Value     float64    `json:"value"`           // in the unit of the bound; a time of -1: never ended
	Shown     string     `json:"shown,omitempty"` // the value as one reads it
}

// Percent writes a share with three digits at most.
func Percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + "%" }

// Verdict says whether a cell's figures can be used. Package judge gives it.
type Verdict string

// Verdicts, the worst last. Overloaded: less was executed than was offered.
// Invalid: the generator was measured, not the engine. Empty: nothing was
// measured. Failed: the phase could not be executed, or not to its end.
const (
	OK         Verdict = "ok"
	Overloaded Verdict = "overloaded"
	Invalid    Verdict = "invalid"
	Empty      Verdict = "empty"
	Failed     Verdict = "failed"
)

// Severity orders the verdicts, the worst last.
func (v Verdict) Severity() int {
	return slices.Index([]Verdict{OK, Overloaded, Invalid, Empty, Failed}, v)
}

// Code names the reason of a verdict, or a doubt. Package judge lists them.
type Code string

// Excused reports whether the cell is empty and the run is not at fault: its model cannot
// hold the workload's population, and another model can.
func (r *Run) Excused(c *Cell) bool {
	return c.Verdict == Empty && c.Reason != nil && c.Reason.Code == "not-offered" &&
		slices.ContainsFunc(r.Cells, func(o Cell) bool { return o.Kind == KindMeasure && o.Verdict != Empty })
}

// Reason is why a verdict is not ok.
type Reason struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
}

// Doubt is something that a reader of the figures should know. Ops are the
// operations that it holds for, with their counts. A doubt without Ops holds for the
// cell.
type Doubt struct {
	Code Code      `json:"code"`
	Text string    `json:"text"`
	Ops  []OpCount `json:"ops,omitempty"`
}

// OpCount is a number of operations of one kind.
type OpCount struct {
	Op    string `json:"op"`
	Count int64  `json:"count"`
}

// String writes the doubt in one line.
func (d *Doubt) String() string {
	if len(d.Ops) == 0 {
		return d.Text
	}
	parts := make([]string, len(d.Ops))
	for i, o := range d.Ops {
		parts[i] = o.Op
		if d.Code != "few-operations" { // such a count would read like a time
			parts[i] = strconv.FormatInt(o.Count, 10) + " × " + o.Op
		}
	}
	return d.Text + ": " + strings.Join(parts, ", ")
}
