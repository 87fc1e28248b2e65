// Package judge says whether a cell's figures can be used. Judge is a pure
// function of the cell: a saved run that is judged again gets the same verdicts
// and doubts.
//
// Judge does not blame the store for the load generator, nor the generator for
// the store. A slow engine makes operations queue. That wait is in the response
// times, where it belongs, and does not spoil the figures.
package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/mailbench/mailbench/reports/results"
)

// Judgement is what Judge finds: a verdict, the reason of a verdict that is not
// ok, and the doubts that a reader of the figures should know.
type Judgement struct {
	Verdict results.Verdict
	Reason  *results.Reason
	Doubts  []results.Doubt
}

// Judge judges a cell. It ignores the cell's Verdict, Reason and Doubts, and
// does not modify the cell.
func Judge(c *results.Cell) Judgement {
	j := Judgement{Verdict: results.OK, Doubts: []results.Doubt{}}
	switch c.Kind {
	case results.KindMeasure:
		j.measured(c)
	case results.KindLoad:
		j.load(c)
	case results.KindCold:
		if c.Evidence != nil && c.Evidence.NotCold != "" {
			j.doubt(CodeNotCold, "not cold: %s; what follows ran warm", c.Evidence.NotCold)
		}
	}
	if c.Error != "" {
		j.because(results.Failed, CodeError, "%s", c.Error)
	}
	return j
}

// Apply judges a cell and writes the judgement into it.
func Apply(c *results.Cell) {
	j := Judge(c)
	c.Verdict, c.Reason, c.Doubts = j.Verdict, j.Reason, j.Doubts
}

// measured judges a measured phase. A phase that did not begin has no evidence.
func (j *Judgement) measured(c *results.Cell) {
	if e := c.Evidence; e != nil {
		if e.NotOffered != "" {
			j.because(results.Empty, CodeNotOffered, "the model cannot hold the workload's population: %s", e.NotOffered)
			return
		}
		j.shards(c, e)
		j.generator(c, e)
		j.store(c, e)
		j.saturated(c, e)
	}
	j.lacking(c)
	j.operations(c)
	j.rate(c)
	j.outcome(c)
}

// load judges a load. A load has figures, but runs as fast as it can: only what
// is missing from the figures gives doubts.
func (j *Judgement) load(c *results.Cell) {
	e := c.Evidence
	if e != nil && e.Missed > 0 {
		j.doubt(CodeIncomplete, "incomplete: %d of %d messages of the load could not be delivered", e.Missed, e.Messages)
	}
	if e != nil && c.Error == "" {
		var tried int64
		for _, o := range c.Ops {
			tried += o.Count + o.TooLarge
		}
		if tried+e.Missed < e.Messages {
			j.because(results.Failed, CodeUnfinished, "the load was interrupted after %d of %d messages", tried+e.Missed,
				e.Messages)
		}
	}
	j.outcomes(c)
}

// outcome judges a phase in which no operation was ok: there is nothing to report. Figures of one in
// which most had errors are those of the few that a store in trouble still carried out.
func (j *Judgement) outcome(c *results.Cell) {
	var ok, wrong int64
	for _, o := range c.Ops {
		ok += o.Count
		wrong += o.Failed + o.Unknown
	}
	if ok > 0 {
		if wrong > ok {
			j.because(results.Failed, CodeMostFailed, "%s", failures(c))
		}
		return
	}
	for _, name := range sortedOps(c.Ops) {
		if o := c.Ops[name]; len(o.Errors) > 0 {
			j.because(results.Failed, CodeNothingSucceeded, "no %s succeeded: %s", name, o.Errors[0].Text)
			return
		}
	}
	j.because(results.Empty, CodeNothingMeasured, "nothing was measured: %s", emptyBecause(c.Ops))
}

// firstError is the most frequent error of the first operation that has one, after a colon.
func firstError(ops map[string]results.Op) string {
	for _, name := range sortedOps(ops) {
		if o := ops[name]; len(o.Errors) > 0 {
			return fmt.Sprintf(": %s: %s", name, o.Errors[0].Text)
		}
	}
	return ""
}

// emptyBecause says why no operation was ok although none had an error.
func emptyBecause(ops map[string]results.Op) string {
	var sum results.Op
	offered := false
	for _, o := range ops {
		sum.NotFound += o.NotFound
		sum.TooLarge += o.TooLarge
		sum.NoTarget += o.NoTarget
		sum.Dropped += o.Dropped
		offered = offered || o.Support != results.NotOffered
	}
	switch {
	case sum.NotFound > 0:
		return "no operation found what it asked for"
	case sum.TooLarge > 0:
		return "all messages were too large for the engine"
	case sum.NoTarget > 0:
		return "there was no live message to work on"
	case sum.Dropped > 0:
		return "all operations were dropped"
	case !offered:
		return "the model supports no operation of the mix"
	}
	return "no operation that the model supports was due"
}

// severity orders the verdicts, the worst last.
var severity = []results.Verdict{results.OK, results.Overloaded, results.Invalid, results.Empty, results.Failed}

// because gives a verdict and its reason, unless the cell already has one that is
// as bad.
func (j *Judgement) because(v results.Verdict, code results.Code, format string, args ...any) {
	if slices.Index(severity, v) > slices.Index(severity, j.Verdict) {
		j.Verdict, j.Reason = v, &results.Reason{Code: code, Text: fmt.Sprintf(format, args...)}
	}
}

func (j *Judgement) doubt(code results.Code, format string, args ...any) {
	j.Doubts = append(j.Doubts, results.Doubt{Code: code, Text: fmt.Sprintf(format, args...)})
}

func sortedOps(ops map[string]results.Op) []string { return slices.Sorted(maps.Keys(ops)) }

// rate writes operations a second with three digits.
func rate(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Codes of verdicts and doubts. They are stable: a code keeps its meaning. One that was given
// up is not used again. docs/results.md says what each means, in this order.
const (
	// Failed.
	CodeError            results.Code = "error"
	CodeNothingSucceeded results.Code = "nothing-succeeded"
	CodeMostFailed       results.Code = "most-failed"
	CodeUnfinished       results.Code = "unfinished"
	// Empty.
	CodeNotOffered      results.Code = "not-offered"
	CodeNothingMeasured results.Code = "nothing-measured"
	// Invalid.
	CodeClientCPU    results.Code = "client-cpu"
	CodeClientBusy   results.Code = "client-busy"
	CodeClientDelays results.Code = "client-delays"
	CodeFewWorkers   results.Code = "few-workers"
	CodeShardsApart  results.Code = "shards-apart"
	// Invalid or failed.
	CodeShard results.Code = "shard"
	// Overloaded. Dropped is a doubt too, which names the operations.
	CodeBehind      results.Code = "behind"
	CodeDropped     results.Code = "dropped"
	CodeWorkersBusy results.Code = "workers-busy"

	// Doubts.
	CodeSharedMachine     results.Code = "shared-machine"
	CodeClientDelay       results.Code = "client-delay"
	CodeQueued            results.Code = "queued"
	CodeLargeWaits        results.Code = "large-waits"
	CodeLighterLoad       results.Code = "lighter-load"
	CodeOtherMix          results.Code = "other-mix"
	CodeOtherSize         results.Code = "other-size"
	CodeDrifting          results.Code = "drifting"
	CodeShort             results.Code = "short"
	CodeNotSettled        results.Code = "not-settled"
	CodeNotWarm           results.Code = "not-warm"
	CodeDebtGrows         results.Code = "debt-grows"
	CodeInMemory          results.Code = "in-memory"
	CodeNotCold           results.Code = "not-cold"
	CodeMissingNodes      results.Code = "missing-nodes"
	CodeGarbageCollection results.Code = "garbage-collection"
	CodeIncomplete        results.Code = "incomplete"
	CodeFailed            results.Code = "failed"
	CodeUnknown           results.Code = "unknown"
	CodeTooLarge          results.Code = "too-large"
	CodeNotFound          results.Code = "not-found"
	CodeNoTarget          results.Code = "no-target"
	CodeClamped           results.Code = "clamped"
	CodeFewOperations     results.Code = "few-operations"
)
