package drive

import (
	"testing"
	"time"

	"github.com/mailbench/mailbench/reports"
	"github.com/mailbench/mailbench/reports/judge"
	"github.com/mailbench/mailbench/workloads"
)

func TestSpinTakesFreeProcessors(t *testing.T) {
	for _, c := range []struct {
		free float64
		most int32
		none string
	}{
		{-1, 0, "it takes 4 free processors, and there are 0.0"},
		{3.9, 0, "it takes 4 free processors, and there are 3.9"},
		{4, 2, ""},
		{15.5, 7, ""},
	} {
		var s spins
		if s.allow(c.free); s.limit != c.most || s.whyNone != c.none {
			t.Errorf("%v free: %d may spin, %q", c.free, s.limit, s.whyNone)
		}
	}
	if n := freeProcessors(); n > processors() {
		t.Errorf("%v processors are free, of %v", n, processors())
	}
}

// A worker that spins is not early, and neither is one for which no processor is left.
func TestSpinIsNotEarly(t *testing.T) {
	c, timer := startTimer(t)
	s := spins{limit: 1}
	for _, taken := range []int32{0, 1} {
		s.spinning.Store(taken)
		for range 20 {
			at := c.now() + 100*time.Microsecond
			if err := timer.until(c, at-s.ahead()); err != nil {
				t.Fatal(err)
			}
			if err := s.until(c, timer, at); err != nil {
				t.Fatal(err)
			}
			if now := c.now(); now < at {
				t.Fatalf("%v early", at-now)
			}
		}
		if n := s.spinning.Load(); n != taken {
			t.Errorf("%d spin afterwards", n)
		}
	}
}

// paced carries out an open loop with that pacing, as if so many processors were free.
func paced(t testing.TB, pacing workloads.Pacing, free float64, length time.Duration) Measurement {
	t.Helper()
	target, stream := testTarget(t, idleBound{})
	phase := workloads.Phase{
		Kind: workloads.Measure, Name: "measure", Duration: length, Arrivals: workloads.Constant, Pacing: pacing,
		Rate: workloads.Rate{Count: 1000, Per: time.Second}, Mix: workloads.Mix{workloads.List: 1},
	}
	m, err := Drive(t.Context(), target, Spec{Phase: phase, Stream: stream(&phase), Workers: 32, MaxLag: time.Minute, Free: free})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Results say how operations were waited for, and a doubt why none was spun for.
func TestPacingIsTold(t *testing.T) {
	for _, c := range []struct {
		pacing workloads.Pacing
		free   float64
		told   string
		doubt  bool
	}{
		{workloads.ByTimer, 16, "", false},
		{workloads.BySpin, 4, "spin", false},
		{workloads.BySpin, 2, "", true},
	} {
		m := paced(t, c.pacing, c.free, 100*ms)
		cell := reports.Cell{Kind: reports.KindMeasure, Arrivals: "constant", Ops: m.Ops, Client: &m.Client, Evidence: &m.Evidence}
		doubt := false
		for _, d := range judge.Judge(&cell).Doubts {
			doubt = doubt || d.Code == judge.CodeNoSpin
		}
		if m.Client.Pacing != c.told || doubt != c.doubt || m.Evidence.Started != 100 {
			t.Errorf("%s with %v free: pacing %q, doubt %v, %d operations", c.pacing, c.free, m.Client.Pacing, doubt, m.Evidence.Started)
		}
	}
}

// BenchmarkPacing reports how late 1000 operations a second start, and what each costs. It
// spins whether or not processors are free.
func BenchmarkPacing(b *testing.B) {
	for _, pacing := range []workloads.Pacing{workloads.ByTimer, workloads.BySpin} {
		b.Run(pacing.String(), func(b *testing.B) {
			for b.Loop() {
				m := paced(b, pacing, spinLeast, 2*second)
				b.ReportMetric(float64(m.AllOps.Lag.P50)/1e3, "p50-lag-µs")
				b.ReportMetric(float64(m.AllOps.Lag.P99)/1e3, "p99-lag-µs")
				b.ReportMetric(1e6*m.Client.CPUSeconds/float64(m.Evidence.Started), "cpu-µs/op")
			}
		})
	}
}
