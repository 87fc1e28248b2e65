package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/mailbench/mailbench/workloads/results"
)

// noise makes trials of one build differ. All but metrics are standard
// deviations of the logarithm of a percentile. The machine's part is the same for all
// operations of a trial, once for p50 and twice for p99.
type noise struct {
	ops          int
	machine      float64 // of a trial
	own50, own99 float64 // of one operation's percentile; that of p99 has a heavy tail
	disturbed    float64 // one trial in ten is slower by as much: another program's burst
	drift        float64 // all in all, from the first trial to the last: up to as much, up or down
	walk         float64 // what wanders from trial to trial
	modes        float64 // every other trial, drawn, is slower by this: where the store's memory lies
	spells       int     // half-seconds of a trial, of which some are faster: no other program uses the processor's other half
	slowedBy     float64 // the first operation of the new build takes as many times as long
	streams      int     // together, of which each executes all operations; only those of the first are slowed
}

// quiet and busy are a machine that has nothing else to do, and one that has.
var (
	quiet = noise{ops: 20, machine: 0.015, own50: 0.015, own99: 0.04}
	busy  = noise{ops: 20, machine: 0.015, own50: 0.015, own99: 0.04, disturbed: 0.15, drift: 0.03, walk: 0.015}
	modal = noise{ops: 20, machine: 0.005, own50: 0.005, own99: 0.02, modes: 0.15}
	// A virtual machine with nothing else on it, in trials of 1.5 and of 10 seconds: see docs/internals/comparing.md.
	short = noise{ops: 20, machine: 0.025, own50: 0.01, own99: 0.03, spells: 3}
	long  = noise{ops: 20, machine: 0.025, own50: 0.01, own99: 0.03, spells: 20}
	// Streams of their own: a comparison has twice as many metrics.
	quietStreams = noise{ops: 20, machine: 0.015, own50: 0.015, own99: 0.04, streams: 2}
	busyStreams  = noise{ops: 20, machine: 0.015, own50: 0.015, own99: 0.04, disturbed: 0.15, drift: 0.03, walk: 0.015, streams: 2}
)

// spell is how much faster a trial is for the spells in it: the median of its half-seconds.
func (w noise) spell(random *rand.Rand) float64 {
	const (
		share  = 0.12  // of the half-seconds that are fast
		stays  = 0.5   // of the fast ones, those that are followed by another one
		faster = -0.40 // the logarithm of how long they take
		jitter = 0.04
	)
	if w.spells == 0 {
		return 0
	}
	levels := make([]float64, w.spells)
	fast := random.Float64() < share
	for i := range levels {
		levels[i] = random.NormFloat64() * jitter
		if fast {
			levels[i] += faster
		}
		begins := share * (1 - stays) / (1 - share)
		fast = fast && random.Float64() < stays || !fast && random.Float64() < begins
	}
	return results.Median(levels)
}

// sides makes n trials of both builds, sequential or interleaved.
func (w noise) sides(random *rand.Rand, n int, turns bool) (base, new Side) {
	b, f := run("base"), run("new")
	drift := (2*random.Float64() - 1) * w.drift
	wander := random.NormFloat64() * w.walk
	for t := range 2 * n {
		r := b
		if turns && (t%4 == 1 || t%4 == 2) || !turns && t >= n {
			r = f
		}
		const stays = 0.7 // of what wandered, to the next trial
		wander = stays*wander + math.Sqrt(1-stays*stays)*random.NormFloat64()*w.walk
		machine := drift*float64(t)/float64(2*n-1) + wander + random.NormFloat64()*w.machine
		if random.IntN(10) == 0 {
			machine += math.Abs(random.NormFloat64()) * w.disturbed
		}
		if random.IntN(2) == 0 {
			machine += w.modes
		}
		c := cell(len(r.Cells)+1, t)
		machine += w.spell(random)
		for s := range w.streams {
			c.Streams = append(c.Streams, results.Stream{Name: fmt.Sprintf("stream%d", s), Arrivals: "poisson", Ops: map[string]results.Op{}})
		}
		for i := range w.ops {
			slower := 0.0
			if r == f && i == 0 && w.slowedBy > 0 {
				slower = math.Log(w.slowedBy)
			}
			w.execute(random, &c, fmt.Sprintf("op%02d", i), machine, slower)
		}
		r.Cells = append(r.Cells, c)
	}
	return Side{Name: "base", Runs: []*results.Run{b}}, Side{Name: "new", Runs: []*results.Run{f}}
}

// execute makes an operation of a cell, or of each of its streams.
func (w noise) execute(random *rand.Rand, c *results.Cell, name string, machine, slower float64) {
	draw := func(slower float64) results.Op {
		tail := math.Sqrt(2 / (random.ExpFloat64() + random.ExpFloat64())) // Student's t with 4 degrees of freedom
		p50 := 200e3 * math.Exp(machine+slower+random.NormFloat64()*w.own50)
		return op(1000, int64(p50), int64(2e6*math.Exp(2*machine+slower+random.NormFloat64()*w.own99*tail)))
	}
	if w.streams == 0 {
		c.Ops[name] = draw(slower)
	}
	for s := range c.Streams {
		c.Streams[s].Ops[name] = draw(slower)
		slower = 0
	}
}

var began = time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC)

// run is a run without cells.
func run(commit string) *results.Run {
	return &results.Run{
		Format: results.Format, Workload: results.Workload{Name: "quick", Text: "version: 1\nname: quick\n"}, Seed: 1,
		Started: began.Format(time.RFC3339), Machine: results.Machine{ID: "one"}, Segment: results.Segment{Index: 1, Of: 1},
		Environment: results.Environment{
			Version: "0.3.0", Commit: commit, Go: "go1.26.8", GOGC: "100", MaxProcs: 2, OS: "linux", Arch: "amd64", CPUs: 2, CPU: "AMD EPYC",
		},
		Config:   results.Config{Trials: 1, Durability: "default", Workers: 32, MaxWait: 10},
		Settings: map[string]string{"embedded.compression": "snappy"},
		Schemas:  []results.Schema{{Model: "james", Text: "name: james\n", SHA256: "1"}},
		Phases:   []results.Phase{{Name: "measure", Kind: "measure", Digested: 2000, SHA256: "2"}},
	}
}

// cell is one of a trial, which began so many seconds after all.
func cell(trial, second int) results.Cell {
	at := began.Add(time.Duration(second) * time.Second).Format(time.RFC3339Nano)
	return results.Cell{
		Key:  results.Key{Model: "james", Engine: "embedded", Phase: "measure", Trial: trial, Segment: 1},
		Kind: results.KindMeasure, Started: at, Arrivals: "poisson", Rate: 500, Durability: "power", Verdict: results.OK,
		Ops: map[string]results.Op{}, Engines: &results.EngineInfo{Version: "pebble v2.1.7", Settings: map[string]string{"memtables": "2"}},
	}
}

// op is an operation that was ok so many times.
func op(count, p50, p99 int64) results.Op {
	l := results.Latency{P50: p50, P90: p50, P99: p99, P999: p99, Max: p99, Mean: float64(p50)}
	return results.Op{Count: count, Support: results.Native, Times: results.Times{Response: l, Service: l}, Store: results.StoreCost{
		Requests: 2, RowsRead: 20, BytesRead: 500, BytesDeviation: 100, RowsDeviation: 3,
	}}
}

// slowdown says of one comparison whether any metric differs, and whether the slowed ones
// were found: p50 of the first operation, of the first stream if there are streams.
func (w noise) slowdown(c *Comparison) (any, found bool) {
	for _, cell := range c.Cells {
		slowed := cell.Phase == "measure" || cell.Phase == "measure:stream0"
		for _, f := range cell.Figures {
			any = any || f.Verdict == Worse || f.Verdict == Better
			found = found || slowed && f.Op == "op00" && f.Name == "p50" && f.Verdict == Worse
		}
	}
	return any, found
}

// rates compares equal and slowed builds so many times.
func (w noise) rates(seed uint64, comparisons, n int, turns bool, permutations int) (falseAlarms, found float64, err error) {
	gates, err := ParseGates(DefaultGates)
	if err != nil {
		return 0, 0, err
	}
	for i := range comparisons {
		for _, slowedBy := range []float64{1, 1.10} {
			w.slowedBy = slowedBy
			base, fresh := w.sides(rand.New(rand.NewPCG(seed, uint64(i))), n, turns)
			c, err := Runs(base, fresh, Options{Gates: gates, permutations: permutations})
			if err != nil {
				return 0, 0, err
			}
			any, hit := w.slowdown(c)
			switch {
			case slowedBy == 1 && any:
				falseAlarms++
			case slowedBy > 1 && hit:
				found++
			}
		}
	}
	return falseAlarms / float64(comparisons), found / float64(comparisons), nil
}
