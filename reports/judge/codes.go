package judge

import "github.com/mailbench/mailbench/reports/results"

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
