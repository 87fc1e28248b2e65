// Package meet lets the segments of a run wait for each other. They are processes on different
// machines, and the engine that they load is all that they have in common. So the engine
// keeps their marks, in one small table. A mark says that a segment has come to a point of the
// run. Every segment knows the table's namespace from the run's identity. The first segment makes
// the namespace and drops it.
//
// Between phases segments wait for each other. During a phase each only writes a heartbeat.
package meet

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/drivers/crash"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/plan"
)

//go:embed marks.yaml
var schemaText []byte

const (
	// every is how often a segment that waits looks for the others.
	every = 100 * time.Millisecond
	// ahead is how long all segments wait after the last has come, so that each has seen it.
	ahead = 500 * time.Millisecond
	// applyAtMost is how long the engine may take to make the table.
	applyAtMost = time.Minute
	// markAtMost is how long the engine may take to write a mark.
	markAtMost = 30 * time.Second

	failedPoint = "failed"
)

// ErrGone says that another segment has failed, has ended or sends no heartbeat.
var ErrGone = errors.New("another segment cannot go on")

// Segments is a segment among the others of its run.
type Segments struct {
	Segment plan.Segment
	// Waits, if set, is called with a text that says which segment this one waits for.
	Waits func(what string)

	part              string // part of the run; the prefix of its points
	silence           time.Duration
	store             drivers.Store
	session           drivers.Session
	putMark, getMarks drivers.Statement
	stopHeartbeat     func() error // ends this segment's heartbeat
	heard             []heartbeat  // of each segment, by index - 1
	listened          time.Time    // when this segment looked for heartbeats last
}

// Join opens the store of marks in the segments' namespace, and the first segment makes the table.
// silence is how long another segment may send no heartbeat; 0 means UsualSilence.
func Join(
	ctx context.Context, segment plan.Segment, silence time.Duration,
	open func(ctx context.Context) (drivers.Store, error), waits func(string),
) (*Segments, error) {
	if silence == 0 {
		silence = UsualSilence
	}
	s := &Segments{
		Segment: segment, Waits: waits, silence: silence, heard: make([]heartbeat, segment.Of),
		stopHeartbeat: func() error { return nil },
	}
	schema, err := schemas.Parse("marks.yaml", schemaText)
	if err != nil {
		return nil, err
	}
	if s.store, err = open(ctx); err != nil {
		return nil, err
	}
	if err = s.join(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("meet the other segments: %w", err), s.Close())
	}
	return s, nil
}

func (s *Segments) join(ctx context.Context, schema *schemas.Schema) error {
	var err error
	if s.Segment.Index > 1 { // the first makes the table
		began := time.Now()
		err = s.until(ctx, func() (string, error) {
			switch {
			case s.made(ctx, schema):
				return "", nil
			case time.Since(began) > lateMost*s.silence:
				return "", s.late(1)
			}
			return "1 to begin", nil
		})
	} else if there := s.made(ctx, schema); there {
		return errors.New("an earlier run with the same workload, segments and --start has left its marks; " +
			"choose another --start (\"mailbench engine clean\" removes what is left)")
	}
	if err != nil {
		return err
	}
	apply := func(ctx context.Context) error { return s.store.Apply(ctx, schema) }
	if err := drivers.Within(ctx, applyAtMost, apply); err != nil {
		return err
	}
	var prepared *drivers.Prepared
	// Cassandra lists a table a moment before it takes statements about it.
	err = retry(ctx, func() (err error) {
		prepared, err = drivers.PrepareAll(ctx, s.store, schema)
		return err
	})
	if err != nil {
		return err
	}
	if err := prepared.Fill(map[string]*drivers.Statement{"come": &s.putMark, "see": &s.getMarks}); err != nil {
		return err
	}
	if s.session, err = s.store.Session(); err != nil {
		return err
	}
	return s.startHeartbeat()
}

// made reports whether the table of marks is there and whole.
func (s *Segments) made(ctx context.Context, schema *schemas.Schema) bool {
	stored, err := s.store.Stored(schema)
	if err != nil {
		return false
	}
	there, err := s.store.Inspect(ctx, schema.Name)
	if err != nil {
		return false
	}
	missing, err := drivers.Missing(stored, there)
	return err == nil && len(missing) == 0
}

// until looks again and again until no segment is missing.
func (s *Segments) until(ctx context.Context, look func() (missing string, err error)) error {
	for {
		missing, err := look()
		if err != nil || missing == "" {
			return err
		}
		if s.Waits != nil {
			s.Waits("waits for segment " + missing)
		}
		if err := drivers.Pause(ctx, every); err != nil {
			return err
		}
	}
}

// Begin begins a part of the run. From now on points belong to that part, and earlier failures
// of other segments do not count.
func (s *Segments) Begin(part string) { s.part = part + ": " }

// Barrier waits until all segments have come to the point, and returns in all of them at the
// same time, as far as their machines' clocks agree. If the clocks differ, all return within
// a second.
func (s *Segments) Barrier(ctx context.Context, point string) error {
	if err := s.note(ctx, point, 0, ""); err != nil {
		return err
	}
	if _, err := s.await(ctx, point, s.Segment.Of, false); err != nil {
		return err
	}
	at := time.Now().Add(ahead)
	if s.Segment.Index == 1 {
		if err := s.note(ctx, point+" go", at.UnixMicro(), ""); err != nil {
			return err
		}
	} else {
		there, err := s.await(ctx, point+" go", 1, false)
		if err != nil {
			return err
		}
		at = time.UnixMicro(there[1].at)
	}
	// The bound holds if a clock is wrong.
	return drivers.Pause(ctx, min(ahead, time.Until(at)))
}

// First calls do in the first segment, and then in the others. It returns an error if says, the
// data set's namespace, differs from the first segment's.
func (s *Segments) First(ctx context.Context, point, says string, do func() error) error {
	if s.Segment.Index == 1 {
		if err := do(); err != nil {
			return err
		}
		return s.note(ctx, point, 0, says)
	}
	there, err := s.await(ctx, point, 1, false)
	if err != nil {
		return err
	}
	if there[1].says != says {
		return fmt.Errorf("segment 1 has its data in namespace %s, and this segment in %s: let all segments use a data set "+
			"again, or none of them", there[1].says, says)
	}
	return do()
}

// Done marks that this segment is done with the point. The first segment waits until every other
// has marked it or is lost. The error is ErrGone if some are lost and all others are done.
func (s *Segments) Done(ctx context.Context, point string) error {
	err := s.note(ctx, point, 0, "")
	if err == nil && s.Segment.Index == 1 {
		_, err = s.await(ctx, point, s.Segment.Of, true)
	}
	return err
}

// Fail notifies the others that this segment cannot go on.
func (s *Segments) Fail(ctx context.Context, why error) error {
	return s.note(ctx, failedPoint, 0, why.Error())
}

// await waits until the first so many segments have come to a point of this part of the run, and
// returns the marks there. It ends if any other segment is lost. If it is patient, it waits for those
// that are not, and then returns the errors of those that are.
func (s *Segments) await(ctx context.Context, point string, first int, patient bool) (there map[int]mark, err error) {
	var gone []error
	err = s.until(ctx, func() (string, error) {
		gone = nil
		if there, err = s.marks(ctx, s.part+point); err != nil || len(there) >= first {
			return "", err
		}
		failed, err := s.marks(ctx, s.part+failedPoint)
		if err == nil {
			err = s.listen(ctx)
		}
		lost := make([]error, s.Segment.Of) // of each other segment that has failed, has ended or is silent for too long
		for i := range lost {
			f, has := failed[i+1]
			switch {
			case i+1 == s.Segment.Index:
			case has:
				lost[i] = fmt.Errorf("%w: segment %d: %s", ErrGone, i+1, f.says)
			default:
				lost[i] = s.heard[i].gone
			}
		}
		if err == nil && !patient {
			err = cmp.Or(lost...)
		}
		var missing []string
		for i := range first {
			switch _, come := there[i+1]; {
			case come:
			case lost[i] != nil:
				gone = append(gone, lost[i])
			default:
				missing = append(missing, strconv.Itoa(i+1))
			}
		}
		return strings.Join(missing, ", "), err
	})
	if !patient {
		return there, err
	}
	return there, errors.Join(append(gone, err)...)
}

// mark is what a segment has noted at a point of the run.
type mark struct {
	at   int64
	says string
}

// note notes that this segment has come to a point of this part of the run.
func (s *Segments) note(ctx context.Context, point string, at int64, says string) error {
	// The other segments wait for the mark, so an interrupted segment writes it too.
	return drivers.Within(context.WithoutCancel(ctx), markAtMost, func(ctx context.Context) error {
		return retry(ctx, func() error { return s.write(ctx, s.session, s.part+point, at, says) })
	})
}

func (s *Segments) write(ctx context.Context, session drivers.Session, point string, at int64, says string) error {
	_, err := session.Write(ctx, s.putMark, []drivers.Value{
		drivers.Text(point), drivers.Int(int32(s.Segment.Index)), drivers.Bigint(at), drivers.Text(says),
	})
	return err
}

// marks are those of all segments that have come to a point.
func (s *Segments) marks(ctx context.Context, point string) (there map[int]mark, err error) {
	err = retry(ctx, func() error {
		there = map[int]mark{}
		return s.session.Read(ctx, s.getMarks, []drivers.Value{drivers.Text(point)}, func(row []drivers.Value) error {
			there[int(row[0].Int64())] = mark{row[1].Int64(), row[2].Str()}
			return nil
		})
	})
	return there, err
}

// retry calls an idempotent do until it succeeds, up to 6 times: a network may fail for a moment.
func retry(ctx context.Context, do func() error) (err error) {
	for try := range 6 {
		if err = do(); err == nil || ctx.Err() != nil {
			return err
		}
		_ = drivers.Pause(ctx, every<<try)
	}
	return err
}

// Drop removes the marks. Only the first segment calls it, when all others are done.
func (s *Segments) Drop(ctx context.Context) error {
	_, err := drivers.Drop(ctx, s.store)
	return err
}

// Close closes the store of marks.
func (s *Segments) Close() error {
	err := s.stopHeartbeat()
	if s.session != nil {
		err = errors.Join(err, s.session.Close())
	}
	return errors.Join(err, s.store.Close())
}

// A segment that is killed, or suspended, writes no mark. So each segment writes a heartbeat, one
// small row, from the time that it joins until it leaves the run, during measured phases too.
// Only a segment that waits reads the heartbeats of others.

const (
	// UsualSilence is how long a segment may be silent, unless the run says otherwise.
	UsualSilence = time.Minute
	// beatsIn is how many heartbeats a segment sends in the time that it may be silent.
	beatsIn = 12
	// lateMost is how long a segment may take to join, as a multiple of its allowed silence.
	lateMost = 15

	alivePoint = "alive"
	ended      = "ended"
)

// heartbeat is the last one that this segment has seen of another one.
type heartbeat struct {
	at     int64 // its time by the other segment's clock, in µs; 0: none yet
	missed int   // how often this segment has looked for the next one since
	gone   error // not nil: the other segment is given up
}

// startHeartbeat begins to send heartbeats.
func (s *Segments) startHeartbeat() error {
	session, err := s.store.Session()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	every, ended := s.silence/beatsIn, make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			// A heartbeat that fails is left out. The others decide how many may be missing.
			_ = drivers.Within(ctx, every, func(ctx context.Context) error {
				return crash.Guard(func() error { return s.write(ctx, session, alivePoint, time.Now().UnixMicro(), "") })
			})
			_ = drivers.Pause(ctx, every)
		}
	}()
	s.stopHeartbeat = sync.OnceValue(func() error {
		cancel()
		<-ended
		return session.Close()
	})
	return nil
}

// listen looks for heartbeats, as often as segments send them. A segment is silent for too long if this one
// has looked so often in vain. So measured phases, in which it does not look, and time in which it was
// suspended itself do not count.
func (s *Segments) listen(ctx context.Context) error {
	if time.Since(s.listened) < s.silence/beatsIn {
		return nil
	}
	alive, err := s.marks(ctx, alivePoint)
	if err != nil {
		return err
	}
	s.listened = time.Now()
	for i := range s.heard {
		h, m := &s.heard[i], alive[i+1]
		if h.missed++; m.at != h.at {
			*h = heartbeat{at: m.at}
		}
		switch {
		case m.says == ended:
			h.gone = fmt.Errorf("%w: segment %d has ended", ErrGone, i+1)
		case h.at == 0 && h.missed >= lateMost*beatsIn:
			h.gone = s.late(i + 1)
		case h.at != 0 && h.missed >= beatsIn:
			h.gone = fmt.Errorf("%w: no heartbeat from segment %d for %v, the last at %s by its clock: it may be "+
				"dead, suspended or cut off from the engine (--segment-timeout %v)", ErrGone, i+1,
				s.silence*time.Duration(h.missed)/beatsIn, time.UnixMicro(h.at).UTC().Format(time.RFC3339), s.silence)
		}
	}
	return nil
}

func (s *Segments) late(segment int) error {
	return fmt.Errorf("%w: segment %d has not come within %v, which is %d times --segment-timeout",
		ErrGone, segment, lateMost*s.silence, lateMost)
}

// Leave ends this segment's part in the run. The first segment waits until the others have
// left too; the error is ErrGone if one of them never will.
func (s *Segments) Leave(ctx context.Context) error {
	err := s.stopHeartbeat()
	s.part = ""
	err = errors.Join(err, s.note(ctx, alivePoint, time.Now().UnixMicro(), ended))
	s.Begin("run")
	return errors.Join(err, s.Done(ctx, "done"))
}

// FirstGone reports whether the first segment, which drops what the segments have made on the
// engine, was given up.
func (s *Segments) FirstGone() bool { return s.heard[0].gone != nil }
