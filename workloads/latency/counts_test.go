package latency

import (
	"math/rand/v2"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Counts have the buckets of the histogram that they are added to, and lose nothing.
func TestCountsAreTheHistograms(t *testing.T) {
	for _, digits := range []int{digits, digitsRough} {
		var taken recorded
		var got Op
		w, want := Worker{rough: digits == digitsRough}, hdr.New(1, int64(Highest), digits)
		add := func(v int64) {
			if v = min(max(v, 0), int64(Highest)); want.RecordValue(v) != nil {
				t.Fatalf("%d is out of range", v)
			}
			w.record(&taken, Service, time.Duration(v))
		}
		for shift := range 38 { // about each change of a bucket's width
			for d := range int64(9) {
				add(1<<shift + d - 4)
			}
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 100_000 {
			add(r.Int64N(1 << r.IntN(38)))
		}
		if taken.moveTo(&got); !got.Times[Service].Equals(want) {
			t.Errorf("%d digits: the histograms differ", digits)
		}
		if n, all := len(taken.times[Service].of), len(want.Export().Counts); n != all {
			t.Errorf("%d digits: %d buckets, the histogram has %d", digits, n, all)
		}
	}
}

// Recorded times are moved once. A time beyond the range is clamped, and counted once though it is
// in two histograms.
func TestRecordedIsEmptiedByATick(t *testing.T) {
	var w Worker
	var r recorded
	var o Op
	w.record(&r, Service, 5*time.Second)
	w.record(&r, Service, 2*Highest)
	w.record(&r, Latency, 2*Highest)
	w.record(&r, Wait, -1)
	r.Counts[OK] = 2
	for range 2 {
		r.moveTo(&o)
		if o.Counts[OK] != 2 || o.Clamped != 1 || o.Times[Service].TotalCount() != 2 || o.Times[Latency].TotalCount() != 1 || o.Times[Wait].Max() != 0 {
			t.Errorf("recorded %+v", o)
		}
	}
}
