package results

import (
	"slices"
	"strconv"
	"strings"
)

// Verdict says whether a cell's figures can be used. Package judge gives it.
type Verdict string

// Verdicts, the worst last. Overloaded: less was carried out than was offered.
// Invalid: the generator was measured, not the engine. Empty: nothing was
// measured. Failed: the phase could not be carried out, or not to its end.
const (
	OK         Verdict = "ok"
	Overloaded Verdict = "overloaded"
	Invalid    Verdict = "invalid"
	Empty      Verdict = "empty"
	Failed     Verdict = "failed"
)

// Code names the reason of a verdict, or a doubt. Package judge lists them.
type Code string

// notOffered is the reason of a cell whose model cannot hold the workload's population.
const notOffered Code = "not-offered"

// Excused reports whether the cell is empty and the run is not at fault: its model cannot
// hold the workload's population, and another model can.
func (r *Run) Excused(c *Cell) bool {
	return c.Verdict == Empty && c.Reason != nil && c.Reason.Code == notOffered &&
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

// withoutCounts are doubts about operations that have too few, or too short ones: their counts would
// read like times.
var withoutCounts = []Code{"few-operations"}

// String writes the doubt in one line.
func (d *Doubt) String() string {
	if len(d.Ops) == 0 {
		return d.Text
	}
	parts := make([]string, len(d.Ops))
	for i, o := range d.Ops {
		parts[i] = o.Op
		if !slices.Contains(withoutCounts, d.Code) {
			parts[i] = strconv.FormatInt(o.Count, 10) + " × " + o.Op
		}
	}
	return d.Text + ": " + strings.Join(parts, ", ")
}
