package meet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/pebble"
	"github.com/mailbench/mailbench/workloads/plan"
)

// A segment is given up when this one has looked for its heartbeat for a minute in vain, and for no
// other reason.
func TestHeard(t *testing.T) {
	store, err := pebble.Engine().Open(t.Context(), drivers.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	open := func(context.Context) (drivers.Store, error) { return common{store}, nil }
	s, err := Join(t.Context(), plan.Segment{Index: 1, Of: 2}, 0, open, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Now()
	beat := now.Add(-time.Hour).Truncate(time.Second) // its clock is wrong
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	const came = lateMost * beatsIn
	other := *s
	other.Segment.Index = 2
	for _, c := range []struct {
		what         string
		looked       time.Time // when segment 1 looked last
		missed       int       // how often it had looked in vain
		known, given int64     // the heartbeat that it knows, and the last one
		ended        bool
		want         string
	}{
		{what: "has not come yet", missed: came - 2, looked: ago(5 * time.Second)},
		{what: "does not come", missed: came - 1, looked: ago(5 * time.Second), want: "segment 2 has not come within 15m0s"},
		{what: "came", missed: came - 1, looked: ago(5 * time.Second), given: beat.UnixMicro()},
		{what: "silent for a while", missed: beatsIn - 2, looked: ago(5 * time.Second), known: beat.UnixMicro()},
		{
			what: "silent", missed: beatsIn - 1, looked: ago(5 * time.Second), known: beat.UnixMicro(),
			want: "for 1m0s, the last at " + beat.UTC().Format(time.RFC3339) + " by its clock",
		},
		{what: "still silent", want: "no heartbeat from segment 2"}, // looked at a moment ago
		{what: "looked too early", missed: beatsIn - 1, looked: ago(4 * time.Second), known: beat.UnixMicro()},
		{what: "nobody listened", looked: ago(time.Hour), known: beat.UnixMicro()},
		{what: "is back", missed: beatsIn, looked: ago(5 * time.Second), known: beat.UnixMicro(), given: beat.Add(time.Second).UnixMicro()},
		{what: "left", looked: ago(5 * time.Second), known: beat.UnixMicro(), given: beat.UnixMicro(), ended: true, want: "segment 2 has ended"},
	} {
		if !c.looked.IsZero() {
			s.heard[1], s.listened = heartbeat{at: c.known, missed: c.missed}, c.looked
		}
		if c.given != 0 {
			says := ""
			if c.ended {
				says = ended
			}
			if err := other.write(t.Context(), other.session, alivePoint, c.given, says); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.listen(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := s.heard[1].gone
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrGone) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

// A segment sends heartbeats by itself, and no other waits forever for one that dies without a
// word: not before a phase, nor at the end of the run.
func TestDiesWithoutAWord(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dead := make(chan struct{})
	eachSegment(t, 2, func(s *Segments) error {
		if s.Segment.Index == 2 {
			defer close(dead)
			for {
				if there, err := s.marks(ctx, alivePoint); there[2].at != 0 || err != nil {
					return errors.Join(err, s.stopHeartbeat())
				}
			}
		}
		<-dead
		s.silence = time.Second
		for _, part := range []string{"first", "second"} {
			s.Begin(part)
			if err := s.Barrier(ctx, "a"); !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "no heartbeat from segment 2 for ") {
				t.Errorf("%s: error %v", part, err)
			}
		}
		if err := s.Leave(ctx); !errors.Is(err, ErrGone) {
			t.Errorf("leave: %v", err)
		}
		return nil
	})
}
