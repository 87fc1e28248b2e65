package results

import (
	"testing"
	"time"

	"github.com/mailbench/mailbench/workloads/latency"
)

// Operations that were slow and did not succeed are in the percentiles of all that was
// scheduled, and those that were dropped are slower than all.
func TestDue(t *testing.T) {
	const fast, slow = 160 * time.Microsecond, 500 * time.Millisecond
	record := func(ok, slowOnes, dropped int, out latency.Outcome) *Latency {
		r := latency.NewRecorder(1, 1, true)
		w := r.Worker(0)
		for range ok {
			w.Record(0, latency.OK, false, 0, 0, fast, 0)
		}
		for range slowOnes {
			w.Record(0, out, false, 0, 0, slow, 0)
		}
		for range dropped {
			w.Record(0, latency.Dropped, false, 0, 0, 0, 0)
		}
		r.Tick()
		all, _ := TimesOf(&r.Total[0])
		return all.Due
	}
	near := func(ns int64, want time.Duration) bool { return ns > int64(want)*99/100 && ns < int64(want)*101/100 }
	if l := record(1000, 0, 0, latency.OK); l != nil {
		t.Errorf("all were ok: %+v", l)
	}
	if l := record(1000, 100, 0, latency.TooLarge); l != nil {
		t.Errorf("some were refused: %+v", l)
	}
	for _, out := range []latency.Outcome{latency.Unknown, latency.Failed, latency.NotFound} {
		if l := record(970, 30, 0, out); l == nil || !near(l.P50, fast) || !near(l.P99, slow) || !near(l.Max, slow) {
			t.Errorf("3%% ended with outcome %d after 500 ms: %+v", out, l)
		}
	}
	if l := record(970, 20, 10, latency.Unknown); !near(l.P50, fast) || !near(l.P99, slow) ||
		l.P999 != NeverEnded || l.Max != NeverEnded {
		t.Errorf("1%% dropped: %+v", l)
	}
	if l := record(400, 0, 600, latency.OK); l.P50 != NeverEnded || l.P90 != NeverEnded {
		t.Errorf("60%% dropped: %+v", l)
	}
	if l := record(0, 0, 5, latency.OK); l.P50 != NeverEnded {
		t.Errorf("all dropped: %+v", l)
	}
}

// Quantiles are of all scheduled operations, and those among dropped operations never ended.
func TestQuantiles(t *testing.T) {
	r := latency.NewRecorder(1, 1, true)
	w := r.Worker(0)
	for i := range 900 {
		w.Record(0, latency.OK, false, 0, 0, time.Duration(i+1)*time.Millisecond, 0)
	}
	for range 100 {
		w.Record(0, latency.Dropped, false, 0, 0, 0, 0)
	}
	r.Tick()
	_, got := TimesOf(&r.Total[0])
	if len(got) != len(QuantileShares) {
		t.Fatalf("%d quantiles, want %d", len(got), len(QuantileShares))
	}
	for i, share := range QuantileShares {
		want := share * 1000 * 1e6
		if share > 0.9 {
			want = NeverEnded
		}
		if d := float64(got[i]) - want; d < -0.002*want-1 || d > 0.002*want+1 {
			t.Errorf("at %v %d, want %v", share, got[i], want)
		}
	}
	if _, none := TimesOf(&latency.Op{}); none != nil {
		t.Error("an operation that was not due has quantiles")
	}
}
