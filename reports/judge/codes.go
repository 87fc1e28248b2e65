package judge

import "github.com/mailbench/mailbench/reports"

// Codes of verdicts and doubts. They are stable: a code keeps its meaning. One that was given
// up is not used again.
const (
	// Failed.
	CodeError            reports.Code = "error"
	CodeNothingSucceeded reports.Code = "nothing-succeeded"
	// Empty.
	CodeNotOffered      reports.Code = "not-offered"
	CodeNothingMeasured reports.Code = "nothing-measured"
	// Invalid.
	CodeClientCPU    reports.Code = "client-cpu"
	CodeClientBusy   reports.Code = "client-busy"
	CodeClientDelays reports.Code = "client-delays"
	CodeFewWorkers   reports.Code = "few-workers"
	CodeShardsApart  reports.Code = "shards-apart"
	// Invalid or failed.
	CodeShard reports.Code = "shard"
	// Overloaded. Dropped is a doubt too, which names the operations.
	CodeBehind      reports.Code = "behind"
	CodeDropped     reports.Code = "dropped"
	CodeWorkersBusy reports.Code = "workers-busy"

	// Doubts.
	CodeSharedMachine     reports.Code = "shared-machine"
	CodeLateStarts        reports.Code = "late-starts"
	CodeClientLag         reports.Code = "client-lag"
	CodeNoSpin            reports.Code = "no-spin"
	CodeQueued            reports.Code = "queued"
	CodeLargeWaits        reports.Code = "large-waits"
	CodeLighterLoad       reports.Code = "lighter-load"
	CodeOtherMix          reports.Code = "other-mix"
	CodeOtherSize         reports.Code = "other-size"
	CodeDrifting          reports.Code = "drifting"
	CodeShort             reports.Code = "short"
	CodeNotSettled        reports.Code = "not-settled"
	CodeNotWarm           reports.Code = "not-warm"
	CodeDebtGrows         reports.Code = "debt-grows"
	CodeInMemory          reports.Code = "in-memory"
	CodeNotCold           reports.Code = "not-cold"
	CodeGarbageCollection reports.Code = "garbage-collection"
	CodeIncomplete        reports.Code = "incomplete"
	CodeFailed            reports.Code = "failed"
	CodeUnknown           reports.Code = "unknown"
	CodeTooLarge          reports.Code = "too-large"
	CodeNotFound          reports.Code = "not-found"
	CodeNoTarget          reports.Code = "no-target"
	CodeClamped           reports.Code = "clamped"
	CodeFewOperations     reports.Code = "few-operations"
)

// Entry describes one code.
type Entry struct {
	Code    reports.Code
	Verdict reports.Verdict // the verdict that it is a reason for; "" for a doubt
	Doc     string
}

// Codes returns all codes with what they mean, in the order of docs/results.md.
func Codes() []Entry {
	return []Entry{
		{CodeError, reports.Failed, "The phase could not be carried out, or not to its end."},
		{CodeNothingSucceeded, reports.Failed, "Operations were carried out, some with errors, and none was ok."},
		{CodeNotOffered, reports.Empty, "The model cannot hold the workload's population."},
		{CodeNothingMeasured, reports.Empty, "No operation was ok and none had an error: for example, the model offers " +
			"none of the mix, or there was no message to work on."},
		{CodeClientCPU, reports.Invalid, "The generator used nearly all of its processors, and the engine runs elsewhere."},
		{CodeClientBusy, reports.Invalid, "Busy workers spent most of their time on making and recording operations."},
		{CodeClientDelays, reports.Invalid, "The generator's own delays changed a p50 or p99 that is printed by more than " +
			"10%, or too much to tell: see `delays`."},
		{CodeFewWorkers, reports.Invalid, "All workers that there may be were busy, and more than 1% of the operations " +
			"waited for one although calls took no longer than usual. Raise `--workers`."},
		{CodeShardsApart, reports.Invalid, "The shards of a merged run, which load one engine together, began the phase " +
			"more than 5% of its length apart: their rates do not add up."},
		{CodeShard, reports.Invalid, "In a merged run, one of the shards is invalid by itself. It is the reason of " +
			"`failed`, too, if a shard failed."},
		{CodeBehind, reports.Overloaded, "The achieved rate was less than 99% of the offered rate. A pause at the very end " +
			"is no overload."},
		{CodeDropped, reports.Overloaded, "Operations were due and never started, because they would have started later " +
			"than --max-lag allows. It is a doubt too, which names the operations."},
		{CodeWorkersBusy, reports.Overloaded, "All workers that there may be were busy, more than 1% of the operations " +
			"waited for one, and the processors were full of engine and generator. Lower the rate: more workers would not help."},
		{CodeSharedMachine, "", "Engine and generator share a machine's processors."},
		{CodeLateStarts, "", "The generator delayed more than 0.1% of the operations: p99.9 contains it. Or its delays " +
			"changed a percentile by more than 10%, and engine and generator share the processors, so that nobody can tell whose they are."},
		{CodeClientLag, "", "Waking up in time is more than 20% of the median response time: the store is faster than the " +
			"generator's timer."},
		{CodeNoSpin, "", "The workload says `pacing: spin`, and there were too few free processors for that: operations " +
			"waited for timers."},
		{CodeQueued, "", "More than 1% of the operations found no free worker: their response times contain that wait."},
		{CodeLargeWaits, "", "More than 1% of the operations waited, before they started, for memory that other " +
			"operations on large messages had: fewer ran at once than there are clients. A larger `GOMEMLIMIT` lets more run."},
		{CodeLighterLoad, "", "The model lacks operations of the mix, and they were left out: its load is lighter than " +
			"that of models that have them. See `missing` in the workload language."},
		{CodeOtherMix, "", "The model lacks operations of the mix, and others took their place (`missing: replace-rate`): " +
			"its mix is not that of models that have them."},
		{CodeOtherSize, "", "In a sweep of the population, the phase began or ended with more than 10% more or fewer " +
			"messages than the workload says at this point."},
		{CodeDrifting, "", "The service time has a trend: it changed by more than 10% from the first window to the last, " +
			"and by more than noise explains (see `trend`)."},
		{CodeShort, "", "The phase had fewer than 8 windows, each of a tenth of it or of half a second: whether its " +
			"service time has a trend cannot be told."},
		{CodeNotSettled, "", "The engine had not come to rest when the phase began, or does not tell whether it had."},
		{CodeNotWarm, "", "The warm-up ended because its time was over, and the service times of its later half had a " +
			"trend, or there were too few windows to tell."},
		{CodeDebtGrows, "", "The engine owed more compaction at the end of the phase than at its beginning: by more than " +
			"64 MiB and 10% of the data."},
		{CodeInMemory, "", "The data set is smaller than the engine's block cache, or still in its memtables."},
		{CodeNotCold, "", "The engine cannot drop its caches: the phases that follow ran warm."},
		{CodeGarbageCollection, "", "Go's garbage collector stopped the process for more than 1% of the phase."},
		{CodeIncomplete, "", "Messages of the load could not be delivered."},
		{CodeFailed, "", "Operations failed and are known not to be applied."},
		{CodeUnknown, "", "Operations timed out: they may be applied or not."},
		{CodeTooLarge, "", "Messages were larger than the engine takes."},
		{CodeNotFound, "", "Operations did not find what they asked for."},
		{CodeNoTarget, "", "Operations found no live message to work on and were left out."},
		{CodeClamped, "", "Latencies beyond the histogram's range of 100 s are counted as 100 s."},
		{CodeFewOperations, "", "Fewer than 10,000 operations were ok: p99.9 rests on fewer than ten of them."},
	}
}
