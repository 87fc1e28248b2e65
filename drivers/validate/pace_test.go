package validate

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mailbench/mailbench/drivers"
)

// slowSession is a session whose reads yield rows, the first one after a time.
type slowSession struct {
	drivers.Session
	rows int
	took func() time.Duration
}

func (s *slowSession) Read(_ context.Context, _ drivers.Statement, _ []drivers.Value, yield func([]drivers.Value) error) error {
	time.Sleep(s.took())
	for range s.rows {
		if err := yield(nil); err != nil {
			return err
		}
	}
	return nil
}

// reads makes n reads with a pace, and returns how long they took.
func reads(t *testing.T, p *Pace, n, rows int, took func() time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	s := p.Session(&slowSession{rows: rows, took: took})
	for range n {
		if err := s.Read(t.Context(), nil, nil, func([]drivers.Value) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	return time.Since(began)
}

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// TestRate: 1,000 rows at 100 a second take 10 s, and a delay is not made up by faster reads later.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pace{Rate: 100}
		if got := reads(t, p, 10, 100, always(0)); got < 9900*time.Millisecond || got > 10*time.Second {
			t.Errorf("1,000 rows took %v, want nearly 10s", got)
		}
		time.Sleep(time.Minute)
		if got := reads(t, p, 1, 500, always(0)); got < 4900*time.Millisecond || got > 5*time.Second {
			t.Errorf("500 rows after a minute without one took %v, want nearly 5s", got)
		}
		if got := reads(t, &Pace{}, 10, 1000, always(0)); got != 0 {
			t.Errorf("without a pace reads wait %v", got)
		}
	})
}

// TestPauses: pauses of 1, 2, 4 … 30 s follow slow reads, and 1 s again after some time of quick ones.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pace{Latency: 100 * time.Millisecond}
		if got := reads(t, p, 100, 10, always(100*time.Millisecond)); got != 10*time.Second {
			t.Errorf("reads that are as slow as is allowed took %v, want 10s without a pause", got)
		}
		var b strings.Builder
		p.Kept().write(&b)
		if want := "\nNo pause: no read took longer than 100ms.\n"; b.String() != want {
			t.Errorf("got %q, want %q", b.String(), want)
		}
		if got, want := reads(t, p, 8, 10, always(time.Second)), 8*time.Second+(1+2+4+8+16+30+30+30)*time.Second; got != want {
			t.Errorf("8 slow reads took %v, want %v", got, want)
		}
		if left, pauses := p.pausing(); left != 0 || pauses != 8 {
			t.Errorf("pausing for %v after %d pauses, want 8 that are over", left, pauses)
		}
		reads(t, p, 40, 10, always(100*time.Millisecond))
		time.Sleep(mostPause)
		before := p.Kept().Paused
		reads(t, p, 1, 10, always(time.Second))
		if got := p.Kept().Paused - before; got != 1 {
			t.Errorf("a slow read after quick ones makes a pause of %gs, want 1s", got)
		}
		b.Reset()
		p.Kept().write(&b)
		if want := "\nPaused 9 times, 2m2s in all: reads took longer than 100ms, one of them 1.00s.\n"; b.String() != want {
			t.Errorf("got %q, want %q", b.String(), want)
		}
	})
}

// TestOnePause: reads that were under way when a pause began do not lengthen it, and all sessions wait for it.
func TestOnePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pace{Latency: 100 * time.Millisecond}
		began := time.Now()
		for range 4 {
			go reads(t, p, 1, 1, always(time.Second))
		}
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		reads(t, p, 1, 1, always(0))
		if got := time.Since(began); got != 2*time.Second {
			t.Errorf("another session went on after %v, want 2s: a slow read and a pause", got)
		}
		if kept := p.Kept(); kept.Pauses != 1 || kept.Paused != 1 {
			t.Errorf("%+v, want one pause of 1s", kept)
		}
		ctx, cancel := context.WithCancel(t.Context())
		reads(t, p, 1, 0, always(time.Second))
		cancel()
		if err := p.wait(ctx, 1); err == nil {
			t.Error("a pause goes on although the check was ended")
		}
	})
}
