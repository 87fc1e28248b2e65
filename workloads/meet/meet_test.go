package meet

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/workloads/plan"
)

// common is one store that all segments of a test have open.
type common struct{ drivers.Store }

func (common) Close() error { return nil }

// segment is one that waits for the others in silence.
func segment(index, of int) *Segments {
	return &Segments{
		Segment: plan.Segment{Index: index, Of: of}, Timeout: UsualTimeout, Waits: func(string) {},
	}
}

// eachSegment joins so many segments and lets them do something, all together.
func eachSegment(t *testing.T, of int, do func(s *Segments) error) {
	t.Helper()
	store, err := pebble.Engine().Open(t.Context(), drivers.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var wg sync.WaitGroup
	for i := range of {
		wg.Go(func() {
			s := segment(i+1, of)
			if err := s.Join(t.Context(), common{store}); err != nil {
				t.Errorf("segment %d: %v", i+1, err)
				return
			}
			if err := errors.Join(do(s), s.Close()); err != nil {
				t.Errorf("segment %d: %v", i+1, err)
			}
		})
	}
	wg.Wait()
}

// No part continues from a point before all have come there.
func TestTogether(t *testing.T) {
	const of = 3
	var come [2]atomic.Int32
	var latest [2]atomic.Int64 // when the last one came
	eachSegment(t, of, func(s *Segments) error {
		for i := range come {
			time.Sleep(time.Duration(i*s.Segment.Index) * ahead * 3 / 5) // the last comes when the first could be gone
			come[i].Add(1)
			latest[i].Store(time.Now().UnixMicro())
			if err := s.Barrier(t.Context(), "point "+string(rune('a'+i))); err != nil {
				return err
			}
			if n := come[i].Load(); n != of {
				t.Errorf("segment %d went on when %d had come", s.Segment.Index, n)
			}
			if after := time.Now().UnixMicro() - latest[i].Load(); after < ahead.Microseconds() {
				t.Errorf("segment %d went on %d µs after the last had come, and others may not have seen that one", s.Segment.Index, after)
			}
		}
		return nil
	})
}

// The first segment does it first, and leaves last.
func TestFirstAndDone(t *testing.T) {
	var done, left atomic.Int32
	eachSegment(t, 3, func(s *Segments) error {
		s.Part = "part"
		err := s.First(t.Context(), "tables", "here", func() error {
			if n := done.Add(1); (n == 1) != (s.Segment.Index == 1) {
				t.Errorf("segment %d was number %d", s.Segment.Index, n)
			}
			return nil
		})
		if s.Segment.Index > 1 {
			left.Add(1)
		}
		err = errors.Join(err, s.Done(t.Context()))
		if n := left.Load(); s.Segment.Index == 1 && n != 2 {
			t.Errorf("the first segment left when %d others had", n)
		}
		return err
	})
}

// Segments that work in different namespaces learn of it.
func TestFirstSaysOtherwise(t *testing.T) {
	eachSegment(t, 2, func(s *Segments) error {
		says := "namespace " + string(rune('0'+s.Segment.Index))
		err := s.First(t.Context(), "tables", says, func() error { return nil })
		if s.Segment.Index == 2 && (err == nil || !strings.Contains(err.Error(), "segment 1 has its data in namespace namespace 1")) {
			t.Errorf("error %v", err)
		}
		return nil
	})
}

// A segment that cannot go on ends the waiting of the others, in all parts of the run. The first still waits until the
// others are done.
func TestFail(t *testing.T) {
	eachSegment(t, 3, func(s *Segments) error {
		s.Part = "first"
		if s.Segment.Index == 2 {
			if err := s.Fail(t.Context(), errors.New("no disk")); err != nil {
				return err
			}
		} else if err := s.Barrier(t.Context(), "a"); !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "segment 2: no disk") {
			t.Errorf("segment %d: %v", s.Segment.Index, err)
		}
		s.Part = "second"
		if s.Segment.Index == 3 {
			if err := s.Barrier(t.Context(), "a"); !errors.Is(err, ErrGone) {
				t.Errorf("in the second part: %v", err)
			}
		}
		return s.Done(t.Context())
	})
}

// Marks that an earlier run left are not taken for those of this one.
func TestLeftMarks(t *testing.T) {
	store, err := pebble.Engine().Open(t.Context(), drivers.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s := segment(1, 2)
	if err := s.Join(t.Context(), common{store}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := segment(1, 2).Join(t.Context(), common{store}); err == nil || !strings.Contains(err.Error(), "choose another --start") {
		t.Errorf("joined a run that was there: %v", err)
	}
}

// A segment that is killed marks nothing. The others say so once while they wait, and name it when they no longer do.
func TestLost(t *testing.T) {
	defer func(was time.Duration) { longWait = was }(longWait)
	longWait = 3 * every
	eachSegment(t, 2, func(s *Segments) error {
		s.Timeout = 6 * every
		if s.Segment.Index == 1 {
			return nil // as if it were killed
		}
		var noted []string
		s.Waits = func(what string) { noted = append(noted, what) }
		err := s.Barrier(t.Context(), "a")
		if !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "segment 1 has not come within 600ms") || !strings.Contains(err.Error(), "engine clean") {
			t.Errorf("the wait ended with %v", err)
		}
		if err := s.Done(t.Context()); err != nil || !s.FirstLost() {
			t.Errorf("the first is gone, which drops what all have made: %v, %v", s.FirstLost(), err)
		}
		if want := []string{"waits for segment 1"}; !slices.Equal(noted, want) {
			t.Errorf("noted %q, want %q", noted, want)
		}
		return nil
	})
	eachSegment(t, 2, func(s *Segments) error {
		s.Timeout = 6 * every
		if s.Segment.Index == 2 {
			return nil
		}
		waits := 0
		s.Waits = func(string) { waits++ }
		for _, part := range []string{"first", "second"} {
			s.Part = part
			if err := s.Barrier(t.Context(), "a"); !errors.Is(err, ErrGone) {
				t.Errorf("%s: the wait ended with %v", part, err)
			}
		}
		if err := s.Done(t.Context()); !errors.Is(err, ErrGone) || waits != 1 {
			t.Errorf("at the end: %v; it has waited %d times, want 1: a lost segment is waited for once", err, waits)
		}
		return nil
	})
}

// A segment that has left the run is done with all parts.
func TestLeft(t *testing.T) {
	eachSegment(t, 2, func(s *Segments) error {
		s.Part = "part"
		if s.Segment.Index == 2 {
			return s.Leave(t.Context())
		}
		return s.Done(t.Context())
	})
}

// A segment that has come to a barrier and no longer waits there, because it was interrupted or others were late, is
// not part of it: those that come later do not go on without it.
func TestCameAndWent(t *testing.T) {
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	for why, ctx := range map[string]context.Context{"context canceled": interrupted, "segment 2 has not come within 200ms": t.Context()} {
		went := make(chan struct{})
		eachSegment(t, 2, func(s *Segments) error {
			s.Part = "part"
			if s.Segment.Index == 1 {
				defer close(went)
				s.Timeout = 2 * every
				err := s.Barrier(ctx, "a")
				if err == nil {
					t.Errorf("%s: it went on alone", why)
				}
				return s.Fail(ctx, err)
			}
			<-went
			err := s.Barrier(t.Context(), "a")
			if !errors.Is(err, ErrGone) || !strings.HasPrefix(err.Error(), "another segment cannot go on: segment 1: "+why) {
				t.Errorf("%s: the other one has %v", why, err)
			}
			return nil
		})
	}
}
