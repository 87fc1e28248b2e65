// Package meet lets the segments of a run wait for each other. They are processes on different
// machines, and the engine that they load is all that they have in common. So the engine
// keeps their marks, in one small table. A mark says that a segment has come to a point of the
// run. Every segment knows the table's namespace from the run's identity. The first segment makes
// the namespace and drops it.
//
// Segments wait for each other between phases. While a phase is measured, they neither read nor write marks.
package meet

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/schemas"
	"github.com/mailbench/mailbench/workloads/plan"
)

//go:embed marks.yaml
var schemaText []byte

const (
	// UsualTimeout is how long a segment waits for another one, unless the run says otherwise.
	UsualTimeout = 15 * time.Minute
	// every is how often a segment that waits looks for the others.
	every = 100 * time.Millisecond
	// ahead is how long all segments wait after the last has come, so that each has seen it.
	ahead = 500 * time.Millisecond
	// atMost is how long the engine may take to make the table, or to write a mark.
	atMost = time.Minute

	// Points of the whole run: a segment cannot go on, and it has left.
	failedPoint, leftPoint = "failed", "left"
)

// longWait is how long a wait lasts before it is noted. Tests lower it.
var longWait = 10 * time.Second

// ErrGone says that another segment has failed or does not come.
var ErrGone = errors.New("another segment cannot go on")

// Segments is a segment among the others of its run.
type Segments struct {
	Segment plan.Segment
	// Timeout is how long it waits for another segment.
	Timeout time.Duration
	// Waits is called with a text that says which segment this one waits for, once in a wait that lasts long.
	Waits func(what string)
	Part  string // the part of the run that is under way, to which points belong

	lost              map[int]bool // segments that were late once: this one does not wait for them again
	store             drivers.Store
	session           drivers.Session
	putMark, getMarks drivers.Statement
}

// Join meets in a store of the segments' namespace, which it closes if it fails. The first segment makes the table.
func (s *Segments) Join(ctx context.Context, store drivers.Store) (err error) {
	s.lost, s.store = map[int]bool{}, store
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("meet the other segments: %w", err), s.Close())
		}
	}()
	schema, err := schemas.Parse("marks.yaml", schemaText)
	if err != nil {
		return err
	}
	if s.Segment.Index > 1 { // the first makes the table
		err = s.until(ctx, func(late bool) (string, error) {
			switch {
			case s.made(ctx, schema):
				return "", nil
			case late:
				return "", s.late(1)
			}
			return "1", nil
		})
	} else if s.made(ctx, schema) {
		return errors.New("an earlier run with the same workload, segments and --start has left its marks; " +
			"choose another --start (\"mailbench engine clean\" removes what is left)")
	}
	if err != nil {
		return err
	}
	err = drivers.Within(ctx, atMost, func(ctx context.Context) error { return s.store.Apply(ctx, schema) })
	if err != nil {
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
	s.session, err = s.store.Session()
	return err
}

// made reports whether the table of marks is there and whole.
func (s *Segments) made(ctx context.Context, schema *schemas.Schema) bool {
	stored, err := s.store.Stored(schema)
	there, inspectErr := s.store.Inspect(ctx, schema.Name)
	if cmp.Or(err, inspectErr) != nil {
		return false
	}
	missing, err := drivers.Missing(stored, there)
	return err == nil && len(missing) == 0
}

// until looks again and again until no segment is missing. late says that the wait has lasted for the timeout. The
// time in which this process itself is suspended does not count.
func (s *Segments) until(ctx context.Context, look func(late bool) (missing string, err error)) error {
	for waited := time.Duration(0); ; waited += every {
		missing, err := look(waited >= s.Timeout)
		if err != nil || missing == "" {
			return err
		}
		if waited == longWait {
			s.Waits("waits for segment " + missing)
		}
		if err := drivers.Pause(ctx, every); err != nil {
			return err
		}
	}
}

// late is the error for segments that do not come.
func (s *Segments) late(segments ...int) error {
	var names []string
	for _, n := range segments {
		s.lost[n], names = true, append(names, strconv.Itoa(n))
	}
	err := fmt.Errorf("%w: segment %s has not come within %v (--segment-timeout): it may be dead, suspended or cut off "+
		"from the engine", ErrGone, strings.Join(names, ", "), s.Timeout)
	if s.lost[1] {
		err = fmt.Errorf("%w; \"mailbench engine clean\" drops what it leaves there", err)
	}
	return err
}

// FirstLost reports whether this segment has waited in vain for the first one, which drops what all have made.
func (s *Segments) FirstLost() bool { return s.lost[1] }

// Barrier waits until all segments have come to the point, and returns in all of them at the
// same time, as far as their machines' clocks agree. If the clocks differ, all return within
// a second.
func (s *Segments) Barrier(ctx context.Context, point string) error {
	point = s.Part + ": " + point
	if err := s.note(ctx, point, ""); err != nil {
		return err
	}
	there, err := s.await(ctx, point, s.Segment.Of, failedPoint)
	if err != nil {
		return err
	}
	var last int64
	for _, m := range there {
		last = max(last, m.at)
	}
	// The bound holds if a clock is wrong.
	return drivers.Pause(ctx, min(ahead, time.Until(time.UnixMicro(last).Add(ahead))))
}

// First calls do in the first segment, and then in the others. It returns an error if says, the
// data set's namespace, differs from the first segment's.
func (s *Segments) First(ctx context.Context, point, says string, do func() error) error {
	point = s.Part + ": " + point
	if s.Segment.Index == 1 {
		if err := do(); err != nil {
			return err
		}
		return s.note(ctx, point, says)
	}
	there, err := s.await(ctx, point, 1, failedPoint)
	if err != nil {
		return err
	}
	if there[1].says != says {
		return fmt.Errorf("segment 1 has its data in namespace %s, and this segment in %s: let all segments use a data set "+
			"again, or none of them", there[1].says, says)
	}
	return do()
}

// Done marks that this segment is done with the part of the run. The first segment waits until every other is, or has
// left the run. The error is ErrGone if some do not come, and all others are done.
func (s *Segments) Done(ctx context.Context) error { return s.done(ctx, s.Part+": done") }

func (s *Segments) done(ctx context.Context, point string) error {
	if err := s.note(ctx, point, ""); err != nil || s.Segment.Index > 1 {
		return err
	}
	_, err := s.await(ctx, point, s.Segment.Of, leftPoint)
	return err
}

// Leave ends this segment's part in the run. The first segment drops the marks when all others have left, or do not
// come; then the error is ErrGone. An interrupted one does not wait for them. The others return nil.
func (s *Segments) Leave(ctx context.Context) error {
	err := s.done(ctx, leftPoint)
	switch {
	case s.Segment.Index > 1:
		return nil // the first one waits, and says who is missing
	case ctx.Err() != nil:
		err = nil
	case err != nil && !errors.Is(err, ErrGone):
		return err
	}
	_, dropped := drivers.Drop(context.WithoutCancel(ctx), s.store)
	return cmp.Or(dropped, err)
}

// Fail notifies the others that this segment cannot go on. One that waits at a barrier must note that, too: else
// those that come later would go on without it.
func (s *Segments) Fail(ctx context.Context, why error) error {
	return s.note(ctx, failedPoint, why.Error())
}

// await waits until the first so many segments have come to a point, and returns the marks there. One that has come to
// the other point is not waited for, and if that is failedPoint, the wait ends. The error is ErrGone if some do not
// come.
func (s *Segments) await(ctx context.Context, point string, first int, other string) (there map[int]mark, err error) {
	err = s.until(ctx, func(late bool) (string, error) {
		ended, err := s.marks(ctx, other)
		if err != nil {
			return "", err
		}
		if there, err = s.marks(ctx, point); err != nil {
			return "", err
		}
		var missing []string
		var gone []int
		for i := 1; i <= first; i++ {
			_, come := there[i]
			why, has := ended[i]
			switch {
			case has && other == failedPoint && i != s.Segment.Index:
				cause := strings.TrimPrefix(why.says, ErrGone.Error()+": ")
				return "", fmt.Errorf("%w: segment %d: %s", ErrGone, i, cause)
			case come || has:
			case late || s.lost[i]:
				gone = append(gone, i)
			default:
				missing = append(missing, strconv.Itoa(i))
			}
		}
		if len(missing) > 0 || len(gone) == 0 {
			return strings.Join(missing, ", "), nil
		}
		return "", s.late(gone...)
	})
	return there, err
}

// mark is what a segment has noted at a point of the run.
type mark struct {
	at   int64 // when it came, by its clock, in µs
	says string
}

// note notes that this segment has come to a point.
func (s *Segments) note(ctx context.Context, point, says string) error {
	args := []drivers.Value{
		drivers.Text(point), drivers.Int(int32(s.Segment.Index)), drivers.Bigint(time.Now().UnixMicro()),
		drivers.Text(says),
	}
	// The other segments wait for the mark, so an interrupted segment writes it too.
	return drivers.Within(context.WithoutCancel(ctx), atMost, func(ctx context.Context) error {
		return retry(ctx, func() error {
			_, err := s.session.Write(ctx, s.putMark, args)
			return err
		})
	})
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

// Close closes the store of marks.
func (s *Segments) Close() error {
	var err error
	if s.session != nil {
		err = s.session.Close()
	}
	return errors.Join(err, s.store.Close())
}
