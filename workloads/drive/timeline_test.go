package drive

import (
	"slices"
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads/latency"
	"github.com/mailbench/mailbench/workloads/results"
)

// lengths enters ticks of these seconds, the last one at the phase's end, and
// returns how long the intervals are, and how many ticks are in all of them.
func lengths(ticks ...float64) (seconds []float64, all int64) {
	line := timeline{tick: time.Second}
	at := 0.0
	for i, s := range ticks {
		line.append(results.Interval{At: at, Seconds: s, OK: 1}, i == len(ticks)-1)
		at += s
	}
	end := 0.0
	for _, in := range line.intervals {
		if in.At != end {
			return nil, 0
		}
		seconds, all, end = append(seconds, in.Seconds), all+in.OK, in.At+in.Seconds
	}
	return seconds, all
}

func TestTimelineIntervals(t *testing.T) {
	for _, c := range []struct {
		name        string
		ticks, want []float64
	}{
		{"regular", []float64{1, 1, 1}, []float64{1, 1, 1}},
		{"a short end", []float64{1, 1, 0.25}, []float64{1, 1.25}},
		{"half an end", []float64{1, 1, 0.5}, []float64{1, 1, 0.5}},
		{"a late tick", []float64{1, 3, 0.5, 1, 1, 0.25}, []float64{1, 3, 0.5, 1, 1.25}},
		{"a short phase", []float64{0.125}, []float64{0.125}},
	} {
		if got, all := lengths(c.ticks...); !slices.Equal(got, c.want) || all != int64(len(c.ticks)) {
			t.Errorf("%s: intervals of %v s with %d ticks, want %v with %d", c.name, got, all, c.want, len(c.ticks))
		}
	}
}

// A phase of half an hour has intervals of four seconds, all of them.
func TestTimelineGrows(t *testing.T) {
	ticks := slices.Repeat([]float64{1}, 1800)
	ticks[700] = 6 // late by five
	got, all := lengths(ticks...)
	if all != 1800 || len(got) > intervalsMost {
		t.Errorf("%d intervals with %d ticks of 1800", len(got), all)
	}
	for i, s := range got {
		if late := i == 700/4; !late && (s < 4 || s > 5) || late && (s < 6 || s > 9) {
			t.Errorf("interval %d is %v s long", i, s)
		}
	}
}

// The slowest operation of an interval is known, also where it is the p99 and has no number of its own, and in a sum.
func TestTimelineSlowest(t *testing.T) {
	var sum results.Interval
	for n, ownMax := range map[int]bool{10: false, 99: false, 101: true} {
		var o latency.Op
		o.Counts[latency.OK], o.Times[latency.Latency] = int64(n), *latency.NewHistogram(3)
		for i := range n {
			o.Times[latency.Latency].Record(time.Duration(i+1), 1)
		}
		in := interval(&o)
		if in.Slowest() != int64(n) || (in.Max != 0) != ownMax {
			t.Errorf("of %d operations: slowest %d, %+v", n, in.Slowest(), in)
		}
		sum.Add(&in)
	}
	if sum.Slowest() != 101 {
		t.Errorf("the slowest of all is %d", sum.Slowest())
	}
}
