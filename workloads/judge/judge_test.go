package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads/results"
)

// ms writes nanoseconds.
const ms = int64(time.Millisecond)

// healthy is a cell at 2000/s on a remote engine that nothing can be said against.
func healthy() *results.Cell {
	return &results.Cell{
		Key:     results.Key{Model: "james", Engine: "cassandra", Phase: "measure", Trial: 1, Segment: 1},
		Kind:    results.KindMeasure,
		Seconds: 30, Arrivals: "poisson", Rate: 2000, Durability: "process",
		Offered: &results.Offered{Due: 60000, Span: 30, LastStart: 30, Rate: 2000, Achieved: 2000},
		Ops:     map[string]results.Op{"open": {Count: 60000, Support: results.Native, Rate: 2000}},
		AllOps:  &results.Times{Wait: results.Latency{P50: ms / 10}},
		Before:  &results.EngineInfo{DiskBytes: 4 << 30, CacheBytes: 1 << 30},
		Engines: &results.EngineInfo{DiskBytes: 4 << 30, CacheBytes: 1 << 30},
		Client:  &results.ClientInfo{Workers: 32, Processors: 2, Capacity: 2, CPUShare: 0.3, OthersShare: -1},
		Evidence: &results.Evidence{
			Settled: true, Warm: true, Cap: 32, Lateness: 2 * ms, Started: 60000, Own: 10 * ms, Service: 1000 * ms,
			Hiccups: &results.Hiccups{}, Delays: &results.Delays{},
			Windows: []float64{100, 101, 100, 101, 100, 101, 99, 100, 102, 100},
		},
	}
}

// busyEngine gives the engine's processes a share of the processors.
func busyEngine(c *results.Cell, share float64) {
	used := int64(share * c.Seconds * float64(c.Client.Processors) * 1e9)
	c.Before, c.Engines = &results.EngineInfo{DiskBytes: -1, CPU: 5e9}, &results.EngineInfo{DiskBytes: -1, CPU: 5e9 + used}
}

// op changes the only operation of a healthy cell.
func op(c *results.Cell, change func(*results.Op)) {
	o := c.Ops["open"]
	change(&o)
	c.Ops["open"] = o
}

type codes = []results.Code

// lateBy makes the client's delays lift the p99 of all operations by so many percent.
func lateBy(c *results.Cell, percent int64) {
	setDelay(c, results.Latency{P50: ms, P90: 2 * ms, P99: (100 + percent) * ms}, results.Latency{P50: ms, P90: 2 * ms, P99: 100 * ms})
}

// setDelay sets the times of all operations with and without the client's delays.
func setDelay(c *results.Cell, response, undelayed results.Latency) {
	c.AllOps.Response, c.AllOps.Latency = response, &undelayed
}

// ofSegments makes a cell the union of two segments that began at those times.
func ofSegments(c *results.Cell, first, second string) {
	for i, at := range []string{first, second} {
		c.Evidence.Segments = append(c.Evidence.Segments, results.SegmentVerdict{
			Segment: i + 1, Verdict: results.OK, Started: "2026-11-22T" + at + "Z",
		})
	}
}

// A judged is a change of the healthy cell and the findings that Apply must have. Text is a
// part of the reason, or of the last warning where the verdict is ok.
type judged struct {
	name    string
	change  func(c *results.Cell)
	verdict results.Verdict
	code    results.Code
	doubts  codes
	text    string
}

// verdicts are cases about the generator, the rate, and cells without metrics.
var verdicts = []judged{
	{"healthy", func(*results.Cell) {}, results.OK, "", nil, ""},

	// Segments of a merged run.
	{"segments began together", func(c *results.Cell) { ofSegments(c, "00:00:00", "00:00:01.5") }, results.OK, "", nil, ""},
	{"segments began apart", func(c *results.Cell) { ofSegments(c, "00:00:02", "00:00:00.4") }, results.Invalid, "segments-apart", nil, "up to 1.6 s apart"},
	{"segments of stores of their own began apart", func(c *results.Cell) {
		ofSegments(c, "00:00:02", "00:00:00")
		c.Evidence.InProcess = true
	}, results.OK, "", codes{"shared-machine"}, ""},
	{"a segment failed, another was invalid", func(c *results.Cell) {
		ofSegments(c, "00:00:00", "00:00:00")
		c.Evidence.Segments[0].Verdict, c.Evidence.Segments[0].Reason = results.Invalid, &results.Reason{Code: "client-busy", Text: "client saturated"}
		c.Evidence.Segments[1].Verdict, c.Evidence.Segments[1].Reason = results.Failed, &results.Reason{Code: "error", Text: "the engine is gone"}
	}, results.Failed, "segment", nil, "segment 2: the engine is gone"},
	{"a segment was invalid", func(c *results.Cell) {
		ofSegments(c, "00:00:00", "00:00:00")
		c.Evidence.Segments[1].Verdict, c.Evidence.Segments[1].Reason = results.Invalid, &results.Reason{Code: "client-busy", Text: "client saturated"}
	}, results.Invalid, "segment", nil, "segment 2: client saturated"},
	{"a segment was overloaded, the union is not", func(c *results.Cell) {
		ofSegments(c, "00:00:00", "00:00:00")
		c.Evidence.Segments[1].Verdict, c.Evidence.Segments[1].Reason = results.Overloaded, &results.Reason{Code: "behind", Text: "behind"}
	}, results.OK, "", nil, ""},

	// The generator was the bottleneck.
	{
		"its delays change p99", func(c *results.Cell) { lateBy(c, 11) },
		results.OK, "",
		codes{"client-delay"},
		"client delay: p50 0ns, p99 11.0ms, which latency does not include; use a quieter machine or more processors to see the engine without it",
	},
	{"its delays change p99 a little", func(c *results.Cell) { lateBy(c, 9) }, results.OK, "", nil, ""},
	{"its delays change a p99 that has enough operations", func(c *results.Cell) {
		c.Evidence.Started = 299
		lateBy(c, 11)
	}, results.OK, "", codes{"client-delay"}, "p99 11.0ms"},
	{"its delays change a p99 that has too few", func(c *results.Cell) {
		c.Evidence.Started = 298
		lateBy(c, 11)
	}, results.OK, "", nil, ""},
	{"its delays change a p90 alone", func(c *results.Cell) {
		lateBy(c, 9)
		c.AllOps.Response.P90 = 3 * ms
	}, results.OK, "", nil, ""},
	{"its delays change the p50 of few operations", func(c *results.Cell) {
		c.Evidence.Started = 20
		setDelay(c, results.Latency{P50: 2 * ms}, results.Latency{P50: ms})
	}, results.OK, "", codes{"client-delay"}, "client delay: p50 1.00ms,"},
	{"its delays change a p50 that one operation changes", func(c *results.Cell) {
		c.Evidence.Started = 19
		setDelay(c, results.Latency{P50: 2 * ms}, results.Latency{P50: ms})
	}, results.OK, "", nil, ""},
	{"its timer changes the p50 of a fast store", func(c *results.Cell) {
		setDelay(c, results.Latency{P50: ms / 11}, results.Latency{P50: ms / 100})
	}, results.OK, "", nil, ""},
	{"it was stopped a little", func(c *results.Cell) {
		c.Evidence.Hiccups.Total = 2900 * ms
	}, results.OK, "", nil, ""},
	{"it could not run", func(c *results.Cell) {
		c.Evidence.Hiccups.Total = 3100 * ms
	}, results.Invalid, "client-delays", nil, "client-bound: its process could not run for 10.3% of the phase"},
	{"it was stopped for longer than the phase", func(c *results.Cell) {
		c.Evidence.Hiccups.Total = 310_000 * ms
	}, results.Invalid, "client-delays", nil, "could not run for 100% of the phase"},
	{"it was stopped, in a closed loop", func(c *results.Cell) {
		c.Arrivals, c.Evidence.Hiccups.Total = "closed", 3100*ms
	}, results.Invalid, "client-delays", nil, "its process could not run"},
	{"operations were dropped because of it", func(c *results.Cell) {
		c.Evidence.Delays.Dropped, c.Offered.Dropped = 700, 700
	}, results.Invalid, "client-delays", nil, "1.15% of the operations were dropped because of its delays"},
	{"operations were dropped because of it, next to an engine", func(c *results.Cell) {
		c.Evidence.Delays.Dropped, c.Offered.Dropped, c.Evidence.SameMachine = 700, 700, true
	}, results.Overloaded, "dropped", codes{"shared-machine", "client-delay"}, "700 of 60000"},
	{"far more was dropped than because of it", func(c *results.Cell) {
		c.Evidence.Delays.Dropped, c.Offered.Dropped = 700, 700*int64(c.Client.Workers)+1
	}, results.Overloaded, "dropped", nil, "scheduled operations were never started"},
	{"making operations takes longer than running them", func(c *results.Cell) {
		c.Evidence.Queued, c.Evidence.Own, c.Evidence.Service = 30000, 50000*ms, 10000*ms
	}, results.Invalid, "client-busy", codes{"queued"}, "client saturated: busy workers spent 83% of their time on creating and recording"},
	{"the same in a closed loop", func(c *results.Cell) {
		c.Arrivals, c.Evidence.Own, c.Evidence.Service = "closed", 50000*ms, 10000*ms
	}, results.Invalid, "client-busy", nil, "creating and recording"},
	{"the same, in a moment that tells nothing", func(c *results.Cell) {
		c.Arrivals, c.Evidence.Own, c.Evidence.Service, c.Evidence.Started = "closed", 50000*ms, 10000*ms, 99
	}, results.OK, "", nil, ""},
	{
		"processors full, engine elsewhere", func(c *results.Cell) { c.Client.CPUShare = 0.9 },
		results.Invalid, "client-cpu", nil, "client saturated: mailbench used 90% of the processors that it may use (2)",
	},
	{"processors nearly full, engine elsewhere", func(c *results.Cell) { c.Client.CPUShare = 0.89 }, results.OK, "", nil, ""},
	{"a pool too small for the store", func(c *results.Cell) {
		c.Evidence.Queued, c.Evidence.Crowded = 6000, 660
	}, results.Invalid, "few-workers", codes{"queued"}, "too few workers: 1.1% of the operations waited for one of the 32 workers while calls took no longer than usual; raise --concurrency"},
	{
		"a pool that waits for an engine that stopped", func(c *results.Cell) {
			c.Evidence.Queued, c.Evidence.Crowded = 6000, 6000
			c.Offered.Achieved, c.Offered.LastStart = 1000, 60
			op(c, func(o *results.Op) {
				o.Count, o.Failed, o.Errors = 59000, 1000, []results.ErrorCount{{Text: "connection refused", Count: 1000}}
			})
		}, results.Overloaded, "behind",
		codes{"queued", "failed"},
		"achieved 1000/s of the offered 2000/s; 1000 of 60000 operations failed or have an unknown outcome: open: connection refused",
	},
	{
		"a pool that waits for an engine that stopped, and drops", func(c *results.Cell) {
			c.Evidence.Queued, c.Evidence.Crowded, c.Offered.Dropped = 6000, 6000, 20000
			op(c, func(o *results.Op) {
				o.Count, o.Unknown, o.Dropped, o.Errors = 39000, 1000, 20000, []results.ErrorCount{{Text: "time-out", Count: 1000}}
			})
		}, results.Overloaded, "dropped",
		codes{"queued", "dropped", "unknown"},
		"(offered 2000/s, achieved 2000/s); 1000 of 40000 operations failed or have an unknown outcome: open: time-out",
	},
	{"a pool that a few operations found busy", func(c *results.Cell) {
		c.Evidence.Queued, c.Evidence.Crowded = 590, 590
	}, results.OK, "", nil, ""},
	{"a pool that may still grow", func(c *results.Cell) {
		c.Evidence.Queued, c.Evidence.Crowded, c.Evidence.Cap = 6000, 6000, 512
	}, results.OK, "", codes{"queued"}, "response times contain the wait"},
	{"an engine beside it with processors to spare", func(c *results.Cell) {
		e := c.Evidence
		e.SameMachine, c.Client.CPUShare, c.Client.OthersShare = true, 0.2, 0.3
		e.Queued, e.Crowded = 50000, 40000
	}, results.Invalid, "few-workers", codes{"shared-machine", "queued"}, "raise --concurrency"},
	{"a pool too small for a remote engine, on a busy machine", func(c *results.Cell) {
		c.Client.OthersShare, c.Evidence.Queued, c.Evidence.Crowded = 0.65, 50000, 40000
	}, results.Invalid, "few-workers", codes{"queued"}, "raise --concurrency"},
	{"an embedded engine that has no processors left", func(c *results.Cell) {
		e := c.Evidence
		e.InProcess, c.Client.CPUShare = true, 0.9
		e.Queued, e.Crowded = 50000, 40000
	}, results.Overloaded, "workers-busy", codes{"shared-machine", "queued"}, "83.3% of the operations waited for one of the 32 workers, and the processors are full; more workers would not help: lower the rate"},
	{
		"a store at its limit", func(c *results.Cell) { c.Evidence.Queued, c.Evidence.Crowded = 50000, 600 },
		results.OK, "",
		codes{"queued"},
		"83% of the operations found all 32 workers busy, and their response times contain the wait",
	},
	{"an embedded engine on a busy machine", func(c *results.Cell) {
		c.Evidence.InProcess, c.Client.CPUShare, c.Client.OthersShare = true, 0.4, 0.5
		c.Evidence.Hiccups.Total = 3100 * ms
	}, results.OK, "", codes{"shared-machine", "client-delay"}, "its process could not run for 10.3% of the phase"},
	{"it was stopped next to the engine", func(c *results.Cell) {
		c.Evidence.SameMachine, c.Evidence.Hiccups.Total = true, 3100*ms
	}, results.OK, "", codes{"shared-machine", "client-delay"}, "its process could not run for 10.3% of the phase"},

	// The engine was: its slowness is the result, and no fault of the run.
	{"a slow engine", func(c *results.Cell) {
		e := c.Evidence
		e.Queued, e.Service = 59000, 900_000*ms
	}, results.OK, "", codes{"queued"}, "queued: 98% of the operations found all 32 workers busy"},
	{"an engine that was slow from the first operation", func(c *results.Cell) {
		e := c.Evidence
		e.Queued, e.Service = 59990, 900_000*ms
	}, results.OK, "", codes{"queued"}, ""},
	{"a queue of less than half of the operations", func(c *results.Cell) {
		c.Evidence.Queued = 29000
	}, results.OK, "", codes{"queued"}, ""},
	{"a queue that does not grow", func(c *results.Cell) {
		e := c.Evidence
		e.Queued, e.Service = 50000, 900_000*ms
	}, results.OK, "", codes{"queued"}, ""},
	{"catching up with an instant engine after a pause", func(c *results.Cell) {
		c.Evidence.Queued, c.Evidence.Own, c.Evidence.Service = 6000, 60*ms, 20*ms
	}, results.OK, "", codes{"queued"}, ""},
	{"an embedded engine that takes all processors", func(c *results.Cell) {
		e := c.Evidence
		e.InProcess, c.Client.CPUShare = true, 0.99
		lateBy(c, 50)
		e.Queued, e.Service = 20000, 900_000*ms
	}, results.Overloaded, "workers-busy", codes{"shared-machine", "client-delay", "queued"}, ""},
	{"an embedded engine that compacts in bursts", func(c *results.Cell) {
		c.Evidence.InProcess, c.Client.CPUShare = true, 0.5
		c.Evidence.Hiccups.Total = 3100 * ms
	}, results.OK, "", codes{"shared-machine", "client-delay"}, "its process could not run"},
	{"an engine beside it that takes the processors", func(c *results.Cell) {
		c.Evidence.SameMachine, c.Client.CPUShare, c.Client.OthersShare = true, 0.3, 0.6
		lateBy(c, 50)
	}, results.OK, "", codes{"shared-machine", "client-delay"}, ""},
	{"an engine beside it that is slow until it is warm, on full processors", func(c *results.Cell) {
		e := c.Evidence
		e.SameMachine, c.Client.CPUShare, c.Client.OthersShare = true, 0.2, 0.75
		busyEngine(c, 0.75)
		e.Queued, e.Service = 50000, 900_000*ms
	}, results.Overloaded, "workers-busy", codes{"shared-machine", "queued"}, ""},
	{"an engine beside it, and strangers who fill the processors", func(c *results.Cell) {
		e := c.Evidence
		e.SameMachine, c.Client.CPUShare, c.Client.OthersShare = true, 0.2, 0.75
		busyEngine(c, 0.1)
		e.Queued, e.Service = 50000, 900_000*ms
	}, results.OK, "", codes{"shared-machine", "queued"}, ""},
	{"strangers who fill the processors of an embedded engine", func(c *results.Cell) {
		e := c.Evidence
		e.InProcess, c.Client.CPUShare, c.Client.OthersShare = true, 0.1, 0.86
		e.Queued, e.Service = 20000, 900_000*ms
	}, results.OK, "", codes{"shared-machine", "queued"}, ""},

	// The rate was beyond what could be done.
	{"achieved just enough", func(c *results.Cell) { c.Offered.Achieved = 1980 }, results.OK, "", nil, ""},
	{"achieved too little, by a pause at the end of a short phase", func(c *results.Cell) {
		c.Offered.Achieved, c.Offered.LastStart = 1900, c.Offered.Span+0.2
	}, results.OK, "", nil, ""},
	{"behind by more than a pause", func(c *results.Cell) {
		c.Offered.Achieved, c.Offered.LastStart = 1900, c.Offered.Span+1.1
	}, results.Overloaded, "behind", nil, ""},
	{"achieved too little, by a longer pause, but half started in time", func(c *results.Cell) {
		c.Offered.Achieved, c.Offered.LastStart = 1979, c.Offered.Span+0.6
	}, results.OK, "", nil, ""},
	{
		"achieved too little, and half waited", func(c *results.Cell) {
			c.Offered.Achieved, c.Offered.LastStart, c.AllOps.Wait.P50 = 1979, c.Offered.Span+0.6, 10*ms
		},
		results.Overloaded, "behind", nil, "achieved 1979/s of the offered 2000/s",
	},
	{
		"achieved too little of a rate below 100", func(c *results.Cell) {
			c.Offered.Rate, c.Offered.Achieved, c.Offered.LastStart = 12, 3.141, 2*c.Offered.Span+1
		},
		results.Overloaded, "behind", nil, "achieved 3.14/s of the offered 12/s",
	},
	{"stopped with much that was due and not started", func(c *results.Cell) {
		c.Offered.Achieved = 500
	}, results.Overloaded, "behind", nil, "achieved 500/s of the offered 2000/s"},
	{"stopped during a short pause", func(c *results.Cell) {
		c.Offered.Span, c.Offered.LastStart, c.Offered.Achieved = 5, 4.8, 1920
	}, results.OK, "", nil, ""},
	{"a closed loop offers no rate", func(c *results.Cell) { c.Arrivals, c.Offered.Achieved = "closed", 0 }, results.OK, "", nil, ""},
	{"one operation of many dropped", func(c *results.Cell) {
		c.Offered.Due, c.Offered.Skipped, c.Offered.NoTarget, c.Offered.Dropped = 60111, 100, 10, 1
		op(c, func(o *results.Op) { o.Dropped = 1 })
	}, results.Overloaded, "dropped", codes{"lighter-load", "dropped"}, "1 of 60001 scheduled operations were never started (offered 2000/s, achieved 2000/s); lower the rate, or raise --max-wait"},

	// There are no metrics.
	{"a population that the model cannot hold", func(c *results.Cell) {
		c.Evidence = &results.Evidence{NotOffered: "an account needs an inbox"}
		c.Ops = map[string]results.Op{"open": {Support: results.NotOffered}}
	}, results.Empty, "not-offered", nil, "the model cannot store the workload's dataset: an account needs an inbox"},
	{
		"a mix that the model does not offer", func(c *results.Cell) { c.Ops["open"] = results.Op{Support: results.NotOffered} },
		results.Empty, "nothing-measured", nil, "nothing was measured: the model supports no operation of the mix",
	},
	{
		"nothing to work on", func(c *results.Cell) { c.Ops["open"] = results.Op{NoTarget: 60000} },
		results.Empty, "nothing-measured",
		codes{"no-target"},
		"nothing was measured: there was no existing message to work on",
	},
	{
		"nothing due", func(c *results.Cell) { c.Ops["open"] = results.Op{} },
		results.Empty, "nothing-measured", nil, "nothing was measured",
	},
	{
		"nothing found", func(c *results.Cell) { c.Ops["open"] = results.Op{NotFound: 60000} },
		results.Empty, "nothing-measured",
		codes{"not-found"},
		"nothing was measured",
	},
	{
		"nothing small enough", func(c *results.Cell) { c.Ops["open"] = results.Op{TooLarge: 60000} },
		results.Empty, "nothing-measured",
		codes{"too-large"},
		"nothing was measured",
	},
	{"nothing succeeded", func(c *results.Cell) {
		c.Ops["open"] = results.Op{Failed: 7, NotFound: 3, Errors: []results.ErrorCount{{Text: "connection refused", Count: 6}, {Text: "other", Count: 1}}}
		c.Ops["flag"] = results.Op{NotFound: 3}
	}, results.Failed, "nothing-succeeded", codes{"failed", "not-found"}, "no open succeeded: connection refused"},
	{"another operation succeeded", func(c *results.Cell) {
		c.Ops["flag"] = results.Op{Failed: 7, Errors: []results.ErrorCount{{Text: "connection refused", Count: 7}}}
	}, results.OK, "", codes{"failed"}, "failed"},
	{"most failed", func(c *results.Cell) {
		c.Ops["open"] = results.Op{Count: 18, Failed: 8, Unknown: 11, Errors: []results.ErrorCount{{Text: "connection refused", Count: 19}}}
	}, results.Failed, "most-failed", codes{"failed", "unknown", "few-operations"}, "19 of 37 operations failed or have an unknown outcome: open: connection refused"},
	{"half failed", func(c *results.Cell) {
		c.Ops["open"] = results.Op{Count: 18, Failed: 8, Unknown: 10}
	}, results.OK, "", codes{"failed", "unknown", "few-operations"}, ""},
	{"an error of closing", func(c *results.Cell) { c.Error = "close: disk full" }, results.Failed, "error", nil, "close: disk full"},
	{"not begun", func(c *results.Cell) {
		*c = results.Cell{Key: c.Key, Kind: c.Kind, Error: "no memory", Ops: map[string]results.Op{}}
	}, results.Failed, "error", nil, "no memory"},
	{"not opened", func(c *results.Cell) {
		*c = results.Cell{Key: c.Key, Kind: results.KindStep, Error: "open: no such host"}
	}, results.Failed, "error", nil, "open: no such host"},

	// A cell has its worst verdict.
	{"invalid is worse than overloaded", func(c *results.Cell) {
		c.Client.CPUShare, c.Offered.Dropped = 0.95, 30000
		op(c, func(o *results.Op) { o.Dropped = 30000 })
	}, results.Invalid, "client-cpu", codes{"dropped"}, ""},
	{"empty is worse than invalid and overloaded", func(c *results.Cell) {
		c.Client.CPUShare, c.Offered.Dropped, c.Offered.Achieved = 0.95, 60000, 0
		c.Ops["open"] = results.Op{Dropped: 60000}
	}, results.Empty, "nothing-measured", codes{"dropped"}, "nothing was measured"},
	{"failed is worse than empty", func(c *results.Cell) {
		c.Evidence = &results.Evidence{NotOffered: "an account needs an inbox"}
		c.Error = "interrupted"
	}, results.Failed, "error", nil, "interrupted"},
}

// doubts are cases whose values are valid, but have warnings.
var doubts = []judged{
	{
		"drift", func(c *results.Cell) {
			c.Evidence.Windows = []float64{1e6, 1.05e6, 1.11e6, 1.15e6, 1.19e6, 1.26e6, 1.31e6, 1.34e6, 1.41e6, 1.5e6}
		},
		results.OK, "",
		codes{"drifting"},
		"drifting: the service time went from 1.01ms to 1.49ms (+48%; 99% interval +37% to +65%)",
	},
	{
		"it became faster", func(c *results.Cell) {
			c.Evidence.Windows = []float64{150, 143, 140, 130, 127, 121, 113, 109, 104, 100}
		},
		results.OK, "",
		codes{"drifting"},
		"",
	},
	{"a drift of more than a tenth", func(c *results.Cell) {
		c.Evidence.Windows = []float64{1000, 1012, 1023, 1037, 1047, 1058, 1072, 1082, 1096, 1109}
	}, results.OK, "", codes{"drifting"}, "(+11%; 99% interval"},
	{"a drift of less than a tenth", func(c *results.Cell) {
		c.Evidence.Windows = []float64{1000, 1011, 1019, 1032, 1040, 1049, 1061, 1069, 1080, 1091}
	}, results.OK, "", nil, ""},
	{"noise", func(c *results.Cell) { c.Evidence.Windows = []float64{100, 130, 90, 145, 80, 120, 150, 95, 140, 110} }, results.OK, "", nil, ""},
	{"one slow window", func(c *results.Cell) { c.Evidence.Windows = []float64{100, 100, 100, 100, 100, 100, 100, 100, 150} }, results.OK, "", nil, ""},
	{
		"too few windows to tell", func(c *results.Cell) { c.Evidence.Windows = []float64{100, 110, 120, 130, 140, 150, 160} },
		results.OK, "",
		codes{"short"},
		"short: 7 of the 8 windows needed to detect a trend",
	},
	{"no window at all", func(c *results.Cell) { c.Evidence.Windows = nil }, results.OK, "", codes{"short"}, "short: 0 of the 8 windows"},
	{"eight windows", func(c *results.Cell) { c.Evidence.Windows = c.Evidence.Windows[:8] }, results.OK, "", nil, ""},
	{"not settled", func(c *results.Cell) { c.Evidence.Settled = false }, results.OK, "", codes{"not-settled"}, "not settled: compaction was still running"},
	{"not warm", func(c *results.Cell) { c.Evidence.Warm = false }, results.OK, "", codes{"not-warm"}, "not warm: service times were not steady at the end of the warm-up"},
	{
		"debt", func(c *results.Cell) { c.Engines.CompactionDebt = 1 << 30 },
		results.OK, "",
		codes{"debt-grows"},
		"debt grows: the compaction debt grew by 1.07GB",
	},
	{"debt that was there before", func(c *results.Cell) { c.Before.CompactionDebt, c.Engines.CompactionDebt = 1<<30, 1<<30 }, results.OK, "", nil, ""},
	{"debt that is little beside the data", func(c *results.Cell) { c.Engines.CompactionDebt = 100 << 20 }, results.OK, "", nil, ""},
	{"debt of one memtable", func(c *results.Cell) {
		c.Engines.CompactionDebt, c.Engines.DiskBytes, c.Engines.CacheBytes = 60<<20, 100<<20, 0
	}, results.OK, "", nil, ""},
	{"debt not known at the end", func(c *results.Cell) { c.Engines.CompactionDebt = -1 }, results.OK, "", nil, ""},
	{"debt not known at the beginning", func(c *results.Cell) { c.Before.CompactionDebt, c.Engines.CompactionDebt = -1, 1<<30 }, results.OK, "", nil, ""},
	{"in memtables", func(c *results.Cell) { c.Engines.DiskBytes = 0 }, results.OK, "", codes{"in-memory"}, "in memory: 0B of the data is on disk"},
	{"in memtables, next to an unknown cache", func(c *results.Cell) {
		c.Engines.DiskBytes, c.Engines.CacheBytes = 0, -1
	}, results.OK, "", codes{"in-memory"}, "the rest in the log and memtables, so few reads reach the disk"},
	{"an engine that keeps nothing", func(c *results.Cell) {
		c.Engines.DiskBytes, c.Evidence.Discards = 0, true
	}, results.OK, "", nil, ""},
	{"cached, but for the log", func(c *results.Cell) {
		c.Engines.DiskBytes, c.Engines.LogBytes = 3<<29, 5<<28
	}, results.OK, "", codes{"in-memory"}, "in memory: 268MB of the data is on disk, the rest in the log and memtables, and the block cache has 1.07GB, so few reads reach the disk; use a larger population"},
	{"a log that has grown since files were counted", func(c *results.Cell) {
		c.Engines.DiskBytes, c.Engines.LogBytes = 1<<20, 1<<20+1
	}, results.OK, "", codes{"in-memory"}, "in memory: 0B of the data is on disk"},
	{"half in the log", func(c *results.Cell) { c.Engines.LogBytes = 5 << 29 }, results.OK, "", codes{"in-memory"}, "in memory: 1.61GB of the data is on disk"},
	{"cached", func(c *results.Cell) { c.Engines.DiskBytes = 1 << 28 }, results.OK, "", codes{"in-memory"}, "in memory: 268MB of the data is on disk, the rest in the log and memtables, and the block cache has 1.07GB, so few reads reach the disk; use a larger population"},
	{"nodes that cannot be reached", func(c *results.Cell) {
		c.Engines.Missing = []string{"10.0.0.2:9042", "10.0.0.3:9042"}
	}, results.OK, "", codes{"missing-nodes"}, "nodes are missing: 10.0.0.2:9042, 10.0.0.3:9042 could not be reached"},
	{"size of the cache not known", func(c *results.Cell) { c.Engines.CacheBytes = -1 }, results.OK, "", nil, ""},
	{"size of the data not known", func(c *results.Cell) { c.Engines.DiskBytes = -1 }, results.OK, "", nil, ""},
	{
		"few samples", func(c *results.Cell) { c.Ops["flag"] = results.Op{Count: 9999} },
		results.OK, "",
		codes{"few-operations"},
		"p99.9 is trustworthy from 10,000 operations on; too few of: flag",
	},
	{"failures", func(c *results.Cell) { op(c, func(o *results.Op) { o.Failed = 3 }) }, results.OK, "", codes{"failed"}, "failed: 3 × open"},
	{"timeouts", func(c *results.Cell) { op(c, func(o *results.Op) { o.Unknown = 3 }) }, results.OK, "", codes{"unknown"}, "outcome unknown: 3 × open"},
	{
		"large messages", func(c *results.Cell) { op(c, func(o *results.Op) { o.TooLarge = 3 }) },
		results.OK, "",
		codes{"too-large"},
		"too large for the engine: 3 × open",
	},
	{"absent messages of two operations", func(c *results.Cell) {
		op(c, func(o *results.Op) { o.NotFound = 3 })
		c.Ops["flag"] = results.Op{Count: 20000, NotFound: 4}
	}, results.OK, "", codes{"not-found"}, "not found: 4 × flag, 3 × open"},
	{
		"no target", func(c *results.Cell) { op(c, func(o *results.Op) { o.NoTarget = 3 }) },
		results.OK, "",
		codes{"no-target"},
		"left out: no existing message to work on: 3 × open",
	},
	{
		"clamped", func(c *results.Cell) { op(c, func(o *results.Op) { o.Clamped = 3 }) },
		results.OK, "",
		codes{"clamped"},
		"times beyond 100 s, counted as that: 3 × open",
	},
	{
		"an engine in this process", func(c *results.Cell) { c.Evidence.InProcess = true },
		results.OK, "",
		codes{"shared-machine"},
		"shared machine: engine and client run in one process",
	},
	{
		"operations that the model lacks", func(c *results.Cell) { c.Offered.Skipped = 6000 },
		results.OK, "",
		codes{"lighter-load"},
		"10% of the operations were skipped, because the model does not support",
	},
	{
		"operations that waited for the memory of large messages", func(c *results.Cell) { c.Evidence.LargeWaits = 6000 },
		results.OK, "",
		codes{"large-waits"},
		"large messages: 10% of the operations waited for memory that other operations on large messages had, so fewer ran concurrently than there are clients; set GOMEMLIMIT=2GiB to allow more",
	},
	{
		"few that waited for it", func(c *results.Cell) { c.Evidence.LargeWaits = 500 },
		results.OK, "",
		nil,
		"",
	},
	{
		"a point of a sweep that lost messages", func(c *results.Cell) { c.Evidence.Held = &results.Held{Said: 100, Before: 100, After: 89} },
		results.OK, "",
		codes{"other-size"},
		"other size: the phase began with 100 messages and ended with 89, and the workload says 100",
	},
	{
		"a point of a sweep that began with more", func(c *results.Cell) { c.Evidence.Held = &results.Held{Said: 100, Before: 111, After: 100} },
		results.OK, "",
		codes{"other-size"},
		"",
	},
	{
		"a point of a sweep that is as large as it says", func(c *results.Cell) { c.Evidence.Held = &results.Held{Said: 100, Before: 110, After: 90} },
		results.OK, "",
		nil,
		"",
	},
	{
		"an engine beside this process", func(c *results.Cell) { c.Evidence.SameMachine = true },
		results.OK, "",
		codes{"shared-machine"},
		"shared machine: engine and client run on one machine",
	},

	// A load runs as fast as it can, and the phases without operations have no metrics.
	{"a load", func(c *results.Cell) {
		c.Kind, c.Client.CPUShare, c.Evidence = results.KindLoad, 1, &results.Evidence{Messages: 5000}
		c.Ops = map[string]results.Op{"deliver": {Count: 5000}}
	}, results.OK, "", nil, ""},
	{"a load with messages missing", func(c *results.Cell) {
		c.Kind, c.Evidence = results.KindLoad, &results.Evidence{Messages: 5000, Missed: 2}
		c.Ops = map[string]results.Op{"deliver": {Count: 4998, TooLarge: 2}}
	}, results.OK, "", codes{"incomplete", "too-large"}, "too large for the engine: 2 × deliver"},
	{"a load that was interrupted", func(c *results.Cell) {
		c.Kind, c.Evidence = results.KindLoad, &results.Evidence{Messages: 5000, Missed: 2}
		c.Ops = map[string]results.Op{"deliver": {Count: 4997}}
	}, results.Failed, "unfinished", codes{"incomplete"}, "the load was interrupted after 4999 of 5000 messages"},
	{"cold", func(c *results.Cell) { c.Kind, c.Evidence, c.Ops = results.KindCold, &results.Evidence{}, nil }, results.OK, "", nil, ""},
	{"not cold", func(c *results.Cell) {
		c.Kind, c.Evidence, c.Ops = results.KindCold, &results.Evidence{NotCold: "cassandra cannot drop its caches"}, nil
	}, results.OK, "", codes{"not-cold"}, "not cold: cassandra cannot drop its caches"},
	{"settled", func(c *results.Cell) { c.Kind, c.Evidence, c.Ops = results.KindSettle, nil, nil }, results.OK, "", nil, ""},
	{"a warm-up", func(c *results.Cell) { c.Kind, c.Client.CPUShare, c.Evidence.Warm = results.KindWarmup, 1, false }, results.OK, "", nil, ""},
}

// cell is the case's cell.
func (c *judged) cell() *results.Cell {
	cell := healthy()
	c.change(cell)
	return cell
}

func TestJudge(t *testing.T) {
	for _, c := range slices.Concat(verdicts, doubts) {
		t.Run(c.name, func(t *testing.T) {
			got := again(c.cell())
			text := ""
			if n := len(got.Doubts); n > 0 {
				text = got.Doubts[n-1].String()
			}
			var code results.Code
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

// found are the codes of warnings.
func found(doubts []results.Doubt) codes {
	var found codes
	for _, d := range doubts {
		found = append(found, d.Code)
	}
	return found
}
