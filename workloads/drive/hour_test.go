package drive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/random"
	"github.com/mailbench/mailbench/workloads/results"
)

// An hour of five operations on each of five models is less than 50 MB of results. The
// log's windows follow each other, are no shorter than their part of the hour, and have
// every value together.
func TestResultsOfAnHour(t *testing.T) {
	h := newHour(t, 200)
	t.Logf("%.1f MB of log in %d windows, %.1f MB of run.json", h.logMB(), len(h.windows), h.runMB(t))
	if all := h.logMB() + h.runMB(t); all > 50 {
		t.Errorf("%.1f MB", all)
	}
	if n := len(h.phase.windows); n != 58*60-1 {
		t.Errorf("drift is judged by %d windows, want one for each second with operations but the last", n)
	}

	if g := h.phase.timeline.gap; g.At < 1199 || g.At > 1200.1 || g.Seconds < 119.9 || g.Seconds > 121 {
		t.Errorf("the longest gap is %+v, want minutes 20 and 21", g)
	}

	var end time.Duration
	for i, w := range h.windows {
		fine, last := i < loggedTicks, i == len(h.windows)-1
		if w.from != end || fine && w.to-w.from != second || !fine && !last && loggedPart*(w.to-w.from) < w.to {
			t.Errorf("window %d is from %v to %v, after one that ends at %v", i, w.from, w.to, end)
		}
		end = w.to
	}
	if end != hourLong || h.ok != h.phase.recorder.Total[h.phase.slots.whole].Counts[latency.OK] {
		t.Errorf("the log ends at %v with %d operations of %d", end, h.ok, h.phase.recorder.Total[h.phase.slots.whole].Counts[latency.OK])
	}

	logged, err := latency.ReadLog(&h.log, func(tag string) (string, bool) { return tag, true })
	if err != nil {
		t.Fatal(err)
	}
	recorded := h.phase.recorder.Total
	for k := range recorded[int(workloads.List)].Times {
		want := &recorded[int(workloads.List)].Times[k]
		if want.Count() == 0 || latency.Kind(k) == latency.Free { // which the log does not have
			continue
		}
		tag := hourKey.Tag("list", latency.Kind(k).String())
		if got := logged[tag]; !reflect.DeepEqual(got, want) {
			t.Errorf("the log's windows have not every %v that was recorded", latency.Kind(k))
		}
		delete(logged, tag)
	}
	if len(logged) > 0 {
		t.Errorf("the log has %d other tags", len(logged))
	}
}

// BenchmarkHour reports how large the results of an hour are at several rates.
func BenchmarkHour(b *testing.B) {
	for _, each := range []int{20, 200, 2000} {
		b.Run(fmt.Sprintf("rate=%d", hourOps*each), func(b *testing.B) {
			for b.Loop() {
				h := newHour(b, each)
				b.ReportMetric(h.logMB(), "log-MB")
				b.ReportMetric(h.runMB(b), "run-MB")
				b.ReportMetric(float64(len(h.windows)), "windows")
			}
		})
	}
}

const (
	hourLong            = time.Hour
	hourOps, hourModels = 5, 5
)

var hourKey = results.Key{Model: "elasticinbox", Engine: "cassandra", Phase: "measure", Trial: 1, Segment: 1}

// hour is an hour of one operation on one model in virtual time.
type hour struct {
	phase   *phase
	log     bytes.Buffer
	windows []span
	ok      int64 // in all windows
}

// newHour lets an operation run so many times a second for an hour. Service times are
// lognormal with a median of 1 ms; one in a hundred takes twenty times as long, and one in
// a thousand fails. Nothing runs in minutes 20 and 21.
func newHour(tb testing.TB, each int) *hour {
	t, stream := testTarget(tb, idleBound{})
	h := &hour{}
	began := time.UnixMilli(1_700_000_000_000)
	log, err := latency.NewLog(&h.log, began)
	if err != nil {
		tb.Fatal(err)
	}
	what := workloads.Phase{
		Kind: workloads.Measure, Arrivals: workloads.Poisson, Rate: workloads.Rate{Count: uint64(each), Per: second}, Duration: hourLong,
		Mix: workloads.Mix{workloads.List: 1},
	}
	observe := func(_ results.Key, _ func(int) string, ops []latency.Op) {
		h.ok += ops[workloads.List].Counts[latency.OK]
	}
	h.phase = newPhase(t, Spec{
		Phase: what, Stream: stream(&what), Cell: &results.Cell{Key: hourKey}, Workers: 1, Log: log, Observe: observe,
	})
	p := h.phase
	now := time.Duration(0)
	p.clock, p.timeline.tick = virtualClock(&now), p.tickEvery()
	p.clock.base = began
	p.hiccups = &hiccups{clock: &p.clock}
	var r random.Rand
	r.Seed(1, 98, 0)
	for at := time.Duration(0); at < hourLong; at += second {
		if at < 20*time.Minute || at >= 22*time.Minute {
			h.tick(&r, at, each)
		}
		now = at + second
		from, before := p.logged.from, p.logged.windows
		p.take(at, at+second, at+second == hourLong)
		if p.logged.windows > before {
			h.windows = append(h.windows, span{from, p.logged.from})
		}
	}
	if err := log.Flush(); err != nil {
		tb.Fatal(err)
	}
	return h
}

// windowsOf are the windows of a log since a time.
func windowsOf(log string, began time.Time) (all []span) {
	window := regexp.MustCompile("(?m)^Tag=" + hourKey.Tag("list", "service") + ",([^,]*),([^,]*),")
	for _, m := range window.FindAllStringSubmatch(log, -1) {
		ms := func(seconds string) time.Duration {
			s, _ := strconv.ParseFloat(seconds, 64)
			return time.Duration(math.Round(1000*s)) * time.Millisecond
		}
		from := ms(m[1]) - time.Duration(began.UnixMilli())*time.Millisecond
		all = append(all, span{from, from + ms(m[2])})
	}
	return all
}

// TestLogBySteadyClock: a clock that is set while a phase lasts does not move the windows of the log.
func TestLogBySteadyClock(t *testing.T) {
	target, stream := testTarget(t, idleBound{})
	what, out := waiting(10), &bytes.Buffer{}
	p := newPhase(target, Spec{Phase: what, Stream: stream(&what), Cell: &results.Cell{Key: hourKey}, Workers: 1})
	p.clock = startClock()
	var err error
	*(*uint64)(unsafe.Pointer(&p.clock.base)) -= 3600 << 30 // the clock is set an hour ahead (time.Time.wall)
	if p.Log, err = latency.NewLog(out, p.clock.base); err != nil {
		t.Fatal(err)
	}
	p.hiccups = watchHiccups(&p.clock)
	defer p.hiccups.close()
	time.Sleep(2 * nap)
	p.recorder.Worker(0).Record(int(workloads.List), latency.OK, false, 0, 0, nap, 0)
	ended := make(chan struct{})
	close(ended)
	p.collect(ended, nil, nil)
	_ = p.Log.Flush()
	if w := windowsOf(out.String(), p.clock.base); len(w) != 1 || w[0].from != 0 || w[0].to > time.Minute {
		t.Errorf("windows %v of\n%s", w, out)
	}
}

// tick records the operations of a second.
func (h *hour) tick(r *random.Rand, at time.Duration, each int) {
	for i := range each {
		due := at + time.Duration(i)*second/time.Duration(each)
		start := due + time.Duration(6e4+1e5*r.Exp())
		normal := math.Sqrt(2*r.Exp()) * math.Cos(2*math.Pi*r.Float64()) // Box and Muller
		service, out := time.Duration(1e6*math.Exp(0.6*normal)), latency.OK
		if r.Chance(0.01) {
			service *= 20
		}
		if r.Chance(0.001) {
			out = latency.Failed
		}
		h.phase.recorder.Worker(0).Record(int(workloads.List), out, false, due, start, start+service, 0)
	}
}

// logMB is the size of the log of all operations and models.
func (h *hour) logMB() float64 { return float64(h.log.Len()) * hourOps * hourModels / 1e6 }

// runMB is the size of the timelines of all operations and models in run.json, and the
// windows that drift is judged by.
func (h *hour) runMB(tb testing.TB) float64 {
	line, err := json.Marshal(h.phase.timeline.intervals)
	if err != nil {
		tb.Fatal(err)
	}
	windows, err := json.Marshal(h.phase.windows)
	if err != nil {
		tb.Fatal(err)
	}
	return (float64(len(line))*hourOps + float64(len(windows))) * hourModels / 1e6
}
