package judge

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mailbench/mailbench/reports/results"
	"github.com/mailbench/mailbench/schemas/words"
)

const (
	// SteadyWithin is the share by which service times may change when a warm-up is over.
	SteadyWithin = 0.2
	// debtGrows is by how many bytes the compaction debt may grow during a phase:
	// the size of one memtable. debtShare is the same as a share of the data.
	debtGrows, debtShare = 64 << 20, 0.1
	// SamplesFor is how many operations p99.9 needs: ten are slower than it.
	SamplesFor = 10000
	// gcMost is the share of the time that the collector may stop the world.
	gcMost = 0.01
	// sizeMost is the share by which the messages at a point of a sweep may differ from its size.
	// If sizes differ by ten, that changes an exponent by 0.04.
	sizeMost = 0.1
)

// store says what a reader should know about the store.
func (j *Judgement) store(c *results.Cell, e *results.Evidence) {
	if h := e.Held; h != nil && h.Said > 0 {
		if most := sizeMost * float64(h.Said); max(math.Abs(float64(h.Before-h.Said)),
			math.Abs(float64(h.After-h.Said))) > most {
			j.doubt(CodeOtherSize, "other size: the phase began with %d messages and ended with %d, and the workload says %d; "+
				"measure fewer operations, or ones that leave the size as it is",
				h.Before, h.After, h.Said)
		}
	}
	if t, ok := Trend(e.Windows); ok && Drifts(t) {
		j.doubt(CodeDrifting, "not steady: the service time went from %v to %v (%s; with 99%% confidence between %s and %s)",
			duration(int64(t.From)), duration(int64(t.To)), change(t.Change), change(t.Low), change(t.High))
	}
	if c.Measured() && len(e.Windows) < trendWindows {
		j.doubt(CodeShort,
			"short: %d whole windows, and it takes %d to tell whether the service time has a trend; measure longer",
			len(e.Windows), trendWindows)
	}
	if !e.Settled {
		j.doubt(CodeNotSettled, "not settled: the engine was still busy with earlier work when the time to settle was over, "+
			"or does not tell")
	}
	if !e.Warm {
		j.doubt(CodeNotWarm, "not warm: service times had not become steady when the warm-up was over; give it more time")
	}
	b, a := c.Before, c.Engines
	if b != nil && a != nil && b.CompactionDebt >= 0 {
		if grown := a.CompactionDebt - b.CompactionDebt; grown > debtGrows &&
			float64(grown) > debtShare*float64(a.DiskBytes) {
			j.doubt(CodeDebtGrows, "not steady: the compaction debt grew by %s; measure longer, or lower the rate", words.Size(float64(grown)))
		}
	}
	switch {
	case a == nil || e.Discards:
	case a.DiskBytes == 0:
		j.doubt(CodeInMemory, "in memory: nothing is on disk; the engine has not flushed its memtables; use a larger population")
	case a.DiskBytes > 0 && a.DiskBytes-a.LogBytes < a.CacheBytes: // a log may have grown since files were counted
		j.doubt(CodeInMemory, "in memory: the data set is %.2f of the block cache; use a larger population to read from disk",
			float64(max(a.DiskBytes-a.LogBytes, 0))/float64(a.CacheBytes))
	case a.LogBytes > a.DiskBytes/2:
		j.doubt(CodeInMemory, "in memory: %.0f%% of the data is in the log and in memtables only; use a larger population",
			100*float64(a.LogBytes)/float64(a.DiskBytes))
	}
	if a != nil && len(a.Missing) > 0 {
		j.doubt(CodeMissingNodes, "nodes are missing: %s could not be reached, so the others did their work; start them, or "+
			"look at the network between", strings.Join(a.Missing, ", "))
	}
	if c.Client != nil && c.Seconds > 0 && seconds(c.Client.GCPauses) > gcMost*c.Seconds {
		j.doubt(CodeGarbageCollection, "garbage collection: mailbench stood still for %v in all; increase GOMEMLIMIT, or lower the rate",
			time.Duration(c.Client.GCPauses).Round(time.Millisecond))
	}
}

// lacking says that a model's load is not that of models that offer all operations of the mix.
func (j *Judgement) lacking(c *results.Cell) {
	o := c.Offered
	if o == nil || o.Due == 0 {
		return
	}
	if o.Skipped > 0 {
		j.doubt(CodeLighterLoad, "lighter load: %s of the load was skipped, as the model has no %s; missing: replace-rate in "+
			"the workload keeps the load equal", percent(share(o.Skipped, o.Due)), lacked(c))
	}
	if o.Replaced > 0 {
		j.doubt(CodeOtherMix, "other mix: %s of the operations are in place of those that the model lacks",
			percent(share(o.Replaced, o.Due)))
	}
}

// lacked names the operations of the mix that the model does not offer.
func lacked(c *results.Cell) string {
	var names []string
	for _, name := range sortedOps(c.Ops) {
		if c.Ops[name].Support == results.NotOffered {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "such operations"
	}
	return strings.Join(names, ", ")
}

// operations adds the doubts that name operations, one doubt for each code.
func (j *Judgement) operations(c *results.Cell) {
	j.outcomes(c)
	j.each(c, CodeFewOperations, "p99.9 is trustworthy from 10,000 operations on; too few of", func(o results.Op) int64 {
		if o.Count >= SamplesFor {
			return 0
		}
		return o.Count
	})
}

// outcomes adds the doubts about operations that are not in the figures, or are wrong in them.
func (j *Judgement) outcomes(c *results.Cell) {
	j.each(c, CodeDropped, "dropped: due, but never started", func(o results.Op) int64 { return o.Dropped })
	j.each(c, CodeFailed, "failed", func(o results.Op) int64 { return o.Failed })
	j.each(c, CodeUnknown, "outcome unknown", func(o results.Op) int64 { return o.Unknown })
	j.each(c, CodeTooLarge, "too large for the engine", func(o results.Op) int64 { return o.TooLarge })
	j.each(c, CodeNotFound, "not found", func(o results.Op) int64 { return o.NotFound })
	j.each(c, CodeNoTarget, "left out: no live message to work on", func(o results.Op) int64 { return o.NoTarget })
	j.each(c, CodeClamped, "times beyond 100 s, counted as that", func(o results.Op) int64 { return o.Clamped })
}

// each adds a doubt that names the operations with a count.
func (j *Judgement) each(c *results.Cell, code results.Code, text string, count func(results.Op) int64) {
	var ops []results.OpCount
	for _, name := range sortedOps(c.Ops) {
		if n := count(c.Ops[name]); n > 0 {
			ops = append(ops, results.OpCount{Op: name, Count: n})
		}
	}
	if len(ops) > 0 {
		j.Doubts = append(j.Doubts, results.Doubt{Code: code, Text: text, Ops: ops})
	}
}

// change writes a share by which something changed.
func change(share float64) string {
	if share >= results.TrendMost {
		return "any more"
	}
	return fmt.Sprintf("%+.0f%%", 100*share)
}
