package drive

import (
	"math"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/judge"
	"github.com/mailbench/mailbench/workloads/results"
	"github.com/mailbench/mailbench/workloads/search"
)

// keepsUp are objectives like those of a workload that expects nothing.
func keepsUp(p99 time.Duration) []results.Objective {
	return []results.Objective{
		{Figure: "achieved", Sign: ">=", Bound: 0.99},
		{Figure: "errors", Sign: "<", Bound: 0.001},
		{Figure: "p99", Sign: "<", Bound: float64(p99)},
	}
}

// find searches with a measurement of each step.
func find(s *results.Search, measure func(rate float64, number int) *results.Cell) results.SearchResult {
	for rate, more := search.Next(s); more; rate, more = search.Next(s) {
		c := measure(rate, len(s.Steps))
		judge.Apply(c, nil)
		c.Objectives = judge.Objectives(c, s.Objectives)
		step := results.SearchStep{Rate: rate, Cell: *c}
		step.Verdict, step.Text = search.Judge(c)
		s.Steps = append(s.Steps, step)
	}
	found, _ := search.Found(s)
	return found
}

// In virtual time a search finds the highest rate of M/M/c within 5% of what theory
// says: where the p99 of the response time reaches its bound.
func TestSearchAgreesWithTheory(t *testing.T) {
	for _, c := range []struct {
		name    string
		servers int
		service float64 // of each server, operations a second
		p99     time.Duration
	}{
		{"M/M/8, nearly its capacity", 8, 1000, 100 * ms},
		{"M/M/8, p99 below 7 ms", 8, 1000, 7 * ms},
		{"M/M/1, p99 below 20 ms", 1, 1000, 20 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want, below := float64(c.servers)*c.service, 0.0
			for range 60 { // bisect: mmc is the p99 at a rate
				if mid := (want + below) / 2; mmc(c.servers, mid, c.service, 0.99) > c.p99.Seconds() {
					want = mid
				} else {
					below = mid
				}
			}
			s := &results.Search{From: 500, Max: 1e6, Precision: 0.05, Objectives: keepsUp(c.p99)}
			f := find(s, func(rate float64, number int) *results.Cell {
				phase := workloads.Phase{
					Kind: workloads.Measure, Number: number, Arrivals: workloads.Poisson, Rate: workloads.RateOf(rate),
					Duration: 8 * second, Mix: workloads.Mix{workloads.List: 1},
				}
				p := simulate(t, phase, 64, 2*second, exponential(c.servers, c.service), span{})
				return p.cell(phase)
			})
			t.Logf("by theory %.0f/s; %d steps: %s", want, len(s.Steps), f.Text)
			mid := (f.Low + f.High) / 2
			if f.Limit != results.LimitStore || math.Abs(mid/want-1) > 0.05 || f.Low > want*1.025 || f.High < want*0.975 {
				t.Errorf("%+v, by theory %.0f/s", f, want)
			}
		})
	}
}

// In virtual time a search whose workers are too few for a store without a limit says that
// the client is the limit.
func TestSearchWithTooFewWorkers(t *testing.T) {
	s := &results.Search{From: 500, Max: 1e6, Precision: 0.05, Objectives: keepsUp(100 * ms)}
	f := find(s, func(rate float64, number int) *results.Cell {
		phase := workloads.Phase{
			Kind: workloads.Measure, Number: number, Arrivals: workloads.Poisson, Rate: workloads.RateOf(rate),
			Duration: 4 * second, Mix: workloads.Mix{workloads.List: 1},
		}
		p := simulate(t, phase, 4, 2*second, stalls(math.MaxInt64, 0, ms), span{})
		return p.cell(phase)
	})
	t.Logf("%d steps: %s", len(s.Steps), f.Text)
	if f.Limit != results.LimitClient {
		t.Errorf("%+v", f)
	}
}

// cell is the cell of a phase that was simulated.
func (p *phase) cell(what workloads.Phase) *results.Cell {
	p.span = p.Stream.Span()
	p.length = max(p.span, time.Duration(p.stats.sum().LastStart*1e9))
	p.used = usage{}
	m := p.measurement()
	return &results.Cell{
		Kind: results.KindMeasure, Seconds: p.length.Seconds(), Arrivals: what.Arrivals.String(), Offered: m.Offered,
		Ops: m.Ops, AllOps: m.AllOps, Client: m.Client, Evidence: m.Evidence,
	}
}

// searched is the report of a process on its search. Capacity is the rate that its store could serve, by
// how long it took for operations.
type searched struct {
	Search   results.Search
	Found    results.SearchResult
	Capacity float64
}

// search searches in real time, from the situation's rate on.
func (s situation) search(t *testing.T) searched {
	r := searched{Search: results.Search{From: s.Rate, Max: 1e7, Precision: 0.05, Objectives: keepsUp(s.Store.Takes + 100*ms)}}
	r.Found = find(&r.Search, func(rate float64, number int) *results.Cell {
		one := s
		one.Rate, one.number = rate, number
		return one.measure(t)
	})
	if n := served.Load(); n > 0 {
		r.Capacity = float64(s.Store.Serves) * float64(n) / time.Duration(serving.Load()).Seconds()
	}
	return r
}

// guiltySearches are situations in which a search meets the client's limit.
var guiltySearches = []situation{
	{Name: "stopped 100 of 500 ms", Rate: 1000, Stop: 100 * ms, Every: 500 * ms},
	{Name: "stopped half of the time", Rate: 1000, Stop: 50 * ms, Every: 100 * ms},
	{
		Name: "stopped 20 of 100 ms, a store of 5 ms",
		Rate: 1000, Store: store{Takes: 5 * ms}, Stop: 20 * ms, Every: 100 * ms,
	},
	{Name: "starved by other processes", Rate: 1000, Hogs: 8},
	{Name: "half a processor by quota", Rate: 100_000, Quota: 0.5},
	{Name: "beyond its capacity on one processor", Rate: 1e6, Procs: 1, Length: 500 * ms},
}

// The client's limit is never sold as the store's: no search with the client beyond its
// capacity, stopped, throttled or starved finds a rate of the store.
func TestGuiltyClientSearchAlone(t *testing.T)  { eachAlone(t, guiltySearches, notTheStore) }
func TestStoppedClientSearchAlone(t *testing.T) { eachBeside(t, guiltySearches, notTheStore) }

func notTheStore(t *testing.T, s situation) {
	s.FindMax, s.MaxWait = true, 500*ms
	var r searched
	s.into(t, &r)
	t.Logf("%d steps: %s: %s", len(r.Search.Steps), r.Found.Limit, r.Found.Text)
	if r.Found.Limit == results.LimitStore {
		t.Errorf("%+v", r.Found)
	}
}

// In real time a search finds the highest rate of a store that serves so many operations
// together, within 5% of what it could do, by the time that it took for them. On a busy
// machine the client is the limit, and the search says so: the test waits for a quiet one.
func TestSearchInRealTimeAlone(t *testing.T) {
	t.Parallel()
	s := situation{
		Rate: 2000, Workers: 2048, Length: 2 * second, MaxWait: 500 * ms, FindMax: true,
		Store: store{Takes: 400 * ms, Serves: 1024},
	}
	for deadline := time.Now().Add(time.Minute); ; {
		var r searched
		s.into(t, &r)
		t.Logf("%d steps, %.0f/s by the store's own time: %s", len(r.Search.Steps), r.Capacity, r.Found.Text)
		// How far the store's own time varies shows how quiet the machine is.
		if mid := (r.Found.Low + r.Found.High) / 2; r.Found.Limit == results.LimitStore && math.Abs(mid/r.Capacity-1) <= 0.05 {
			return
		}
		if !time.Now().Before(deadline) {
			if r.Found.Limit == results.LimitStore && quiet(&r.Search) {
				t.Fatalf("%+v, by the store's own time %.0f/s", r.Found, r.Capacity)
			}
			t.Skip("the machine was never quiet")
		}
	}
}

// quiet reports whether other processes and machines used little of all processors
// steps.
func quiet(s *results.Search) bool {
	for i := range s.Steps {
		if c := s.Steps[i].Cell.Client; c.OthersShare >= 0.1 {
			return false
		}
	}
	return true
}
