package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/reports"
)

// ms writes nanoseconds.
const ms = int64(time.Millisecond)

// healthy is a cell at 2000/s on a remote engine that nothing can be said against.
func healthy() *reports.Cell {
	return &reports.Cell{
		Key:     reports.Key{Model: "james", Engine: "cassandra", Phase: "measure", Trial: 1, Shard: 1},
		Kind:    reports.KindMeasure,
		Seconds: 30, Arrivals: "poisson", Rate: 2000, Durability: "process",
		Offered: &reports.Offered{Due: 60000, Span: 30, LastStart: 30, Rate: 2000, Achieved: 2000},
		Ops:     map[string]reports.Op{"open": {Count: 60000, Support: reports.Native, Rate: 2000}},
		Before:  &reports.EngineInfo{DiskBytes: 4 << 30, CacheBytes: 1 << 30},
		Engines: &reports.EngineInfo{DiskBytes: 4 << 30, CacheBytes: 1 << 30},
		Client:  &reports.ClientInfo{Workers: 32, Processors: 2, Capacity: 2, CPUShare: 0.3, OthersShare: -1},
		Evidence: &reports.Evidence{
			Settled: true, Warm: true, Cap: 32, Lateness: 2 * ms, Started: 60000, Late: 10, Own: 10 * ms, Service: 1000 * ms, ServiceFree: ms,
			Hiccups: &reports.Hiccups{}, Delays: &reports.Delays{},
			Windows: []float64{100, 101, 100, 101, 100, 101, 99, 100, 102, 100}, Lags: []int64{ms, ms, ms, ms, ms, ms},
		},
	}
}

// queueGrows makes operations start later and later.
func queueGrows(e *reports.Evidence) { e.Lags = []int64{0, 2000 * ms, 4000 * ms, 8000 * ms} }

// op changes the only operation of a healthy cell.
func op(c *reports.Cell, change func(*reports.Op)) {
	o := c.Ops["open"]
	change(&o)
	c.Ops["open"] = o
}

type codes = []reports.Code

// delayed makes the client's delays lift the p99 of all operations by so many percent.
func delayed(c *reports.Cell, percent int64) {
	c.Evidence.Delays = &reports.Delays{
		Operations: 1200, Response: reports.Latency{P50: ms, P90: 2 * ms, P99: (100 + percent) * ms},
		Undelayed: reports.Latency{P50: ms, P90: 2 * ms, P99: 100 * ms},
	}
}

// ofShards makes a cell the union of two shards that began at those times.
func ofShards(c *reports.Cell, first, second string) {
	for i, at := range []string{first, second} {
		c.Evidence.Shards = append(c.Evidence.Shards, reports.ShardVerdict{
			Shard: i + 1, Verdict: reports.OK, Started: "2026-11-22T" + at + "Z",
		})
	}
}

// A judged is a change of the healthy cell and what Judge has to find. Text is a
// part of the reason, or of the last doubt where the verdict is ok.
type judged struct {
	name    string
	change  func(c *reports.Cell)
	verdict reports.Verdict
	code    reports.Code
	doubts  codes
	text    string
}

// verdicts are cases about the generator, the rate, and cells without figures.
var verdicts = []judged{
	{"healthy", func(*reports.Cell) {}, reports.OK, "", nil, ""},

	// Shards of a merged run.
	{"shards began together", func(c *reports.Cell) { ofShards(c, "00:00:00", "00:00:01.5") }, reports.OK, "", nil, ""},
	{"shards began apart", func(c *reports.Cell) { ofShards(c, "00:00:02", "00:00:00.4") }, reports.Invalid, CodeShardsApart, nil, "up to 1.6 s apart"},
	{"shards of stores of their own began apart", func(c *reports.Cell) {
		ofShards(c, "00:00:02", "00:00:00")
		c.Evidence.InProcess = true
	}, reports.OK, "", codes{CodeSharedMachine}, ""},
	{"a shard was invalid", func(c *reports.Cell) {
		ofShards(c, "00:00:00", "00:00:00")
		c.Evidence.Shards[1].Verdict, c.Evidence.Shards[1].Reason = reports.Invalid, &reports.Reason{Code: CodeClientBusy, Text: "client saturated"}
	}, reports.Invalid, CodeShard, nil, "shard 2: client saturated"},
	{"a shard was overloaded, the union is not", func(c *reports.Cell) {
		ofShards(c, "00:00:00", "00:00:00")
		c.Evidence.Shards[1].Verdict, c.Evidence.Shards[1].Reason = reports.Overloaded, &reports.Reason{Code: CodeBehind, Text: "behind"}
	}, reports.OK, "", nil, ""},

	// The generator was the bottleneck.
	{
		"its delays change p99", func(c *reports.Cell) { delayed(c, 11) },
		reports.Invalid, CodeClientDelays, nil, "client late: without its own delays the p99 would be 100ms and not 111ms of all operations; leave the machine alone",
	},
	{"its delays change p99 a little", func(c *reports.Cell) { delayed(c, 9) }, reports.OK, "", codes{CodeLateStarts}, "in the response times of 2.00% of the operations"},
	{"its delays change a p99 that is hardly printed", func(c *reports.Cell) {
		c.Evidence.Started = 299
		delayed(c, 11)
	}, reports.Invalid, CodeClientDelays, nil, "the p99 would be 100ms and not 111ms of all operations"},
	{"its delays change a p99 that is not printed", func(c *reports.Cell) {
		c.Evidence.Started = 298
		delayed(c, 11)
	}, reports.OK, "", codes{CodeLateStarts}, ""},
	{"its delays change a p90 alone", func(c *reports.Cell) {
		delayed(c, 9)
		c.Evidence.Delays.Response.P90 = 3 * ms
	}, reports.OK, "", codes{CodeLateStarts}, ""},
	{"its delays change the p50 of few operations", func(c *reports.Cell) {
		c.Evidence.Started = 20
		c.Evidence.Delays = &reports.Delays{Operations: 11, Response: reports.Latency{P50: 2 * ms}, Undelayed: reports.Latency{P50: ms}}
	}, reports.Invalid, CodeClientDelays, nil, "the p50 would be 1ms and not 2ms of all operations"},
	{"its delays change a p50 that one operation changes", func(c *reports.Cell) {
		c.Evidence.Started = 19
		c.Evidence.Delays = &reports.Delays{Operations: 2, Response: reports.Latency{P50: 2 * ms}, Undelayed: reports.Latency{P50: ms}}
	}, reports.OK, "", codes{CodeLateStarts}, ""},
	{"its delays change the p50 of one operation", func(c *reports.Cell) {
		op(c, func(o *reports.Op) { o.Response.P50, o.Undelayed = 2*ms, &reports.Latency{P50: ms} })
	}, reports.Invalid, CodeClientDelays, nil, "the p50 would be 1ms and not 2ms of open"},
	{"it was stopped, which changed no percentile", func(c *reports.Cell) { c.Evidence.Hiccups.Total = 3100 * ms }, reports.OK, "", nil, ""},
	{"it was stopped, and few operations tell of it", func(c *reports.Cell) {
		c.Evidence.Hiccups.Total, c.Evidence.Started = 3100*ms, 298
	}, reports.Invalid, CodeClientDelays, nil, "its process could not run for 10.3% of the phase"},
	{"it was stopped, in a closed loop", func(c *reports.Cell) {
		c.Arrivals, c.Evidence.Hiccups.Total = "closed", 3100*ms
	}, reports.Invalid, CodeClientDelays, nil, "its process could not run"},
	{"operations were dropped because of it", func(c *reports.Cell) {
		c.Evidence.Delays.Dropped, c.Offered.Dropped = 700, 700
	}, reports.Invalid, CodeClientDelays, nil, "1.2% of the operations were dropped because of its own delays"},
	{"far more was dropped than because of it", func(c *reports.Cell) {
		c.Evidence.Delays.Dropped, c.Offered.Dropped = 700, 700*int64(c.Client.Workers)+1
	}, reports.Overloaded, CodeDropped, nil, "due operations were never started"},
	{"making operations takes longer than running them", func(c *reports.Cell) {
		c.Evidence.Queued, c.Evidence.Own, c.Evidence.Service = 30000, 50000*ms, 10000*ms
	}, reports.Invalid, CodeClientBusy, codes{CodeQueued}, "client saturated: busy workers spent 83% of their time on making and recording"},
	{"the same in a closed loop", func(c *reports.Cell) {
		c.Arrivals, c.Evidence.Own, c.Evidence.Service = "closed", 50000*ms, 10000*ms
	}, reports.Invalid, CodeClientBusy, nil, "making and recording"},
	{"the same, in a moment that tells nothing", func(c *reports.Cell) {
		c.Arrivals, c.Evidence.Own, c.Evidence.Service, c.Evidence.Started = "closed", 50000*ms, 10000*ms, 99
	}, reports.OK, "", nil, ""},
	{
		"processors full, engine elsewhere", func(c *reports.Cell) { c.Client.CPUShare = 0.95 },
		reports.Invalid, CodeClientCPU, nil, "client saturated: the generator used 95% of the processors that it may use (2)",
	},
	{"a pool too small for the store", func(c *reports.Cell) {
		c.Evidence.Queued, c.Evidence.Crowded = 6000, 660
	}, reports.Invalid, CodeFewWorkers, codes{CodeQueued}, "too few workers: 1.1% of the operations waited for one of the 32 workers while calls took no longer than usual; raise --workers"},
	{"a pool that a few operations found busy", func(c *reports.Cell) {
		c.Evidence.Queued, c.Evidence.Crowded = 590, 590
	}, reports.OK, "", nil, ""},
	{"a pool that may still grow", func(c *reports.Cell) {
		c.Evidence.Queued, c.Evidence.Crowded, c.Evidence.Cap = 6000, 6000, 512
	}, reports.OK, "", codes{CodeQueued}, "response times contain that wait"},
	{"an engine beside it with processors to spare", func(c *reports.Cell) {
		e := c.Evidence
		e.Beside, c.Client.CPUShare, c.Client.OthersShare = true, 0.2, 0.3
		e.Queued, e.Crowded = 50000, 40000
	}, reports.Invalid, CodeFewWorkers, codes{CodeSharedMachine, CodeQueued}, "raise --workers"},
	{"a pool too small for a remote engine, on a busy machine", func(c *reports.Cell) {
		c.Client.OthersShare, c.Evidence.Queued, c.Evidence.Crowded = 0.65, 50000, 40000
	}, reports.Invalid, CodeFewWorkers, codes{CodeQueued}, "raise --workers"},
	{"an embedded engine that has no processors left", func(c *reports.Cell) {
		e := c.Evidence
		e.InProcess, c.Client.CPUShare = true, 0.95
		e.Queued, e.Crowded = 50000, 40000
	}, reports.Overloaded, CodeWorkersBusy, codes{CodeSharedMachine, CodeQueued}, "83.3% of the operations waited for one of the 32 workers, and the processors are full; more workers would not help: lower the rate"},
	{
		"a store at its limit", func(c *reports.Cell) { c.Evidence.Queued, c.Evidence.Crowded = 50000, 600 },
		reports.OK, "",
		codes{CodeQueued},
		"83% of operations found all 32 workers busy; response times contain that wait, most of it for calls that took longer than usual: more workers would only wait inside the store",
	},
	{"an embedded engine on a busy machine", func(c *reports.Cell) {
		c.Evidence.InProcess, c.Client.CPUShare, c.Client.OthersShare = true, 0.4, 0.5
		delayed(c, 50)
	}, reports.Invalid, CodeClientDelays, codes{CodeSharedMachine}, "client late"},
	{"an embedded engine in a process that was stopped", func(c *reports.Cell) {
		c.Evidence.InProcess, c.Client.OthersShare, c.Evidence.Hiccups.Stopped = true, 0.05, 400*ms
		delayed(c, 50)
	}, reports.Invalid, CodeClientDelays, codes{CodeSharedMachine}, "client late"},
	{"a client that its quota stopped, with an engine beside it", func(c *reports.Cell) {
		c.Evidence.Beside, c.Client.Throttled = true, 400*ms
		delayed(c, 50)
	}, reports.Invalid, CodeClientDelays, codes{CodeSharedMachine}, "client late"},

	// The engine was: its slowness is the result, and no fault of the run.
	{"a slow engine", func(c *reports.Cell) {
		e := c.Evidence
		e.Queued, e.Service, e.ServiceQueued = 59000, 900_000*ms, 30*ms
		queueGrows(e)
	}, reports.OK, "", codes{CodeQueued}, "queued: 98% of operations found all 32 workers busy"},
	{"an engine that was slow from the first operation", func(c *reports.Cell) {
		e := c.Evidence
		e.Queued, e.Service, e.ServiceFree, e.ServiceQueued = 59990, 900_000*ms, 0, 30*ms
		queueGrows(e)
	}, reports.OK, "", codes{CodeQueued}, ""},
	{"an engine too fast to compare its times", func(c *reports.Cell) {
		e := c.Evidence
		e.Queued, e.ServiceFree, e.ServiceQueued = 59990, 0, 0
		queueGrows(e)
	}, reports.OK, "", codes{CodeQueued}, ""},
	{"an engine frozen for 1 s in 12", func(c *reports.Cell) {
		e := c.Evidence
		e.Queued, e.Service, e.ServiceQueued = 6000, 40_000*ms, ms
		e.Lags = []int64{0, 0, 900 * ms, 0, 0}
	}, reports.OK, "", codes{CodeQueued}, ""},
	{"a queue of less than half of the operations", func(c *reports.Cell) {
		c.Evidence.Queued = 29000
		queueGrows(c.Evidence)
	}, reports.OK, "", codes{CodeQueued}, ""},
	{"a queue that grew in the first half only", func(c *reports.Cell) {
		c.Evidence.Queued, c.Evidence.Lags = 50000, []int64{0, 400 * ms, 900 * ms, 900 * ms, 900 * ms}
	}, reports.OK, "", codes{CodeQueued}, ""},
	{"a queue that does not grow", func(c *reports.Cell) {
		e := c.Evidence
		e.Queued, e.Service, e.ServiceQueued = 50000, 900_000*ms, ms
	}, reports.OK, "", codes{CodeQueued}, ""},
	{"catching up with an instant engine after a pause", func(c *reports.Cell) {
		c.Evidence.Queued, c.Evidence.Own, c.Evidence.Service = 6000, 60*ms, 20*ms
	}, reports.OK, "", codes{CodeQueued}, ""},
	{"an embedded engine that takes all processors", func(c *reports.Cell) {
		e := c.Evidence
		e.InProcess, c.Client.CPUShare = true, 0.99
		delayed(c, 50)
		e.Queued, e.Service, e.ServiceQueued = 20000, 900_000*ms, 5*ms
	}, reports.Overloaded, CodeWorkersBusy, codes{CodeSharedMachine, CodeLateStarts, CodeQueued}, ""},
	{"an embedded engine that compacts in bursts", func(c *reports.Cell) {
		c.Evidence.InProcess, c.Client.CPUShare = true, 0.5
		delayed(c, 50)
	}, reports.OK, "", codes{CodeSharedMachine, CodeLateStarts}, "nobody can tell whose delays they are"},
	{"an engine beside it that takes the processors", func(c *reports.Cell) {
		c.Evidence.Beside, c.Client.CPUShare, c.Client.OthersShare = true, 0.3, 0.6
		delayed(c, 50)
	}, reports.OK, "", codes{CodeSharedMachine, CodeLateStarts}, ""},
	{"an engine beside it that is slow until it is warm, on full processors", func(c *reports.Cell) {
		e := c.Evidence
		e.Beside, c.Client.CPUShare, c.Client.OthersShare = true, 0.2, 0.75
		e.Queued, e.Service, e.ServiceFree, e.ServiceQueued = 50000, 900_000*ms, 170*ms, 75*ms
		queueGrows(e)
	}, reports.Overloaded, CodeWorkersBusy, codes{CodeSharedMachine, CodeQueued}, ""},

	// The rate was beyond what could be done.
	{"achieved just enough", func(c *reports.Cell) { c.Offered.Achieved = 1980 }, reports.OK, "", nil, ""},
	{"achieved too little, by a pause at the end of a short phase", func(c *reports.Cell) {
		c.Offered.Achieved, c.Offered.LastStart = 1900, c.Offered.Span+0.2
	}, reports.OK, "", nil, ""},
	{"achieved too little, by a longer pause at the end", func(c *reports.Cell) {
		c.Offered.Achieved, c.Offered.LastStart, c.Evidence.Lags = 1900, c.Offered.Span+0.9, []int64{ms, ms, ms, 300 * ms}
	}, reports.OK, "", nil, ""},
	{"behind since half way", func(c *reports.Cell) {
		c.Offered.Achieved, c.Offered.LastStart, c.Evidence.Lags = 1900, c.Offered.Span+0.9, []int64{ms, 200 * ms, 400 * ms, 800 * ms}
	}, reports.Overloaded, CodeBehind, nil, ""},
	{"behind by more than a pause", func(c *reports.Cell) {
		c.Offered.Achieved, c.Offered.LastStart, c.Evidence.Lags = 1900, c.Offered.Span+1.1, []int64{ms, ms, ms, 900 * ms}
	}, reports.Overloaded, CodeBehind, nil, ""},
	{
		"achieved too little", func(c *reports.Cell) {
			c.Offered.Achieved, c.Offered.LastStart, c.Evidence.Lags = 1979, c.Offered.Span+0.3, []int64{75 * ms, 150 * ms, 300 * ms}
		},
		reports.Overloaded, CodeBehind, nil, "only 1979/s of the offered 2000/s were carried out",
	},
	{
		"achieved too little of a rate below 100", func(c *reports.Cell) {
			c.Offered.Rate, c.Offered.Achieved, c.Offered.LastStart = 12, 3.141, 2*c.Offered.Span+1
		},
		reports.Overloaded, CodeBehind, nil, "only 3.14/s of the offered 12/s",
	},
	{"stopped with much that was due and not started", func(c *reports.Cell) {
		c.Offered.Achieved, c.Evidence.Lags = 500, []int64{75 * ms, 150 * ms, 300 * ms}
	}, reports.Overloaded, CodeBehind, nil, "only 500/s of the offered 2000/s"},
	{"stopped during a short pause", func(c *reports.Cell) {
		c.Offered.Span, c.Offered.LastStart, c.Offered.Achieved = 5, 4.8, 1920
	}, reports.OK, "", nil, ""},
	{
		"a closed loop has no due times", func(c *reports.Cell) { c.Arrivals, c.Evidence.Late = "closed", 5000 },
		reports.OK, "", nil, "",
	},
	{"a closed loop offers no rate", func(c *reports.Cell) { c.Arrivals, c.Offered.Achieved = "closed", 0 }, reports.OK, "", nil, ""},
	{"one operation of many dropped", func(c *reports.Cell) {
		c.Offered.Due, c.Offered.Skipped, c.Offered.NoTarget, c.Offered.Dropped = 60111, 100, 10, 1
		op(c, func(o *reports.Op) { o.Dropped = 1 })
	}, reports.Overloaded, CodeDropped, codes{CodeLighterLoad, CodeDropped}, "1 of 60001 due operations were never started; offered 2000/s, achieved 2000/s; lower the rate, or raise --max-lag"},

	// There are no figures.
	{"a population that the model cannot hold", func(c *reports.Cell) {
		c.Evidence = &reports.Evidence{NotOffered: "an account needs an inbox"}
		c.Ops = map[string]reports.Op{"open": {Support: reports.NotOffered}}
	}, reports.Empty, CodeNotOffered, nil, "the model cannot hold the workload's population: an account needs an inbox"},
	{
		"a mix that the model does not offer", func(c *reports.Cell) { c.Ops["open"] = reports.Op{Support: reports.NotOffered} },
		reports.Empty, CodeNothingMeasured, nil, "nothing was measured: the model offers no operation of the mix",
	},
	{
		"nothing to work on", func(c *reports.Cell) { c.Ops["open"] = reports.Op{NoTarget: 60000} },
		reports.Empty, CodeNothingMeasured,
		codes{CodeNoTarget},
		"nothing was measured: there was no live message to work on",
	},
	{
		"nothing due", func(c *reports.Cell) { c.Ops["open"] = reports.Op{} },
		reports.Empty, CodeNothingMeasured, nil, "nothing was measured: no operation that the model offers was due",
	},
	{
		"nothing found", func(c *reports.Cell) { c.Ops["open"] = reports.Op{NotFound: 60000} },
		reports.Empty, CodeNothingMeasured,
		codes{CodeNotFound},
		"nothing was measured: no operation found what it asked for",
	},
	{
		"nothing small enough", func(c *reports.Cell) { c.Ops["open"] = reports.Op{TooLarge: 60000} },
		reports.Empty, CodeNothingMeasured,
		codes{CodeTooLarge},
		"nothing was measured: all messages were too large for the engine",
	},
	{"nothing succeeded", func(c *reports.Cell) {
		c.Ops["open"] = reports.Op{Failed: 7, NotFound: 3, Errors: []reports.ErrorCount{{Text: "connection refused", Count: 6}, {Text: "other", Count: 1}}}
		c.Ops["flag"] = reports.Op{NotFound: 3}
	}, reports.Failed, CodeNothingSucceeded, codes{CodeFailed, CodeNotFound}, "no open succeeded: connection refused"},
	{"another operation succeeded", func(c *reports.Cell) {
		c.Ops["flag"] = reports.Op{Failed: 7, Errors: []reports.ErrorCount{{Text: "connection refused", Count: 7}}}
	}, reports.OK, "", codes{CodeFailed}, "failed"},
	{"broken off", func(c *reports.Cell) { c.Error = "close: disk full" }, reports.Failed, CodeError, nil, "close: disk full"},
	{"not begun", func(c *reports.Cell) {
		*c = reports.Cell{Key: c.Key, Kind: c.Kind, Error: "no memory", Ops: map[string]reports.Op{}}
	}, reports.Failed, CodeError, nil, "no memory"},
	{"not opened", func(c *reports.Cell) {
		*c = reports.Cell{Key: c.Key, Kind: reports.KindStep, Error: "open: no such host"}
	}, reports.Failed, CodeError, nil, "open: no such host"},

	// A cell has its worst verdict.
	{"invalid is worse than overloaded", func(c *reports.Cell) {
		c.Client.CPUShare, c.Offered.Dropped = 0.95, 30000
		op(c, func(o *reports.Op) { o.Dropped = 30000 })
	}, reports.Invalid, CodeClientCPU, codes{CodeDropped}, ""},
	{"empty is worse than invalid and overloaded", func(c *reports.Cell) {
		c.Client.CPUShare, c.Offered.Dropped, c.Offered.Achieved = 0.95, 60000, 0
		c.Ops["open"] = reports.Op{Dropped: 60000}
	}, reports.Empty, CodeNothingMeasured, codes{CodeDropped}, "nothing was measured: all operations were dropped"},
	{"failed is worse than empty", func(c *reports.Cell) {
		c.Evidence = &reports.Evidence{NotOffered: "an account needs an inbox"}
		c.Error = "interrupted"
	}, reports.Failed, CodeError, nil, "interrupted"},
}

// doubts are cases whose figures hold, but have to be read with care.
var doubts = []judged{
	{
		"drift", func(c *reports.Cell) {
			c.Evidence.Windows = []float64{1e6, 1.05e6, 1.11e6, 1.15e6, 1.19e6, 1.26e6, 1.31e6, 1.34e6, 1.41e6, 1.5e6}
		},
		reports.OK, "",
		codes{CodeDrifting},
		"not steady: the service time went from 1.01ms to 1.49ms (+48%; with 99% confidence between +37% and +65%)",
	},
	{
		"it became faster", func(c *reports.Cell) {
			c.Evidence.Windows = []float64{150, 143, 140, 130, 127, 121, 113, 109, 104, 100}
		},
		reports.OK, "",
		codes{CodeDrifting},
		"",
	},
	{"a drift of less than a tenth", func(c *reports.Cell) {
		c.Evidence.Windows = []float64{1000, 1011, 1019, 1032, 1040, 1049, 1061, 1069, 1080, 1091}
	}, reports.OK, "", nil, ""},
	{"noise", func(c *reports.Cell) { c.Evidence.Windows = []float64{100, 130, 90, 145, 80, 120, 150, 95, 140, 110} }, reports.OK, "", nil, ""},
	{"one slow window", func(c *reports.Cell) { c.Evidence.Windows = []float64{100, 100, 100, 100, 100, 100, 100, 100, 150} }, reports.OK, "", nil, ""},
	{
		"too few windows to tell", func(c *reports.Cell) { c.Evidence.Windows = []float64{100, 110, 120, 130, 140, 150, 160} },
		reports.OK, "",
		codes{CodeShort},
		"short: 7 whole windows, and it takes 8 to tell whether the service time has a trend",
	},
	{"no window at all", func(c *reports.Cell) { c.Evidence.Windows = nil }, reports.OK, "", codes{CodeShort}, "short: 0 whole windows"},
	{"eight windows", func(c *reports.Cell) { c.Evidence.Windows = c.Evidence.Windows[:8] }, reports.OK, "", nil, ""},
	{"not settled", func(c *reports.Cell) { c.Evidence.Settled = false }, reports.OK, "", codes{CodeNotSettled}, "not settled: the engine had not come to rest"},
	{"not warm", func(c *reports.Cell) { c.Evidence.Warm = false }, reports.OK, "", codes{CodeNotWarm}, "not warm: the warm-up had not become steady"},
	{
		"debt", func(c *reports.Cell) { c.Engines.CompactionDebt = 1 << 30 },
		reports.OK, "",
		codes{CodeDebtGrows},
		"not steady: compaction debt grew by 1073 MB",
	},
	{"debt that was there before", func(c *reports.Cell) { c.Before.CompactionDebt, c.Engines.CompactionDebt = 1<<30, 1<<30 }, reports.OK, "", nil, ""},
	{"debt that is little beside the data", func(c *reports.Cell) { c.Engines.CompactionDebt = 100 << 20 }, reports.OK, "", nil, ""},
	{"debt of one memtable", func(c *reports.Cell) {
		c.Engines.CompactionDebt, c.Engines.DiskBytes, c.Engines.CacheBytes = 60<<20, 100<<20, 0
	}, reports.OK, "", nil, ""},
	{"debt not known at the end", func(c *reports.Cell) { c.Engines.CompactionDebt = -1 }, reports.OK, "", nil, ""},
	{"debt not known at the beginning", func(c *reports.Cell) { c.Before.CompactionDebt, c.Engines.CompactionDebt = -1, 1<<30 }, reports.OK, "", nil, ""},
	{"in memtables", func(c *reports.Cell) { c.Engines.DiskBytes = 0 }, reports.OK, "", codes{CodeInMemory}, "in memory: nothing is on disk"},
	{"an engine that keeps nothing", func(c *reports.Cell) {
		c.Engines.DiskBytes, c.Evidence.Discards = 0, true
	}, reports.OK, "", nil, ""},
	{"cached, but for the log", func(c *reports.Cell) {
		c.Engines.DiskBytes, c.Engines.LogBytes = 3<<29, 5<<28
	}, reports.OK, "", codes{CodeInMemory}, "in memory: the data set is 0.25 of the block cache"},
	{"half in the log", func(c *reports.Cell) { c.Engines.LogBytes = 5 << 29 }, reports.OK, "", codes{CodeInMemory}, "in memory: 62% of the data"},
	{"cached", func(c *reports.Cell) { c.Engines.DiskBytes = 1 << 28 }, reports.OK, "", codes{CodeInMemory}, "in memory: the data set is 0.25 of the block cache"},
	{"size of the cache not known", func(c *reports.Cell) { c.Engines.CacheBytes = -1 }, reports.OK, "", nil, ""},
	{"size of the data not known", func(c *reports.Cell) { c.Engines.DiskBytes = -1 }, reports.OK, "", nil, ""},
	{
		"collector", func(c *reports.Cell) { c.Client.GCPauses = 1000 * ms },
		reports.OK, "",
		codes{CodeGarbageCollection},
		"garbage collection: the process stood still for 1s in all",
	},
	{
		"few samples", func(c *reports.Cell) { c.Ops["flag"] = reports.Op{Count: 9999} },
		reports.OK, "",
		codes{CodeFewOperations},
		"too few operations for p99.9 (10,000 are needed): flag 9999",
	},
	{"failures", func(c *reports.Cell) { op(c, func(o *reports.Op) { o.Failed = 3 }) }, reports.OK, "", codes{CodeFailed}, "failed: open 3"},
	{"timeouts", func(c *reports.Cell) { op(c, func(o *reports.Op) { o.Unknown = 3 }) }, reports.OK, "", codes{CodeUnknown}, "outcome unknown: open 3"},
	{
		"large messages", func(c *reports.Cell) { op(c, func(o *reports.Op) { o.TooLarge = 3 }) },
		reports.OK, "",
		codes{CodeTooLarge},
		"too large for the engine: open 3",
	},
	{"absent messages of two operations", func(c *reports.Cell) {
		op(c, func(o *reports.Op) { o.NotFound = 3 })
		c.Ops["flag"] = reports.Op{Count: 20000, NotFound: 4}
	}, reports.OK, "", codes{CodeNotFound}, "not found: flag 4, open 3"},
	{
		"no target", func(c *reports.Cell) { op(c, func(o *reports.Op) { o.NoTarget = 3 }) },
		reports.OK, "",
		codes{CodeNoTarget},
		"left out, no live message to work on: open 3",
	},
	{
		"clamped", func(c *reports.Cell) { op(c, func(o *reports.Op) { o.Clamped = 3 }) },
		reports.OK, "",
		codes{CodeClamped},
		"times beyond 100 s, counted as that: open 3",
	},
	{
		"an engine in this process", func(c *reports.Cell) { c.Evidence.InProcess = true },
		reports.OK, "",
		codes{CodeSharedMachine},
		"shared machine: engine and client run in one process",
	},
	{
		"operations that the model lacks", func(c *reports.Cell) { c.Offered.Skipped = 6000 },
		reports.OK, "",
		codes{CodeLighterLoad},
		"the model lacks 10.0% of the operations that were due",
	},
	{
		"operations in place of others", func(c *reports.Cell) { c.Offered.Replaced = 6000 },
		reports.OK, "",
		codes{CodeOtherMix},
		"10.0% of the operations are in place of those that the model lacks",
	},
	{
		"operations that waited for the memory of large messages", func(c *reports.Cell) { c.Evidence.LargeWaits = 6000 },
		reports.OK, "",
		codes{CodeLargeWaits},
		"large messages: 10.0% of the operations waited for memory that other operations on large messages had, so fewer ran at once than there are clients; GOMEMLIMIT=2GiB lets more run",
	},
	{
		"few that waited for it", func(c *reports.Cell) { c.Evidence.LargeWaits = 500 },
		reports.OK, "",
		nil,
		"",
	},
	{
		"a point of a sweep that lost messages", func(c *reports.Cell) { c.Evidence.Held = &reports.Held{Said: 100, Before: 100, After: 89} },
		reports.OK, "",
		codes{CodeOtherSize},
		"other size: the phase began with 100 messages and ended with 89, and the workload says 100",
	},
	{
		"a point of a sweep that began with more", func(c *reports.Cell) { c.Evidence.Held = &reports.Held{Said: 100, Before: 111, After: 100} },
		reports.OK, "",
		codes{CodeOtherSize},
		"",
	},
	{
		"a point of a sweep that is as large as it says", func(c *reports.Cell) { c.Evidence.Held = &reports.Held{Said: 100, Before: 110, After: 90} },
		reports.OK, "",
		nil,
		"",
	},
	{
		"an engine beside this process", func(c *reports.Cell) { c.Evidence.Beside = true },
		reports.OK, "",
		codes{CodeSharedMachine},
		"shared machine: engine and client run on one machine",
	},
	{
		"a few late starts", func(c *reports.Cell) { c.Evidence.Delays.Operations = 120 },
		reports.OK, "",
		codes{CodeLateStarts},
		"late starts: the client's own delays are in the response times of 0.20% of the operations",
	},
	{"a store that is faster than the client's timer", func(c *reports.Cell) {
		op(c, func(o *reports.Op) { o.Response.P50, o.Lag.P50 = ms, 201*ms/1000 })
	}, reports.OK, "", codes{CodeClientLag}, "more than 20% of the median response time: open 60000"},
	{"a store that is hardly slower than the timer", func(c *reports.Cell) {
		op(c, func(o *reports.Op) { o.Response.P50, o.Lag.P50 = ms, 199*ms/1000 })
	}, reports.OK, "", nil, ""},

	{
		"too few processors to spin", func(c *reports.Cell) { c.Evidence.NoSpin = "it takes 4 free processors, and there are 1.9" },
		reports.OK, "",
		codes{CodeNoSpin},
		"no spinning: it takes 4 free processors, and there are 1.9; operations waited for timers",
	},

	// A load runs as fast as it can, and the phases without operations have no figures.
	{"a load", func(c *reports.Cell) {
		c.Kind, c.Client.CPUShare, c.Evidence = reports.KindLoad, 1, &reports.Evidence{Messages: 5000}
		c.Ops = map[string]reports.Op{"deliver": {Count: 5000}}
	}, reports.OK, "", nil, ""},
	{"a load with messages missing", func(c *reports.Cell) {
		c.Kind, c.Evidence = reports.KindLoad, &reports.Evidence{Messages: 5000, Missed: 2}
		c.Ops = map[string]reports.Op{"deliver": {Count: 4998, TooLarge: 2}}
	}, reports.OK, "", codes{CodeIncomplete, CodeTooLarge}, "too large for the engine: deliver 2"},
	{"cold", func(c *reports.Cell) { c.Kind, c.Evidence, c.Ops = reports.KindCold, &reports.Evidence{}, nil }, reports.OK, "", nil, ""},
	{"not cold", func(c *reports.Cell) {
		c.Kind, c.Evidence, c.Ops = reports.KindCold, &reports.Evidence{NotCold: "cassandra cannot drop its caches"}, nil
	}, reports.OK, "", codes{CodeNotCold}, "not cold: cassandra cannot drop its caches"},
	{"settled", func(c *reports.Cell) { c.Kind, c.Evidence, c.Ops = reports.KindSettle, nil, nil }, reports.OK, "", nil, ""},
	{"a warm-up", func(c *reports.Cell) { c.Kind, c.Client.CPUShare, c.Evidence.Warm = reports.KindWarmup, 1, false }, reports.OK, "", nil, ""},
}

// cell is the case's cell.
func (c *judged) cell() *reports.Cell {
	cell := healthy()
	c.change(cell)
	return cell
}

func TestJudge(t *testing.T) {
	for _, c := range slices.Concat(verdicts, doubts) {
		t.Run(c.name, func(t *testing.T) {
			got := Judge(c.cell())
			text := ""
			if n := len(got.Doubts); n > 0 {
				text = got.Doubts[n-1].String()
			}
			var code reports.Code
			if got.Reason != nil {
				code, text = got.Reason.Code, got.Reason.Text
			}
			if got.Verdict != c.verdict || code != c.code {
				t.Errorf("verdict %s, code %q, want %s, %q: %s", got.Verdict, code, c.verdict, c.code, text)
			}
			if found := found(got.Doubts); !slices.Equal(found, c.doubts) {
				t.Errorf("doubts %q, want %q", found, c.doubts)
			}
			if !strings.Contains(text, c.text) {
				t.Errorf("text %q, want one with %q", text, c.text)
			}
		})
	}
}

// found are the codes of doubts.
func found(doubts []reports.Doubt) codes {
	var found codes
	for _, d := range doubts {
		found = append(found, d.Code)
	}
	return found
}
