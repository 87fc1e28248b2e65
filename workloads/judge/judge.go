// Package judge says whether a cell's figures can be used. Judge is a pure
// function of the cell: a saved run that is judged again gets the same verdicts
// and doubts. Its rules are one table (rules.go).
//
// Judge does not blame the store for the load generator, nor the generator for
// the store. A slow engine makes operations queue. That wait is in the response
// times, where it belongs, and does not spoil the figures.
package judge

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mailbench/mailbench/workloads/results"
)

// Judgment is what Judge finds: a verdict, the reason of a verdict that is not
// ok, and the doubts that a reader of the figures should know.
type Judgment struct {
	Verdict results.Verdict
	Reason  *results.Reason
	Doubts  []results.Doubt
}

// A rule finds one fault of cells.
type rule struct {
	code    results.Code
	verdict results.Verdict // that the fault gives; OK: it is a doubt
	of      kinds
	text    func(*results.Cell, *results.Evidence) string // "": the cell does not have the fault
}

// A countRule is a doubt that names the operations with a count.
type countRule struct {
	code results.Code
	of   kinds
	text string
	n    func(*results.Op) int64
}

// kinds are the kinds of cells that a rule is for.
type kinds int

const (
	measured kinds = 1 << iota // measured phases
	observed                   // those that began, and so have evidence of client and engine
	loads
	colds
	refused // measured phases whose population the model cannot hold
	others
	every = measured | loads | colds | refused | others
)

// filled is the cell with empty values for those that were not recorded.
func filled(c *results.Cell) *results.Cell {
	unknown := results.EngineInfo{DiskBytes: -1, CompactionDebt: -1}
	f := *c
	f.Evidence, f.Offered = cmp.Or(c.Evidence, &results.Evidence{}), cmp.Or(c.Offered, &results.Offered{})
	f.Before, f.Engines = cmp.Or(c.Before, &unknown), cmp.Or(c.Engines, &unknown)
	return &f
}

func kindsOf(c *results.Cell) kinds {
	switch {
	case c.Kind == results.KindLoad:
		return loads
	case c.Kind == results.KindCold:
		return colds
	case c.Kind != results.KindMeasure:
		return others
	case c.Evidence != nil && c.Evidence.NotOffered != "":
		return refused
	case c.Evidence == nil || c.Client == nil:
		return measured
	}
	return measured | observed
}

// severity orders the verdicts, the worst last.
var severity = []results.Verdict{results.OK, results.Overloaded, results.Invalid, results.Empty, results.Failed}

// Judge judges a cell. It ignores the cell's Verdict, Reason and Doubts, and
// does not modify the cell. The verdict is the worst of all rules, and its reason the first of these.
func Judge(c *results.Cell) Judgment {
	j, of := Judgment{Verdict: results.OK, Doubts: []results.Doubt{}}, kindsOf(c)
	c = filled(c)
	for i := range rules {
		r := &rules[i]
		if r.of&of == 0 {
			continue
		}
		switch text := r.text(c, c.Evidence); {
		case text == "":
		case r.verdict == results.OK:
			j.Doubts = append(j.Doubts, results.Doubt{Code: r.code, Text: text})
		case slices.Index(severity, r.verdict) > slices.Index(severity, j.Verdict):
			j.Verdict, j.Reason = r.verdict, &results.Reason{Code: r.code, Text: text}
		}
	}
	for i := range countRules {
		r := &countRules[i]
		var ops []results.OpCount
		for _, name := range sortedOps(c.Ops) {
			if o := c.Ops[name]; r.of&of != 0 && r.n(&o) > 0 {
				ops = append(ops, results.OpCount{Op: name, Count: r.n(&o)})
			}
		}
		if len(ops) > 0 {
			j.Doubts = append(j.Doubts, results.Doubt{Code: r.code, Text: r.text, Ops: ops})
		}
	}
	return j
}

// Apply judges a cell and writes the judgment into it.
func Apply(c *results.Cell) {
	j := Judge(c)
	c.Verdict, c.Reason, c.Doubts = j.Verdict, j.Reason, j.Doubts
}

func sortedOps(ops map[string]results.Op) []string { return slices.Sorted(maps.Keys(ops)) }

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
