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

// A shard is given up when it was silent for a minute in which this one looked for its
// signs, and for no other reason.
func TestHeard(t *testing.T) {
	store, err := pebble.Engine().Open(t.Context(), drivers.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	open := func(context.Context) (drivers.Store, error) { return common{store}, nil }
	s, err := Join(t.Context(), plan.Shard{Index: 1, Of: 2}, 0, open, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Now()
	sign := now.Add(-time.Hour).Truncate(time.Second) // its clock is wrong
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	other := *s
	other.Shard.Index = 2
	for _, c := range []struct {
		what          string
		since, looked time.Time // of the state that shard 1 knows
		known, given  int64     // the sign that it knows, and the last one
		ended         bool
		want          string
	}{
		{what: "has not come yet", since: ago(14 * time.Minute), looked: ago(5 * time.Second)},
		{what: "does not come", since: ago(15 * time.Minute), looked: ago(5 * time.Second), want: "shard 2 has not come within 15m0s"},
		{what: "came", since: ago(15 * time.Minute), looked: ago(5 * time.Second), given: sign.UnixMicro()},
		{what: "silent for a while", since: ago(30 * time.Second), looked: ago(5 * time.Second), known: sign.UnixMicro()},
		{
			what: "silent", since: ago(time.Minute), looked: ago(5 * time.Second), known: sign.UnixMicro(),
			want: ", the last at " + sign.UTC().Format(time.RFC3339) + " by its clock",
		},
		{what: "still silent", want: "no heartbeat from shard 2"}, // looked at a moment ago
		{what: "nobody listened", since: ago(time.Hour), looked: ago(31 * time.Second), known: sign.UnixMicro()},
		{what: "is back", since: ago(time.Hour), looked: ago(5 * time.Second), known: sign.UnixMicro(), given: sign.Add(time.Second).UnixMicro()},
		{what: "left", since: now, looked: ago(5 * time.Second), known: sign.UnixMicro(), given: sign.UnixMicro(), ended: true, want: "shard 2 has ended"},
	} {
		if l := &s.signs[1]; !c.looked.IsZero() {
			l.at, l.since, l.looked, l.gone = c.known, c.since, c.looked, nil
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
		err := s.heard(t.Context(), 2)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrGone) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
}

// A shard gives signs by itself, and no other waits forever for one that dies without a
// word: not before a phase, nor at the end of the run.
func TestDiesWithoutAWord(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dead := make(chan struct{})
	eachShard(t, 2, func(s *Shards) error {
		if s.Shard.Index == 2 {
			defer close(dead)
			for {
				if m, err := s.read(ctx, alivePoint, 2); m.there || err != nil {
					return errors.Join(err, s.stopHeartbeat())
				}
			}
		}
		<-dead
		s.silence = time.Second
		for _, part := range []string{"first", "second"} {
			s.Begin(part)
			if err := s.Barrier(ctx, "a"); !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "no heartbeat from shard 2 for ") {
				t.Errorf("%s: error %v", part, err)
			}
		}
		if err := s.Leave(ctx); !errors.Is(err, ErrGone) {
			t.Errorf("leave: %v", err)
		}
		return nil
	})
}
