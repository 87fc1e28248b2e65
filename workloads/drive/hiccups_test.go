package drive

import (
	"testing"
	"time"
)

// The hiccup at its end is taken off a service time, and no more than the
// service time.
func TestHiccupsBefore(t *testing.T) {
	const us = time.Microsecond
	h := &hiccups{clock: &clock{}}
	h.beat.Store(int64(1000 * ms))
	for _, s := range []span{{100 * ms, 150 * ms}, {200 * ms, 210 * ms}} {
		h.note(s.from, s.to)
	}
	for _, c := range []struct {
		name             string
		start, end, want time.Duration
	}{
		{"none near", 300 * ms, 320 * ms, 0},
		{"the answer came in the hiccup", 190 * ms, 210*ms + 100*us, 10*ms + 100*us},
		{"the worker ran in the hiccup", 205 * ms, 210*ms + 100*us, 0},
		{"the hiccup was in the middle of the call", 190 * ms, 250 * ms, 0},
		{"an earlier hiccup is not the last", 90 * ms, 150*ms + 500*us, 50*ms + 500*us},
		{"the call began after the hiccup", 210*ms + 100*us, 210*ms + 300*us, 0},
		{"the meter wakes later than the worker", 1000 * ms, 1100 * ms, 99 * ms},
		{"the meter is on time", 1000 * ms, 1001*ms + 900*us, 0},
	} {
		if got := h.before(c.start, c.end); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if h.found.Total != int64(60*ms) || h.found.Count != 2 || h.found.Longest != int64(50*ms) {
		t.Errorf("hiccups: %+v", h.found)
	}
}

// A process that is stopped for a fifth of the time has hiccups of that length.
func TestHiccupsOfAStoppedProcess(t *testing.T) {
	e := situation{Rate: 100, Length: 2 * second, Stop: 100 * ms, Every: 500 * ms}.run(t).Evidence.Hiccups
	if total := time.Duration(e.Total); e.Count < 3 || total < 290*ms {
		t.Errorf("%d hiccups of %v in all, want at least 3 of 100 ms", e.Count, total)
	}
}
