package results

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/workloads/latency"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file of testdata, and writes the new one next to
// it where they differ.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if !bytes.Equal(got, want) {
		if err := os.WriteFile(name+".new", got, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Errorf("differs from %s: compare it with %s.new, and run go test -update if that is right", name, name)
	}
}

// hostile is a text that mail and file systems can bring into a result.
const hostile = "\x1b[2J\x07<script>alert(1)</script>\u202eevil\u009b31m & \"quoted\""

// digest looks like a SHA-256.
var digest = strings.Repeat("0123456789abcdef", 4)

// troubled is the index of the sample's cell that has everything.
const troubled = 4

// unscheduled are operations without scheduled times: their response times are their service times.
func unscheduled(ops map[string]Op) map[string]Op {
	ops = maps.Clone(ops)
	for name, o := range ops {
		o.Response = o.Service
		ops[name] = o
	}
	return ops
}

// sample is a run in which everything happens that a report must show.
func sample() *Run {
	lat := func(ns int64) Latency {
		return Latency{P50: ns, P90: 2 * ns, P99: 5 * ns, P999: 20 * ns, Max: 31 * ns, Mean: 1.5 * float64(ns)}
	}
	op := func(count, ns int64, support Support) Op {
		return Op{
			Count: count, Support: support, Rate: float64(count) / 30, Times: Times{Response: lat(ns + 40_000), Service: lat(ns), Wait: lat(40_000)},
			Patterns: []PatternRequests{{Name: "page", Requests: 1.5}, {Name: "message_by_scan", Requests: 0.5}},
			Store:    StoreCost{Requests: 2, RowsRead: 25, RowsWritten: 0.5, BytesRead: 12_345, BytesWritten: 67},
		}
	}
	list, open := op(15000, 210_000, Native), op(7000, 95_000, EmulatedOp)
	list.Missing = "from, subject"
	examined, traced := 26.5, 9000.0
	list.Store.RowsScanned, list.Store.ScannedDeviation, list.Store.Retries = &examined, 1.5, 0.25
	list.Store.Throttled, list.Store.Backoff = 0.125, 5_000_000
	open.Store.RowsScanned, open.Store.Traced = &traced, 5
	open.Fallback = "message_by_scan"
	open.NotFound, open.Failed, open.Unknown, open.Dropped, open.TooLarge, open.Clamped = 3, 2, 1, 40, 5, 6
	open.Due = &Latency{P50: 136_000, P90: 300_000, P99: 900_000_000, P999: NeverEnded, Max: NeverEnded, Mean: NeverEnded}
	open.Errors = []ErrorCount{{"read: " + hostile, 7}, {"timed out", 3}, {OtherErrors, 1}}
	none := Op{Support: NotOffered}
	shared := Doubt{Code: "shared-machine", Text: "shared machine: engine and client run in one process"}
	late := func(percent string) Doubt {
		return Doubt{Code: "late-starts", Text: "late starts: " + percent + " of operations"}
	}
	engine := func(debt int64) *EngineInfo {
		return &EngineInfo{
			Version: "pebble 2", DiskBytes: 120_000_000, CacheBytes: 64_000_000, CompactionDebt: debt, WrittenBytes: 300_000_000, ReadBytes: 80_000_000,
			Tombstones: -1, Settings: map[string]string{
				"compression": "zstd", "consistency": "QUORUM", "replication": "3", "server_key_cache_size": "1GB", "durability": "process",
			},
		}
	}
	invalid := Cell{
		Key: Key{Model: "james", Engine: "embedded", Phase: "measure", Trial: 1, Segment: 1}, Kind: KindMeasure,
		Started: "2026-11-21T05:28:31.5Z", Ended: "2026-11-21T05:29:01.512345678Z",
		Arrivals: "poisson", Rate: 500, Durability: "process", Verdict: Invalid,
		Reason: &Reason{Code: "client-delays", Text: "client late: without its own delays the p99 would be 675µs and not 1.3ms of all operations"},
		Doubts: []Doubt{
			shared, late("12.00%"),
			// These three once had one head, and two of them were lost.
			{Code: "drifting", Text: "not steady: the service time went from 1ms in the first half to 2ms in the second"},
			{Code: "not-warm", Text: "not steady: the warm-up had not come to rest"},
			{Code: "debt-grows", Text: "not steady: compaction debt grew by 700MB"},
			{Code: "dropped", Text: "dropped, due but never started", Ops: []OpCount{{"open", 40}, {"purge", 7}}},
		},
		Seconds: 30.012345678, Ops: map[string]Op{"list": list, "open": open, "seen": none, "subscribe": none, "purge": {Support: NotObserved, Dropped: 7}},
		Offered: &Offered{Due: 15300, Skipped: 120, NoTarget: 33, Dropped: 47, Span: 30, LastStart: 30.01, Rate: 504.9, Achieved: 498.2},
		Before:  engine(0), Engines: engine(700_000_000),
		Client: &ClientInfo{
			Workers: 32, Processors: 2, CPUSeconds: 21.5, CPUShare: 0.36, OthersShare: 0.11,
		},
		Evidence: &Evidence{
			InProcess: true, Settled: true, Lateness: 2_000_000, Started: 15100, Queued: 30, Own: 900_000_000, Service: 8_000_000_000,
			Windows: []float64{1e6, 1.1e6, 2e6},
		},
	}
	for i := range 12 { // 5 s of trouble, no operation ok in 4 of them
		in := Interval{At: float64(i), Seconds: 1, OK: 500 - int64(10*i), P50: 400_000, P99: int64(1+i) * 1_000_000, Max: int64(1+i) * 3_000_000}
		switch {
		case i == 4:
			in.OK, in.Unknown, in.Max = 60, 32, 2_000_000_000
		case i > 4 && i < 9:
			in = Interval{At: float64(i), Seconds: 1, Failed: int64(100 * i), Dropped: 3}
		}
		invalid.Timeline = append(invalid.Timeline, in)
	}
	invalid.Gap = &Gap{At: 4.1, Seconds: 4.9}
	good := invalid
	good.Model, good.Verdict, good.Reason, good.Gap = "conversation", OK, nil, &Gap{At: 3, Seconds: 0.1}
	good.Timeline = []Interval{{Seconds: 10, OK: 5000, P99: 900_000, Max: 1_000_000}, {At: 10, Seconds: 10, OK: 5010, P99: 910_000, Max: 1_100_000}, {At: 20, Seconds: 10, OK: 4990, P99: 920_000, Max: 1_200_000}}
	good.Doubts = []Doubt{shared, late("0.20%")}
	good.Offered = &Offered{Due: 15000, Span: 30, LastStart: 29.98, Rate: 500, Achieved: 500}
	good.Ops = map[string]Op{"list": op(15010, 480_000, Native), "open": op(7010, 1_250_000, Native), "seen": op(900, 3_000, Native), "subscribe": none, "purge": none}
	good.AllOps = &Times{Response: lat(600_000), Service: lat(560_000), Wait: lat(40_000), Due: &Latency{P50: 600_000, P999: NeverEnded}}
	good.Objectives = []Attained{
		{Objective: "list.p99", Bound: "<20ms", Verdict: Met, Value: 2_600_000, Shown: "2.60ms"},
		{Objective: "purge.p99", Bound: "<1s", Verdict: NoSuch, Code: "no-operation", Text: "the model does not support it"},
	}
	synced := good
	synced.Model, synced.Durability, synced.Doubts = "oracle", "power", []Doubt{}
	synced.Engines = &EngineInfo{DiskBytes: -1, CacheBytes: -1, CompactionDebt: -1, WrittenBytes: -1, ReadBytes: -1, Tombstones: -1}
	overloaded := synced
	overloaded.Model, overloaded.Verdict, overloaded.Reason = "datastax", Overloaded, &Reason{Code: "behind", Text: "achieved 312/s of the offered 500/s"}
	overloaded.Objectives = []Attained{
		{Objective: "list.p99", Bound: "<20ms", Verdict: Missed, Code: "beyond-bound", Text: "it is dropped", Value: NeverEnded, Shown: "dropped"},
		{Objective: "errors", Bound: "<0.01%", Verdict: Unclear, Code: "too-few", Text: "needs 29956 operations, had 15000"},
	}
	overloaded.Offered = &Offered{Due: 15000, Span: 30, LastStart: 48, Rate: 500, Achieved: 312.5}
	empty := synced
	empty.Model, empty.Verdict, empty.Reason = "elasticinbox", Empty, &Reason{Code: "not-offered", Text: "the model cannot store the workload's dataset: folders within folders"}
	empty.Ops, empty.Timeline, empty.Gap, empty.Offered = map[string]Op{"list": none, "open": none}, nil, nil, nil
	empty.AllOps, empty.Objectives = nil, nil
	empty.Evidence = &Evidence{NotOffered: "folders within folders"}
	closed := good
	closed.AllOps, closed.Objectives = nil, nil
	closed.Phase, closed.Arrivals, closed.Rate, closed.Clients, closed.Ops = "closed", "closed", 0, 16, unscheduled(good.Ops)
	failed := closed
	failed.Model, failed.Verdict, failed.Reason, failed.Ops = "james", Failed, &Reason{"error", "open embedded: " + hostile}, map[string]Op{}
	failed.Error, failed.Evidence, failed.Offered = failed.Reason.Text, nil, nil
	load := good
	load.Phase, load.Kind, load.Arrivals, load.Rate, load.Ops = "load", KindLoad, "none", 0, unscheduled(map[string]Op{"deliver": op(20000, 900_000, Native)})
	load.AllOps, load.Objectives = nil, nil
	load.Offered, load.Evidence = nil, &Evidence{InProcess: true, Missed: 2, Messages: 20002}
	load.Doubts = []Doubt{{Code: "incomplete", Text: "incomplete: 2 of 20002 messages of the load could not be delivered"}}
	settle := load
	settle.Phase, settle.Kind, settle.Ops, settle.Doubts, settle.Evidence = "settle", KindSettle, map[string]Op{}, []Doubt{}, nil
	cold := settle
	cold.Phase, cold.Kind, cold.Evidence = "drop-caches", KindCold, &Evidence{NotCold: "hbase cannot drop its caches"}
	cold.Doubts = []Doubt{{Code: "not-cold", Text: "not cold: embedded cannot drop its caches"}}
	warmup := good
	warmup.Objectives = nil
	warmup.Phase, warmup.Kind, warmup.Doubts = "warm-up", KindWarmup, []Doubt{}
	broken := settle
	broken.Phase, broken.Kind = "broken", KindInterrupt
	broken.Interrupted = []Interrupted{
		{Op: "move", Messages: 2, Writes: 10, Places: 9, None: 1, Some: 2, All: 3, Twice: 2, Lost: 1, Dangling: 8, Drift: 9},
		{Op: "delete", Messages: 2, Writes: 1},
	}
	step := Cell{
		Key: Key{Model: "oracle", Engine: "embedded", Phase: "open", Trial: 1, Segment: 1}, Kind: KindStep, Arrivals: "none", Durability: "default",
		Started: "2026-11-21T05:29:30Z", Ended: "2026-11-21T05:29:30Z", Verdict: Failed, Reason: &Reason{"error", "disk full"}, Error: "disk full",
		Doubts: []Doubt{}, Ops: map[string]Op{},
	}
	return &Run{
		Format: Format, Seed: 18446744073709551615, Started: "2026-11-21T05:27:59Z", Ended: "2026-11-21T05:29:32.4Z", Seconds: 93.4, Interrupted: true,
		Workload: Workload{Name: "sample", Text: "name: sample\nphases: []\n", SHA256: digest, Overrides: []string{"phases.measure.rate=500/s"}},
		Command:  []string{"mailbench", "run", "sample", "--set", "phases.measure.rate=500/s"},
		Machine:  Machine{ID: "c7b1", Name: "host1"}, Segment: Segment{Index: 1, Of: 1},
		Environment: Environment{
			Version: "v0.1.0", Commit: "0123abc", Dirty: true, Go: "go1.26.8", GOGC: "100", MaxProcs: 2, OS: "linux", Arch: "amd64",
			Kernel: "6.18", CPU: "AMD EPYC", CPUs: 2, Memory: 25_000_000_000, Disk: "ext4",
		},
		Config: Config{
			Models: []string{"conversation", "james"}, Engines: []string{"embedded"}, Trials: 1, Durability: "default", CacheBytes: 64_000_000,
			Workers: 32, MaxWait: 1.5, Audit: "after", MailFile: "in.mbox", MailLimit: 10_000_000_000, Data: true,
			FindMax: &FindMax{From: 500, Max: 1e6, Precision: 0.05, Step: 5},
		},
		Settings: map[string]string{"cassandra_consistency": "QUORUM"},
		Schemas:  []Schema{{Model: "james", Text: "tables: []\n", SHA256: digest}},
		Phases:   []Phase{{Name: "load", Kind: KindLoad}, {Name: "measure", Kind: KindMeasure, Digested: 10000, SHA256: digest}},
		Objectives: []Objective{
			{Op: "list", Figure: "p99", Sign: "<", Bound: 20e6, Text: "<20ms"},
			{Model: "datastax", Engine: "embedded", Phase: "measure", Figure: "errors", Sign: "<", Bound: 0.0001, Text: "<0.01%"},
		},
		Mail:  &MailInfo{File: "in" + hostile + ".mbox", Messages: 2500, Bytes: 12_000_000, Malformed: 4, SHA256: digest},
		Cells: []Cell{load, settle, cold, warmup, invalid, good, synced, overloaded, empty, closed, failed, broken, step},
		Searches: []Search{{
			Key: Key{Model: "conversation", Engine: "embedded", Phase: "measure", Trial: 1, Segment: 1}, Arrivals: "poisson", Default: true,
			Objectives: []Objective{{Figure: "errors", Sign: "<", Bound: 0.001, Text: "<0.1%"}}, From: 500, Max: 1e6, Precision: 0.05,
			Steps:      []SearchStep{{Rate: 1000, Verdict: StepBroken, Text: "behind", Refilled: 30, Cell: good}, {Rate: 500, Verdict: StepHeld, Cell: good}},
			Unfinished: "interrupted", Found: &SearchResult{Limit: LimitUnfinished, Rate: 500, Low: 500, Text: "at least 500/s: the search did not come to its end: interrupted"},
		}},
		Audits: []Audit{
			{Model: "james", Engine: "embedded", Trial: 1, Segment: 1, Delivered: 1000, Deleted: 90, Verified: 905, Lost: 4, Corrupt: 1, Audit: models.Audit{Notes: []string{"lost " + hostile}}},
			{Model: "conversation", Engine: "embedded", Trial: 1, Segment: 1, Delivered: 1000, Deleted: 90, Verified: 910, Purgeable: 12},
			{Model: "oracle", Engine: "embedded", Delivered: 1000, Verified: 990, Unknown: 10, Interrupted: true, Audit: models.Audit{Dangling: 2, CounterDrift: 17}},
		},
		Left: []string{"namespace q5k2 of james on cassandra could not be dropped (" + hostile + ")"},
	}
}

// sampleLog is a latency log of the sample's measured phases, in two intervals
// an operation.
func sampleLog(t *testing.T) *bytes.Buffer {
	t.Helper()
	start := time.UnixMilli(1_700_000_000_000)
	var buf bytes.Buffer
	l, err := latency.NewLog(&buf, start)
	if err != nil {
		t.Fatal(err)
	}
	for i, model := range []string{"james", "conversation"} {
		rec := latency.NewRecorder(2, 1, true)
		for interval := range 2 {
			for n := range 500 {
				d := time.Duration(1+interval*500+n) * time.Duration(1+i) * time.Microsecond
				rec.Worker(0).Record(0, latency.OK, false, 0, 0, d, 0)
				rec.Worker(0).Record(1, latency.OK, false, 0, 0, 10*d, 0)
			}
			at := start.Add(time.Duration(interval) * time.Second)
			key := Key{Model: model, Engine: "embedded", Phase: "measure", Trial: 1, Segment: 1}
			l.Write(key.Tag, []string{"list", "open"}, rec.Tick(), at, at.Add(time.Second))
		}
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	return &buf
}
