package workloads

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"sync"
	"time"
)

// Stream makes the operations of a phase, one after another. Several workers share
// one; each operation is made by the worker that will carry it out.
type Stream interface {
	// Next makes the next operation into o, whose buffers are used again, and
	// returns when it is due after the start of the phase. Now is the caller's last
	// reading of the clock, since the start of the phase; it ends a closed loop. Ok
	// is false when the phase has no more.
	Next(now time.Duration, o *Operation) (due time.Duration, ok bool)
	// Open reports whether operations are due at a time of their own.
	Open() bool
	// Span is how long the schedule is, as far as it has been asked for. It is 0
	// for a closed loop.
	Span() time.Duration
}

// Stream returns the operations of a warm-up or a measured phase.
func (w *Workload) Stream(p *Phase, c *Census) Stream {
	return &mixStream{plan: w.Plan(p, c), schedule: p.Schedule(w.Seed), phase: *p}
}

// mixStream draws operations from a mix. Only the claim of a number and its due
// time is made under the lock; the operation is a pure function of its number.
type mixStream struct {
	plan  *Plan
	phase Phase

	mu       sync.Mutex
	schedule Schedule // nil: closed loop
	next     uint64
	last     time.Duration // due time of the operation claimed last
}

// Next implements Stream.
func (s *mixStream) Next(now time.Duration, o *Operation) (due time.Duration, ok bool) {
	n, due, ok := s.claim(now)
	if ok {
		s.plan.Next(n, o)
	}
	return due, ok
}

func (s *mixStream) claim(now time.Duration) (n uint64, due time.Duration, ok bool) {
	p := &s.phase
	s.mu.Lock()
	if s.schedule != nil {
		due, ok = s.schedule.Next()
	} else {
		ok = (p.Operations == 0 || s.next < p.Operations) && (p.Duration == 0 || now < p.Duration)
	}
	if ok {
		n, s.last = s.next, due
		s.next++
	}
	s.mu.Unlock()
	return n, due, ok
}

// Open implements Stream.
func (s *mixStream) Open() bool { return s.schedule != nil }

// Span implements Stream. A schedule of so many operations ends one interval of the
// mean rate after the last.
func (s *mixStream) Span() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.schedule == nil || s.next == 0 {
		return 0
	}
	if s.phase.Duration > 0 {
		return s.phase.Duration
	}
	return s.last + time.Duration(float64(time.Second)/s.phase.Rate.PerSecond())
}

// LoadStream returns the deliveries of the load, in order of arrival. They are due
// as soon as a worker is free. The error is that of ctx.
func (c *Census) LoadStream(ctx context.Context) (Stream, error) {
	order, err := c.LoadOrder(ctx)
	if err != nil {
		return nil, err
	}
	return &loadStream{order: order}, nil
}

type loadStream struct {
	mu    sync.Mutex
	order *LoadOrder
}

// Next implements Stream.
func (s *loadStream) Next(_ time.Duration, o *Operation) (due time.Duration, ok bool) {
	s.mu.Lock()
	a, ok := s.order.Next()
	s.mu.Unlock()
	*o = Operation{
		Op: Deliver, N: a.N, Message: a.N, User: a.User, Folder: a.Folder, Date: a.Date,
		Recipients: append(o.Recipients[:0], a.User),
	}
	return 0, ok
}

// Open implements Stream.
func (*loadStream) Open() bool { return false }

// Span implements Stream.
func (*loadStream) Span() time.Duration { return 0 }

// Digested is how many operations of a phase its digest is made from, at most.
const Digested = 10_000

// PlanDigest returns the SHA-256, in hex, of the first operations of a phase with
// their due times, and how many they are. Two runs with the same digest ask for the
// same operations at the same times. Which message an operation chooses is drawn
// among those that are live when it comes up, and is not part of the plan.
func (w *Workload) PlanDigest(p *Phase, c *Census) (sum string, operations int64) {
	s, h := w.Stream(p, c), sha256.New()
	var o Operation
	for operations < Digested {
		due, ok := s.Next(0, &o)
		if !ok {
			break
		}
		operations++
		o.digest(h, due)
	}
	return hex.EncodeToString(h.Sum(nil)), operations
}

// digest writes all that the plan says of an operation.
func (o *Operation) digest(h hash.Hash, due time.Duration) {
	var b [8]byte
	write := func(v uint64) {
		binary.LittleEndian.PutUint64(b[:], v)
		h.Write(b[:])
	}
	flags := uint64(0)
	if o.Deep {
		flags |= 1
	}
	if o.On {
		flags |= 2
	}
	for _, v := range []uint64{
		o.N, uint64(o.Op), uint64(o.User), uint64(o.Folder), uint64(o.To), o.Pick, flags, o.Message, uint64(o.Date.UnixNano()), uint64(due),
	} {
		write(v)
	}
	for _, u := range o.Recipients {
		write(uint64(u))
	}
}
