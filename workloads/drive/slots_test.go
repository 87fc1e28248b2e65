package drive

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/results"
)

// mixes are three streams: two that list, one that also does something else.
func mixes() workloads.Phase {
	p := workloads.Phase{
		Kind: workloads.Measure, Name: "measure", Arrivals: workloads.Poisson, Operations: 60_000,
		Rate: workloads.RateOf(1000), Mix: workloads.Mix{workloads.List: 0.8, workloads.Counters: 0.2},
	}
	for name, rate := range map[string]float64{"readers": 600, "watchers": 300, "few": 100} {
		mix := workloads.Mix{workloads.List: 1}
		if name == "watchers" {
			mix = workloads.Mix{workloads.List: 1, workloads.Counters: 2}
		}
		p.Streams = append(p.Streams, workloads.Phase{
			Kind: workloads.Measure, Name: name, Arrivals: workloads.Poisson, Rate: workloads.RateOf(rate), Mix: mix,
		})
	}
	slices.SortFunc(p.Streams, func(a, b workloads.Phase) int { return int(b.Rate.PerSecond() - a.Rate.PerSecond()) })
	return p
}

// The metrics of all streams together are those of the phase: nothing is counted twice or
// left out, for operations of one stream and of several.
func TestStreamsAddUp(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	p := simulate(t, mixes(), 4, 20*time.Millisecond, func(start time.Duration) time.Duration {
		return start + time.Duration(chance.ExpFloat64()*4e6) // 1000/s for 4 workers: they are all busy
	}, span{})
	p.span = 60 * time.Second
	m := p.measurement()
	if len(m.Streams) != 3 || m.Offered.Dropped == 0 || m.Evidence.Queued == 0 {
		t.Fatalf("%d streams; offered %+v; %d queued", len(m.Streams), m.Offered, m.Evidence.Queued)
	}
	var sum results.Offered
	ops := map[string][2]int64{}
	for _, s := range m.Streams {
		sum.Due, sum.Dropped, sum.Rate, sum.Achieved = sum.Due+s.Offered.Due, sum.Dropped+s.Offered.Dropped, sum.Rate+s.Offered.Rate, sum.Achieved+s.Offered.Achieved
		for name, o := range s.Ops {
			ops[name] = [2]int64{ops[name][0] + o.Count, ops[name][1] + o.Dropped}
		}
		if want := map[string]float64{"readers": 600, "watchers": 300, "few": 100}[s.Name]; s.Rate != want || near(s.Offered.Rate, want, 0.05) != nil {
			t.Errorf("%s: rate %v, offered %v; want %v", s.Name, s.Rate, s.Offered.Rate, want)
		}
		if s.AllOps.Due == nil || s.AllOps.Response.P99 < s.AllOps.Service.P99 {
			t.Errorf("%s: %+v", s.Name, s.AllOps)
		}
	}
	if sum.Due != m.Offered.Due || sum.Dropped != m.Offered.Dropped {
		t.Errorf("the streams have %+v; the phase %+v", sum, m.Offered)
	}
	if err := near(sum.Achieved, m.Offered.Achieved, 0.001); err != nil {
		t.Errorf("achieved: %v", err)
	}
	for name, o := range m.Ops {
		if ops[name] != [2]int64{o.Count, o.Dropped} || o.Count == 0 {
			t.Errorf("%s: the streams have %v, the phase %d and %d dropped", name, ops[name], o.Count, o.Dropped)
		}
	}
	watchers := m.Streams[1]
	if own, all := watchers.Ops["counters"], m.Ops["counters"]; own.Response != all.Response || own.Rate != all.Rate {
		t.Errorf("only watchers ask for counters: %+v, the phase has %+v", own, all)
	}

	names := p.slots.names[:p.slots.ops]
	if want := []string{"readers:list", "watchers:list", "", "few:list"}; !slices.Equal(names, want) {
		t.Errorf("the log has %q, want %q", names, want)
	}
}

func near(got, want, within float64) error {
	if got < want*(1-within) || got > want*(1+within) {
		return fmt.Errorf("%v, want %v", got, want)
	}
	return nil
}

// The log and the timeline get the same in a tick; the sums of a tick are by operation and by stream.
func TestStreamsInTheLog(t *testing.T) {
	target, stream := testTarget(t, idleBound{})
	what := mixes()
	p := newPhase(target, Spec{Phase: what, Stream: stream(&what), Workers: 1, MaxWait: time.Second})
	for tick := range 2 {
		for n := range 100 {
			s := &p.slots.all[n%len(p.slots.all)]
			p.recorder.Worker(0).Record(p.slots.at[s.stream][s.op], latency.OK, false, 0, 0, time.Duration(1+n)*time.Millisecond, 0)
		}
		ticked := p.recorder.Tick()
		ops := ticked[p.slots.ops:]
		counted := func(all []latency.Op, i workloads.Op) int64 { return all[i].Times[latency.Response].Count() }
		if got := []int64{
			counted(ops, workloads.List), counted(ops, workloads.Counters), counted(ticked, 0), counted(ticked, 1), counted(ticked, 3),
		}; !slices.Equal(got, []int64{75, 25, 25, 25, 25}) || ops[workloads.Open].Counts[latency.OK] != 0 {
			t.Errorf("tick %d: %v", tick, got)
		}
		at := time.Duration(tick) * time.Second
		p.addInterval(ticked, at, at+time.Second, false)
		var streams []int64
		for i := range ticked[p.slots.streams:p.slots.whole] {
			streams = append(streams, ticked[p.slots.streams+i].Counts[latency.OK])
		}
		if in := p.timeline.intervals[tick]; in.OK != 100 || in.P99 == 0 || !slices.Equal(streams, []int64{25, 50, 25}) {
			t.Errorf("tick %d: %+v, streams %v", tick, in, streams)
		}
	}
}

// Sixteen streams of all operations take at most 160 KB an operation, as one phase of all: their histograms
// have two digits. The sum of an operation is of all streams.
func TestManyStreamsAreBounded(t *testing.T) {
	target, stream := testTarget(t, idleBound{})
	var mix workloads.Mix
	for op := range mix {
		mix[op] = 1
	}
	what := workloads.Phase{Kind: workloads.Measure, Arrivals: workloads.Poisson, Rate: workloads.RateOf(16), Operations: 1, Mix: mix}
	for i := range 16 {
		what.Streams = append(what.Streams, workloads.Phase{Name: fmt.Sprint(i + 1), Rate: workloads.RateOf(1), Mix: mix})
	}
	p := newPhase(target, Spec{Phase: what, Stream: stream(&what), Workers: 10_000, MaxWait: time.Second})
	for i, k := range p.slots.all {
		for w := range 100 {
			p.recorder.Worker(w).Record(p.slots.at[k.stream][k.op], latency.OK, false, 0, 1, time.Duration(1+i)*time.Microsecond, 0)
		}
	}
	p.recorder.Tick()
	bytes := 0
	for i := range p.slots.all {
		for _, h := range p.recorder.Total[i].Times {
			bytes += 8 * reflect.ValueOf(h).FieldByName("of").Len() // its buckets
			for b := range h.Buckets {
				if b.From > 1000 && 256*(b.To-b.From+1) < b.From {
					t.Fatalf("a bucket from %d to %d has more than two digits", b.From, b.To)
				}
			}
		}
	}
	if len(p.slots.all) != 16*workloads.NumOps || bytes > len(p.slots.all)*160<<10 {
		t.Errorf("%d slots take %d MB", len(p.slots.all), bytes>>20)
	}
	if got := p.recorder.Total[p.slots.ops+int(workloads.List)].Counts[latency.OK]; got != 1600 {
		t.Errorf("list has %d, want 1600", got)
	}
}

// A late start counts for the stream of its operation.
func TestLateStartsOfStreams(t *testing.T) {
	target, stream := testTarget(t, idleBound{})
	what := mixes()
	p := newPhase(target, Spec{Phase: what, Stream: stream(&what), Workers: 1, MaxWait: time.Second})
	w, err := newWorker(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	w.last, w.op.Stream, w.op.Op, w.slot = 0, 1, workloads.Counters, p.slots.at[1][workloads.Counters]
	w.noteTiming(true, time.Millisecond, time.Second, 2*time.Second)
	p.stats.add(&w.stats)
	if s := p.stats.streams; s[0].Queued != 0 || s[1].Queued != 1 || s[1].Started != 1 || p.stats.sum().Queued != 1 {
		t.Errorf("%+v", p.stats.streams)
	}
}

// TestCellIsCompleted: a measurement has what was known of its cell before, also of a phase that did not begin.
func TestCellIsCompleted(t *testing.T) {
	target, stream := testTarget(t, idleBound{})
	what, known := waiting(10), results.Cell{Kind: results.KindMeasure, Evidence: &results.Evidence{Settled: true, Warm: true}}
	m := newPhase(target, Spec{Phase: what, Stream: stream(&what), Workers: 1, Cell: &known}).measurement()
	if e := m.Evidence; m.Kind != results.KindMeasure || !e.Settled || !e.Warm || e.Cap != 1 || len(m.Ops) != 1 || m.AllOps != nil {
		t.Errorf("%+v of %+v", m, known)
	}
}
