package reports

import (
	"fmt"
	"strings"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

// Slowest writes the time of the slowest operation.
func Slowest(o *results.Op, ns int64) string {
	switch {
	case o.Count == 0:
		return "-"
	case !o.TellsSlowest():
		return Withheld
	}
	return words.Duration(float64(ns))
}

// Percentile writes a percentile of an operation's latencies, or a dash if there were
// too few operations for it.
func Percentile(o *results.Op, ns int64, p float64) string {
	switch {
	case o.Count == 0:
		return "-"
	case o.Withholds(p):
		return Withheld
	case !o.Tells(p):
		return "-"
	}
	return words.Duration(float64(ns))
}

// Withheld stands for a percentile that the client's own delays changed. A doubt or the verdict
// explains it.
const Withheld = "-†"

// TooFew explains the dashes of a run's tables; "" if there are none.
func TooFew(all []Section) string {
	for _, s := range all {
		for _, c := range s.Cells {
			for _, o := range c.Ops {
				if o.Count > 0 && o.Count < results.EnoughFor(0.999) {
					return fmt.Sprintf("too few operations for that percentile: p50 takes %d, p90 %d, p99 %d, p99.9 %d",
						results.EnoughFor(0.5), results.EnoughFor(0.9), results.EnoughFor(0.99), results.EnoughFor(0.999))
				}
			}
		}
	}
	return ""
}

// ExaminedNote explains how the rows examined in a run's tables were found out, or "".
func ExaminedNote(all []Section) string {
	traced, untold := int64(0), false
	for _, s := range all {
		for _, c := range s.Cells {
			for _, o := range c.Ops {
				if o.Count > 0 && s.Cells[0].Measured() {
					traced = max(traced, o.Store.Traced)
					untold = untold || o.Store.RowsExamined == nil
				}
			}
		}
	}
	var notes []string
	if traced > 0 {
		notes = append(notes, fmt.Sprintf("~ the engine tells it of traced calls only: the mean of %d operations after the phase", traced))
	}
	if untold {
		notes = append(notes, "? the engine does not tell it")
	}
	return strings.Join(notes, "; ")
}
