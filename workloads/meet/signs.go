package meet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
)

// A shard that is killed, or stands still, writes no mark. So each shard writes a heartbeat, one
// small row, from the time that it joins until it leaves the run, during measured phases too.
// Only a shard that waits reads the heartbeats of others.

const (
	// UsualSilence is how long a shard may be silent, unless the run says otherwise.
	UsualSilence = time.Minute
	// signsIn is how many signs of life a shard gives in the time that it may be silent.
	signsIn = 12
	// lateMost is how long a shard may take to join, as a multiple of its allowed silence.
	lateMost = 15

	alivePoint = "alive"
	ended      = "ended"
)

// sign is the last sign of life that this shard has seen of another one.
type sign struct {
	at     int64     // its time by the other shard's clock, in µs; 0: none yet
	since  time.Time // when this shard first saw the sign
	looked time.Time // when this shard looked last
	gone   error     // not nil: the other shard is given up
}

// heartbeat gives this shard's signs of life.
type heartbeat struct {
	session drivers.Session
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// startHeartbeat begins to give signs of life.
func (s *Shards) startHeartbeat() error {
	session, err := s.store.Session()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &heartbeat{session: session, stop: stop}
	every := s.silence / signsIn
	p.done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for ctx.Err() == nil {
			// A sign that fails is left out. The others decide how many may be missing.
			_ = drivers.Within(ctx, every, func(ctx context.Context) error {
				return crash.Guard(func() error { return s.write(ctx, session, alivePoint, time.Now().UnixMicro(), "") })
			})
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	s.heartbeat = p
	return nil
}

// stopHeartbeat ends the signs of life.
func (s *Shards) stopHeartbeat() error {
	if s.heartbeat == nil {
		return nil
	}
	p := s.heartbeat
	s.heartbeat = nil
	p.stop()
	p.done.Wait()
	return p.session.Close()
}

// heard returns an error if another shard has left the run, or was silent for too long. Only
// time in which this shard looked for signs counts: no measured phase, and no time in which
// it stood still itself.
func (s *Shards) heard(ctx context.Context, shard int) error {
	l := &s.signs[shard-1]
	if time.Since(l.looked) < s.silence/signsIn/2 {
		return l.gone
	}
	at, says, ok, err := s.read(ctx, alivePoint, shard)
	if err != nil {
		return err
	}
	now := time.Now()
	switch {
	case ok && says == ended:
		l.gone = fmt.Errorf("%w: shard %d has ended", ErrGone, shard)
	case ok && at != l.at, l.since.IsZero():
		l.at, l.since, l.gone = at, now, nil
	case l.gone == nil && l.at != 0 && now.Sub(l.looked) > s.silence/2:
		l.since = now
	}
	l.looked = now
	switch silent := now.Sub(l.since).Round(time.Second / 10); {
	case l.gone != nil:
	case l.at != 0 && silent >= s.silence:
		l.gone = fmt.Errorf("%w: shard %d gave no sign of life for %v, the last at %s by its clock: "+
			"it was killed, stands still or does not reach the engine (--shard-timeout %v)", ErrGone, shard, silent,
			time.UnixMicro(l.at).UTC().Format(time.RFC3339), s.silence)
	case l.at == 0 && silent >= lateMost*s.silence:
		l.gone = s.late(shard)
	}
	return l.gone
}

func (s *Shards) late(shard int) error {
	return fmt.Errorf("%w: shard %d has not come within %v, which is %d times --shard-timeout",
		ErrGone, shard, lateMost*s.silence, lateMost)
}

// Leave ends this shard's part in the run. The first shard waits until the others have
// left too; the error is ErrGone if one of them never will.
func (s *Shards) Leave(ctx context.Context) error {
	err := s.stopHeartbeat()
	s.part = ""
	err = errors.Join(err, s.mark(ctx, alivePoint, time.Now().UnixMicro(), ended))
	s.Begin("run")
	return errors.Join(err, s.Done(ctx, "done"))
}

// FirstGone reports whether the first shard, which drops what the shards have made on the
// engine, was given up.
func (s *Shards) FirstGone() bool { return s.signs[0].gone != nil }
