package latency

import (
	"bytes"
	"math"
	"sync"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

func TestThreeTimesOfAnOperation(t *testing.T) {
	r := NewRecorder(2, 1, true)
	// Scheduled at 10 ms, started 5 ms late, took 2 ms.
	r.Worker(0).Record(1, OK, false, 10*time.Millisecond, 15*time.Millisecond, 17*time.Millisecond, 0)
	r.Tick()
	op := &r.Total[1]
	for k, want := range [...]time.Duration{Response: 7 * time.Millisecond, Service: 2 * time.Millisecond, Wait: 5 * time.Millisecond} {
		got := op.Times[k].Max()
		if precision := []float64{0.001, 0.001, 0.01}[k]; math.Abs(float64(got)/float64(want)-1) > precision {
			t.Errorf("%v = %v, want %v", Kind(k), time.Duration(got), want)
		}
	}
	if r.Total[0].Times[Service].of != nil {
		t.Error("an operation that never ran has buckets")
	}
}

// Of an operation that was not ok it is known when it was over, from its scheduled start.
func TestTimesOfOtherOutcomes(t *testing.T) {
	r := NewRecorder(NumOutcomes, 1, true)
	for _, out := range []Outcome{NotFound, Failed, Unknown, TooLarge} {
		r.Worker(0).Record(int(out), out, false, 10*time.Millisecond, 15*time.Millisecond, 17*time.Millisecond, 0)
	}
	r.Tick()
	const rest = 7 * time.Millisecond
	for out, want := range map[Outcome]map[Kind]time.Duration{
		NotFound: {Rest: rest}, Failed: {Rest: rest}, Unknown: {Rest: rest}, TooLarge: {},
	} {
		for k := range Kind(NumKinds) {
			got := time.Duration(r.Total[int(out)].Times[k].Max())
			if math.Abs(float64(got-want[k])) > 0.01*float64(want[k]) {
				t.Errorf("outcome %d: %v = %v, want %v", out, k, got, want[k])
			}
		}
	}
}

func TestClosedLoopHasServiceOnly(t *testing.T) {
	r := NewRecorder(1, 1, false)
	r.Worker(0).Record(0, OK, false, 0, time.Second, 2*time.Second, 0)
	r.Tick()
	if op := &r.Total[0]; op.Times[Service].Count() != 1 || op.Times[Response].Count()+op.Times[Wait].Count() > 0 {
		t.Errorf("times = %v, want service alone", op.Times)
	}
}

// An operation that found a free worker is one of Service, and one of Free.
func TestFreeIsPartOfService(t *testing.T) {
	r := NewRecorder(2, 1, true)
	for i := range 3 {
		r.Worker(0).Record(0, OK, i > 0, 0, 0, time.Duration(i+1)*time.Millisecond, 0)
		r.Worker(0).Record(1, OK, false, 0, 0, time.Millisecond, 0)
		ticked := r.Tick()
		for i := range 2 {
			if n := ticked[i].Times[Service].Count(); n != 1 {
				t.Errorf("%d service times in a tick, want 1", n)
			}
		}
	}
	for i, want := range []int64{1, 3} {
		op := &r.Total[i]
		if all, free := op.Times[Service].Count(), op.Times[Free].Count(); all != 3 || free != want {
			t.Errorf("operation %d: %d service times, %d of them of free workers, want 3 and %d", i, all, free, want)
		}
	}
}

func TestOnlyOKEntersLatency(t *testing.T) {
	r := NewRecorder(1, 1, true)
	w := r.Worker(0)
	for out := range Outcome(NumOutcomes) {
		w.Record(0, out, false, 0, 0, time.Millisecond, 0)
	}
	w.Record(0, Dropped, false, 0, 0, 0, 0)
	r.Tick()
	op := &r.Total[0]
	if want := [NumOutcomes]int64{1, 1, 1, 1, 1, 2}; op.Counts != want {
		t.Errorf("outcomes = %v, want %v", op.Counts, want)
	}
	if n := op.Times[Response].Count(); n != 1 {
		t.Errorf("%d operations are in the latency figures, want the one that was ok", n)
	}
}

// First and Last are of operations that were ok, over all workers, and of the
// interval.
func TestFirstAndLast(t *testing.T) {
	r := NewRecorder(1, 2, true)
	for i, end := range []time.Duration{5 * time.Second, 3 * time.Second, 4 * time.Second} {
		r.Worker(i%2).Record(0, OK, false, 0, 0, end, 0)
	}
	r.Worker(0).Record(0, Failed, false, 0, 0, time.Second, 0)
	r.Worker(1).Record(0, Unknown, false, 0, 0, time.Minute, 0)
	if op := r.Tick()[0]; op.First != 3*time.Second || op.Last != 5*time.Second {
		t.Errorf("first %v, last %v, want 3s and 5s", op.First, op.Last)
	}
	r.Worker(0).Record(0, OK, false, 0, 0, 9*time.Second, 0)
	if op := r.Tick()[0]; op.First != 9*time.Second || op.Last != 9*time.Second {
		t.Errorf("of the next interval: first %v, last %v, want 9s", op.First, op.Last)
	}
	if op := r.Tick()[0]; op.First != 0 || op.Last != 0 {
		t.Errorf("of an empty interval: first %v, last %v", op.First, op.Last)
	}
	if op := &r.Total[0]; op.First != 3*time.Second || op.Last != 9*time.Second {
		t.Errorf("in all: first %v, last %v, want 3s and 9s", op.First, op.Last)
	}
}

// A value beyond the range is in the histogram, at its end, and counted.
func TestOutOfRangeIsClampedAndCounted(t *testing.T) {
	r := NewRecorder(1, 1, true)
	r.Worker(0).Record(0, OK, false, 0, 0, 2*Highest, 0)
	r.Worker(0).Record(0, OK, false, time.Second, 0, 1, 0) // started before its time
	r.Tick()
	op := &r.Total[0]
	if op.Times[Service].Count() != 2 || op.Times[Response].Count() != 2 || op.Times[Wait].Count() != 2 {
		t.Error("a value was lost")
	}
	if op.Clamped() != 2 { // response and service of the first
		t.Errorf("clamped = %d, want 2", op.Clamped())
	}
	if got := op.Times[Service].Max(); math.Abs(float64(got)/float64(Highest)-1) > 0.001 {
		t.Errorf("max = %v, want %v", time.Duration(got), Highest)
	}
}

// Whatever the workers do while the collector ticks, every value is in the
// totals once, and the intervals together are the totals.
func TestTicksLoseNothing(t *testing.T) {
	const workers, each = 6, 20000
	r := NewRecorder(3, workers, true)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			w := r.Worker(i)
			for n := range each {
				w.Record(n%3, OK, false, 0, 0, time.Duration(n), 0)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	var intervals int64
	tick := func() {
		for _, op := range r.Tick() {
			intervals += op.Counts[OK]
		}
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		tick() // once more after the end: the last partial interval
	}
	var total, values int64
	for op := range 3 {
		total += r.Total[op].Counts[OK]
		values += r.Total[op].Times[Service].Count()
	}
	if total != workers*each || values != workers*each || intervals != workers*each {
		t.Errorf("%d counted, %d in histograms, %d in intervals, want %d", total, values, intervals, workers*each)
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	r := NewRecorder(1, 1, true)
	w := r.Worker(0)
	record := func() { w.Record(0, OK, false, 1, 2, 3, 0) }
	record() // the first makes the histograms
	if n := testing.AllocsPerRun(1000, record); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

func TestLogIsReadByHdrHistogram(t *testing.T) {
	start := time.UnixMilli(1_700_000_000_250)
	var buf bytes.Buffer
	l, err := NewLog(&buf, start)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRecorder(2, 1, true)
	w, names := r.Worker(0), []string{"open", "list"}
	tag := func(op, kind string) string { return "james/" + op + "/" + kind }
	w.Record(0, OK, false, 0, 0, time.Millisecond, 0)
	w.Record(1, OK, false, 0, 0, time.Second, 0)
	l.Write(tag, names, r.Tick(), start, start.Add(time.Second))
	w.Record(0, OK, false, 0, 0, 3*time.Millisecond, 0) // the last, partial interval
	l.Write(tag, names, r.Tick(), start.Add(time.Second), start.Add(1400*time.Millisecond))
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}

	type interval struct {
		length int64
		max    time.Duration
	}
	got := map[string][]interval{}
	for in := hdr.NewHistogramLogReader(&buf); ; {
		h, err := in.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		got[h.Tag()] = append(got[h.Tag()], interval{h.EndTimeMs() - h.StartTimeMs(), time.Duration(h.Max()).Round(10 * time.Microsecond)})
	}
	if len(got) != 8 {
		t.Errorf("log has tags %v, want 4 kinds of 2 operations", got)
	}
	opens := got["james/open/response"]
	if len(opens) != 2 || opens[0] != (interval{1000, time.Millisecond}) || opens[1] != (interval{400, 3 * time.Millisecond}) {
		t.Errorf("intervals of open = %v", opens)
	}
	if lists := got["james/list/service"]; len(lists) != 1 {
		t.Errorf("intervals of list = %v, want only the one with a value", lists)
	}
}

func BenchmarkRecord(b *testing.B) {
	r := NewRecorder(1, 1, true)
	w := r.Worker(0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		d := time.Duration(i & 0xfffff)
		w.Record(0, OK, false, 0, d, 2*d, 0)
	}
}

// Parts of operations are recorded by name, without an allocation after the first.
func TestParts(t *testing.T) {
	r := NewRecorder(2, 1, false)
	w := r.Worker(0)
	parts := []PartTime{{"page", 100 * time.Microsecond, 1}, {"page", 300 * time.Microsecond, 2}, {"email", -1, 0}}
	record := func() { w.Record(1, OK, false, 0, 0, 1, 0, parts...) }
	record()
	if n := testing.AllocsPerRun(100, record); n != 0 {
		t.Errorf("%v allocations", n)
	}
	w.Record(0, OK, false, 0, 0, 1, 0, PartTime{"page", time.Hour, 1})
	for _, p := range r.Parts(1) {
		n, least, most := p.Times.Count(), p.Times.At(50, 0), p.Times.Max()
		switch {
		case p.Name == "page" && n == 204 && p.Calls == 306 && math.Abs(float64(least)/100e3-1) < 0.01 && math.Abs(float64(most)/300e3-1) < 0.01:
		case p.Name == "email" && n == 102 && most == 0:
		default:
			t.Errorf("%s: %d times, median %d, max %d", p.Name, n, least, most)
		}
	}
	if all := r.Parts(0, 1); len(all) != 2 || all[0].Times.Count()+all[1].Times.Count() != 307 {
		t.Errorf("%d parts of both operations", len(all))
	}
}
