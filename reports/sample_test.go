package reports

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mailbench/mailbench/reports/latency"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file of testdata, and writes the new one beside
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

// hostile is what mail and file systems can bring into a result.
const hostile = "\x1b[2J\x07<script>alert(1)</script>\u202eevil\u009b31m & \"quoted\""

// sample is a run in which everything happens that a report must show.
func sample() *Run {
	lat := func(ns int64) Latency {
		return Latency{P50: ns, P90: 2 * ns, P99: 5 * ns, P999: 20 * ns, Max: 31 * ns, Mean: 1.5 * float64(ns)}
	}
	op := func(count, ns int64, support Support) Op {
		return Op{
			Count: count, Support: support, Rate: float64(count) / 30, Response: lat(ns + 40_000), Service: lat(ns), Lag: lat(40_000),
			Store: StoreCost{Calls: 2, RowsRead: 25, RowsWritten: 0.5, BytesRead: 12_345, BytesWritten: 67},
		}
	}
	list, open := op(15000, 210_000, Native), op(7000, 95_000, EmulatedOp)
	list.Missing = "from, subject"
	open.Fallback = "message_by_scan"
	open.NotFound, open.Failed, open.Unknown, open.Dropped, open.TooLarge, open.Clamped = 3, 2, 1, 40, 5, 6
	open.Errors = []ErrorCount{{"read: " + hostile, 7}, {"timed out", 3}, {OtherErrors, 1}}
	none := Op{Support: NotOffered}
	invalid := Cell{
		Model: "james", Engine: "embedded", Phase: "measure", Arrivals: "poisson", Rate: 500, Durability: "process",
		Verdict: Invalid, Reason: "client saturated: 12.0% of operations started late although a worker was free",
		Doubts:  []string{"shared machine: engine and client run in one process", "late starts: 12.00% of operations"},
		Seconds: 30, Ops: map[string]Op{"list": list, "open": open, "seen": none, "subscribe": none, "purge": {Support: NotObserved, Dropped: 7}},
		Engines: &EngineInfo{
			Version: "pebble 2", DiskBytes: 120_000_000, CacheBytes: 64_000_000, CompactionDebt: 0, WrittenBytes: 300_000_000, Tombstones: -1,
			Settings: map[string]string{
				"compression": "zstd", "consistency": "QUORUM", "replication": "3", "server_key_cache_size": "1GB", "durability": "process",
			},
		},
		Client: &ClientInfo{Workers: 32, CPUSeconds: 21.5, CPUShare: 0.36, GCPauses: 3_000_000, PeakRSS: 90_000_000},
	}
	for i := range 12 { // 5 s of trouble, no operation ok in 4 of them
		in := Interval{At: float64(i), Seconds: 1, OK: 500 - int64(10*i), P99: int64(1+i) * 1_000_000, Max: int64(1+i) * 3_000_000}
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
	good.Model, good.Verdict, good.Reason, good.Gap = "conversation", OK, "", &Gap{At: 3, Seconds: 0.1}
	good.Timeline = []Interval{{Seconds: 10, OK: 5000, P99: 900_000, Max: 1_000_000}, {At: 10, Seconds: 10, OK: 5010, P99: 910_000, Max: 1_100_000}, {At: 20, Seconds: 10, OK: 4990, P99: 920_000, Max: 1_200_000}}
	good.Doubts = []string{"shared machine: engine and client run in one process", "late starts: 0.20% of operations"}
	good.Ops = map[string]Op{"list": op(15010, 480_000, Native), "open": op(7010, 1_250_000, Native), "seen": op(900, 3_000, Native), "subscribe": none, "purge": none}
	synced := good
	synced.Model, synced.Durability, synced.Doubts = "oracle", "power", []string{}
	synced.Engines = &EngineInfo{DiskBytes: -1, CacheBytes: -1, CompactionDebt: -1, WrittenBytes: -1, Tombstones: -1}
	closed := good
	closed.Phase, closed.Arrivals, closed.Rate, closed.Clients = "closed", "closed", 0, 16
	failed := closed
	failed.Model, failed.Verdict, failed.Reason, failed.Ops = "james", Failed, "open embedded: "+hostile, map[string]Op{}
	load := good
	load.Phase, load.Arrivals, load.Rate, load.Ops = "load", "none", 0, map[string]Op{"deliver": op(20000, 900_000, Native)}
	settle := load
	settle.Phase, settle.Ops = "settle", map[string]Op{}
	return &Run{
		Format: Format, Workload: "sample", Seed: 18446744073709551615, Started: "2026-11-21T05:27:59Z", Seconds: 93.4, Interrupted: true,
		Environment: Environment{
			Version: "v0.1.0", Commit: "0123abc", Dirty: true, Go: "go1.26.8", GOGC: "100", MaxProcs: 2, OS: "linux", Arch: "amd64",
			Kernel: "6.18", CPU: "AMD EPYC", CPUs: 2, Memory: 25_000_000_000, Disk: "ext4",
		},
		Settings: map[string]string{"workers": "32", "durability": "default"},
		Digests:  map[string]string{"workload": "ab12", "schema james": "cd34"},
		Mail:     &MailInfo{File: "in" + hostile + ".mbox", Messages: 2500, Bytes: 12_000_000, Malformed: 4},
		Cells:    []Cell{load, settle, invalid, good, synced, closed, failed},
		Floor: []Floor{
			{NS: 161.2},
			{Model: "james", Op: "list", NS: 1720, Allocs: 0},
			{Model: "james", Op: "open", NS: 618, Allocs: 2},
			{Model: "conversation", Error: "bind: no such table"},
		},
		Audits: []Audit{
			{Model: "james", Engine: "embedded", Delivered: 1000, Deleted: 90, Verified: 905, Lost: 4, Corrupt: 1, Notes: []string{"lost " + hostile}},
			{Model: "conversation", Engine: "embedded", Delivered: 1000, Deleted: 90, Verified: 910, Purgeable: 12},
			{Model: "oracle", Engine: "embedded", Delivered: 1000, Verified: 990, Unknown: 10, Dangling: 2, CounterDrift: 17, Interrupted: true},
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
				rec.Worker(0).Record(0, latency.OK, 0, 0, d)
				rec.Worker(0).Record(1, latency.OK, 0, 0, 10*d)
			}
			at := start.Add(time.Duration(interval) * time.Second)
			if err := l.Write(model+".embedded.measure", []string{"list", "open"}, rec.Tick(), at, at.Add(time.Second)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	return &buf
}
