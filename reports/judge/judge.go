// Package judge says whether a cell's figures can be used. Judge is a pure
// function of the cell: a saved run that is judged again gets the same verdicts
// and doubts.
//
// The store is never blamed for the load generator, nor the generator for the
// store. A slow engine makes operations queue; that wait is in the response
// times, where it belongs, and is no fault of the figures.
package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/mailbench/mailbench/reports"
)

// Judgement is what Judge finds: a verdict, its reason if it is not ok, and
// what a reader of the figures should know.
type Judgement struct {
	Verdict reports.Verdict
	Reason  *reports.Reason
	Doubts  []reports.Doubt
}

// Judge judges a cell by its evidence. It reads neither Verdict nor Reason nor
// Doubts.
func Judge(c *reports.Cell) Judgement {
	j := Judgement{Verdict: reports.OK, Doubts: []reports.Doubt{}}
	switch c.Kind {
	case reports.KindMeasure:
		j.measured(c)
	case reports.KindLoad:
		j.load(c)
	case reports.KindCold:
		if c.Evidence != nil && c.Evidence.NotCold {
			j.doubt(CodeNotCold, "not cold: %s cannot drop its caches; what follows ran warm", c.Engine)
		}
	}
	if c.Error != "" {
		j.because(reports.Failed, CodeError, "%s", c.Error)
	}
	return j
}

// Apply judges the cell and writes the judgement into it.
func Apply(c *reports.Cell) {
	j := Judge(c)
	c.Verdict, c.Reason, c.Doubts = j.Verdict, j.Reason, j.Doubts
}

// measured judges a measured phase.
func (j *Judgement) measured(c *reports.Cell) {
	e := c.Evidence
	if e == nil {
		e = &reports.Evidence{}
	}
	if e.NotOffered != "" {
		j.because(reports.Empty, CodeNotOffered, "n/a: %s", e.NotOffered)
		return
	}
	j.generator(c, e)
	j.store(c, e)
	j.operations(c)
	j.rate(c)
	j.saturated(c, e)
	j.outcome(c)
}

// load judges a load. It has figures, but runs as fast as it can.
func (j *Judgement) load(c *reports.Cell) {
	if e := c.Evidence; e != nil && e.Missed > 0 {
		j.doubt(CodeIncomplete, "incomplete: %d of %d messages of the load could not be delivered", e.Missed, e.Messages)
	}
	j.outcomes(c)
}

// outcome judges by how operations ended: whether there is anything to report.
func (j *Judgement) outcome(c *reports.Cell) {
	var ok, others int64
	for _, o := range c.Ops {
		ok += o.Count
		others += o.NotFound + o.Failed + o.Unknown + o.TooLarge
	}
	switch {
	case ok > 0:
	case others == 0:
		j.because(reports.Empty, CodeNothingMeasured, "nothing was measured: %s", emptyBecause(c))
	default:
		for _, name := range sortedOps(c.Ops) {
			if o := c.Ops[name]; len(o.Errors) > 0 {
				j.because(reports.Failed, CodeNothingSucceeded, "no %s succeeded: %s", name, o.Errors[0].Text)
				return
			}
		}
	}
}

// emptyBecause says why no operation was carried out.
func emptyBecause(c *reports.Cell) string {
	offered := false
	for _, o := range c.Ops {
		offered = offered || o.Support != reports.NotOffered
	}
	switch {
	case !offered:
		return "the model offers no operation of the mix"
	case c.Offered != nil && c.Offered.NoTarget > 0:
		return "there was no live message to work on"
	case c.Offered != nil && c.Offered.Dropped > 0:
		return "all operations were dropped"
	}
	return "no operation was due"
}

// severity orders the verdicts; a cell gets its worst.
var severity = map[reports.Verdict]int{reports.OK: 0, reports.Overloaded: 1, reports.Invalid: 2, reports.Empty: 3, reports.Failed: 4}

// because gives a verdict and its reason, unless there is a worse one.
func (j *Judgement) because(v reports.Verdict, code reports.Code, format string, args ...any) {
	if severity[v] > severity[j.Verdict] {
		j.Verdict, j.Reason = v, &reports.Reason{Code: code, Text: fmt.Sprintf(format, args...)}
	}
}

func (j *Judgement) doubt(code reports.Code, format string, args ...any) {
	j.Doubts = append(j.Doubts, reports.Doubt{Code: code, Text: fmt.Sprintf(format, args...)})
}

func sortedOps(ops map[string]reports.Op) []string { return slices.Sorted(maps.Keys(ops)) }

// rate writes operations a second with three digits.
func rate(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
