package latency

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// A histogram has the buckets of the library's, loses nothing, also of a sum, and has its maximum and mean.
func TestHistogramIsTheLibrarys(t *testing.T) {
	for _, digits := range []int{digits, digitsRough} {
		got, want := NewHistogram(digits), hdr.New(1, int64(Highest), digits)
		add := func(v int64) {
			if v = min(max(v, 0), int64(Highest)); want.RecordValue(v) != nil {
				t.Fatalf("%d is out of range", v)
			}
			got.Record(time.Duration(v), 1)
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
		sum := NewHistogram(digits)
		sum.Add(got)
		for _, h := range []*Histogram{got, sum} {
			if !slices.Equal(h.of, want.Export().Counts) || h.Count() != want.TotalCount() {
				t.Errorf("%d digits: the histograms differ", digits)
			}
			for _, percent := range []float64{0, 1, 25, 50, 99, 100} { // enough values for the library's rank
				if got, want := h.At(percent, 0), want.ValueAtPercentile(percent); math.Abs(float64(got-want)) > 0.02*float64(want) {
					t.Errorf("%d digits: p%v is %d, of the library %d", digits, percent, got, want)
				}
			}
			if h.Max() != want.Max() || math.Abs(h.Mean()/want.Mean()-1) > 1e-9 {
				t.Errorf("%d digits: maximum %d, mean %v; of the library %d, %v", digits, h.Max(), h.Mean(), want.Max(), want.Mean())
			}
		}
	}
}

// A sum of histograms of other digits has all values.
func TestAddOtherDigits(t *testing.T) {
	sum, rough := NewHistogram(digits), NewHistogram(digitsRough)
	rough.Record(time.Second, 1)
	rough.Record(0, 1)
	sum.Add(rough)
	sum.Add(nil)
	rough.Add(sum)
	if sum.Count() != 2 || rough.Count() != 4 || math.Abs(float64(rough.Max())/1e9-1) > 0.01 {
		t.Errorf("%d and %d values, the longest is %d", sum.Count(), rough.Count(), rough.Max())
	}
}

// Recorded times are taken once. A time beyond the range is clamped, and counted once though it is
// in two histograms.
func TestTickEmptiesWorkers(t *testing.T) {
	r := NewRecorder(1, 1, true)
	r.Worker(0).Record(0, OK, false, 2*time.Second, time.Second, 6*time.Second, 0)
	r.Worker(0).Record(0, OK, true, 0, 0, 2*Highest, 0)
	for range 2 {
		r.Tick()
		o := &r.Total[0]
		if o.Counts[OK] != 2 || o.Clamped() != 2 || o.Times[Service].Count() != 2 || o.Times[Latency].Count() != 2 ||
			o.Times[Free].Count() != 1 || o.Times[Wait].Max() != 0 {
			t.Errorf("recorded %+v", o)
		}
	}
}

// A sum is that of its operations in each interval and in all.
func TestSums(t *testing.T) {
	r := NewRecorder(3, 1, true, []int{0, 2}, []int{0, 1, 2})
	for tick := range int64(2) {
		for op := range 3 {
			for range op + 1 {
				r.Worker(0).Record(op, OK, false, 0, 0, time.Second, 0)
			}
		}
		ticked := r.Tick()
		for i, want := range []int64{1, 2, 3, 4, 6} {
			if n, all := ticked[i].Times[Latency].Count(), r.Total[i].Counts[OK]; n != want || all != want*(tick+1) {
				t.Errorf("%d has %d in a tick and %d in all, want %d and %d", i, n, all, want, want*(tick+1))
			}
		}
	}
}
