package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// Stream makes the operations of a phase, one after another. Several workers share
// one; each operation is made by the worker that will execute it.
type Stream interface {
	// Next makes the next operation into o, whose buffers are used again, and returns when it is scheduled after the
	// start of the phase. Now is the caller's last reading of the clock, since the start of the phase; it ends a closed
	// loop. Ok is false when the phase has no more. A caller passes the same o each time: in a closed loop, o
	// identifies the client.
	Next(now time.Duration, o *Operation) (due time.Duration, ok bool)
	// Open reports whether operations have a schedule: an open loop.
	Open() bool
	// Span is how long the schedule is: as long as the phase, or else up to the last
	// operation that Next has made. It is 0 for a closed loop.
	Span() time.Duration
}

// Recorded is a file of operations that was read (Phase.Replay).
type Recorded interface {
	// Due is when operation n is scheduled after the start of a phase, so many times as fast as recorded; ok is false
	// after the last.
	Due(n uint64, speed float64) (due time.Duration, ok bool)
	// Operation makes operation n into o. The plan draws what the file does not say.
	Operation(p *Plan, c *Census, n uint64, o *Operation)
}

// StreamOf returns the operations of a warm-up or a measured phase. If the census is that of a
// segment, it returns those of the segment's users.
func StreamOf(w *workloads.Workload, p *workloads.Phase, c *Census) Stream {
	s := &merged{phase: *p}
	streams := p.Streams
	if len(streams) == 0 {
		streams = []workloads.Phase{*p}
	}
	for i, one := range streams {
		one.Number, one.Stream, one.Duration, one.Operations = p.Number, i, p.Duration, p.Operations
		s.parts = append(s.parts, part{Plan: New(w, &one, c)})
	}
	return c.own(s)
}

// merged is the streams of a phase, in the order in which their operations are scheduled. The lock is held only to take
// a number and its scheduled time, since the operation is a pure function of its number.
type merged struct {
	phase workloads.Phase
	parts []part

	mu      sync.Mutex
	next    uint64        // number of the next operation
	last    time.Duration // scheduled time of the operation taken last
	clients int           // clients of a closed loop that have called Next
}

// part is one stream.
type part struct {
	*Plan
	schedule // of an open loop

	next   uint64        // number of the next operation, or of the next session
	due    time.Duration // when next is scheduled, if ahead
	ahead  bool          // due is known
	visits []visit       // sessions under way: a heap with the one that is scheduled first on top
}

// Next implements Stream.
func (s *merged) Next(now time.Duration, o *Operation) (due time.Duration, ok bool) {
	if !s.Open() {
		return 0, s.closed(now, o)
	}
	s.mu.Lock()
	var p *part // the stream whose operation is due first
	for i := range s.parts {
		if at, more := s.parts[i].head(); more && (p == nil || at < due) {
			p, due = &s.parts[i], at
		}
	}
	if p == nil || s.phase.Operations > 0 && s.next >= s.phase.Operations {
		s.mu.Unlock()
		return 0, false
	}
	number, own := s.next, p.next
	s.next++
	s.last = due
	if p.phase.Session == nil {
		p.next++
		p.ahead = false
		s.mu.Unlock()
		p.Plan.Next(own, o)
	} else { // a session ends before a step that is scheduled after the end of the phase
		top := &p.visits[0]
		v := *top
		more := top.next(p.phase.Session)
		if more {
			top.due += top.think(p.phase.Session, p.phase.Think)
			more = p.phase.Duration == 0 || top.due < p.phase.Duration
		}
		if end := len(p.visits) - 1; !more {
			p.visits[0] = p.visits[end]
			p.visits = p.visits[:end]
		}
		sift(p.visits, 0, (*visit).before)
		s.mu.Unlock()
		p.step(&v, o)
	}
	o.N, o.Stream = number, p.phase.Stream
	return due, true
}

// head returns when the stream's next operation is scheduled; ok is false if it has none. It begins all
// sessions that are due no later than that operation.
func (p *part) head() (due time.Duration, ok bool) {
	for {
		if !p.ahead {
			p.due, p.ahead = p.start(p.Plan, p.next)
		}
		switch {
		case p.phase.Session == nil:
			return p.due, p.ahead
		case len(p.visits) > 0 && (!p.ahead || p.due > p.visits[0].due):
			return p.visits[0].due, true
		case !p.ahead:
			return 0, false
		}
		var v visit
		if v.begin(p.phase.Session, p.seed, p.stream, p.next, p.due) {
			p.visits = append(p.visits, v)
			a := p.visits
			for i := len(a) - 1; i > 0 && a[i].before(&a[(i-1)/2]); i = (i - 1) / 2 {
				a[i], a[(i-1)/2] = a[(i-1)/2], a[i]
			}
		}
		p.next++
		p.ahead = false
	}
}

// closed makes the next operation of a closed loop's client, which o identifies.
func (s *merged) closed(now time.Duration, o *Operation) bool {
	s.mu.Lock()
	if f := &s.phase; f.Operations > 0 && s.next >= f.Operations || f.Duration > 0 && now >= f.Duration {
		s.mu.Unlock()
		return false
	}
	if o.client == 0 {
		s.clients++
		o.client = s.clients
	}
	p, v := &s.parts[0], &o.visit
	at := (o.client - 1) % max(1, s.phase.Clients) // among the clients of the streams
	for i := 1; i < len(s.parts) && at >= p.phase.Clients; i++ {
		at -= p.phase.Clients
		p = &s.parts[i]
	}
	number, own := s.next, p.next
	s.next++
	if p.phase.Session == nil || v.done == 0 || !v.next(p.phase.Session) {
		p.next++
		if p.phase.Session != nil {
			v.begin(p.phase.Session, p.seed, p.stream, own, 0)
		}
	}
	s.mu.Unlock()

	if p.phase.Session != nil {
		p.step(v, o)
		o.Think = v.think(p.phase.Session, p.phase.Think)
	} else {
		p.Plan.Next(own, o)
		if p.phase.Think != nil {
			o.rand.Seed(p.seed, streamThink+p.stream<<8, own)
			o.Think = time.Duration(p.phase.Think.Draw(&o.rand))
		}
	}
	o.N, o.Stream = number, p.phase.Stream
	return true
}

// Open implements Stream.
func (s *merged) Open() bool { return s.phase.Arrivals != workloads.Closed }

// Span implements Stream. A schedule of so many operations ends one interval of the mean rate after the last.
func (s *merged) Span() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.Open() || s.next == 0:
		return 0
	case s.phase.Duration > 0:
		return s.phase.Duration
	}
	return s.last + time.Duration(float64(time.Second)/s.phase.Rate.PerSecond())
}

// PlanDigest returns the SHA-256, in hex, of the first 10,000 operations of a phase with their scheduled times, and how
// many they are. Two runs with the same digest have the same first operations at the same times. Which message an
// operation chooses is drawn among those that are live when it comes up, and is not part of the plan.
func PlanDigest(w *workloads.Workload, p *workloads.Phase, c *Census) (sum string, operations int64) {
	h := sha256.New()
	for o, due := range first(StreamOf(w, p, c), p, 10_000) {
		operations++
		flags := uint64(0)
		if o.Deep {
			flags |= 1
		}
		if o.On {
			flags |= 2
		}
		all := []uint64{
			o.N, uint64(o.Op), uint64(o.User), uint64(o.Folder), uint64(o.To), o.Pick, flags, o.Message,
			uint64(o.Date.UnixNano()), uint64(due),
		}
		for _, u := range o.Recipients {
			all = append(all, uint64(u))
		}
		// A usual value is left out, so that files from before these keys keep their digests.
		for i, v := range []struct{ value, usual uint64 }{
			{uint64(o.Page), workloads.DefaultPage},
			{uint64(o.Skip), 0},
			{uint64(o.Messages), 1},
			{uint64(o.Flag), 0},
			{uint64(o.Size), 0},
			{uint64(o.Age), 0},
			{uint64(o.Think), 0},
			{uint64(o.Timeout), 0},
			{}, // of an earlier version: the others keep their numbers
			{math.Float64bits(o.how.Width), 0},
			{uint64(o.From), 0},
			{uint64(o.Bytes), workloads.DefaultRange},
		} {
			if v.value != v.usual {
				all = append(all, uint64(i), v.value)
			}
		}
		_ = binary.Write(h, binary.LittleEndian, all) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)), operations
}

// first yields the first n operations of a phase, and when they are scheduled. The clients of a closed loop take turns.
func first(s Stream, p *workloads.Phase, n int) iter.Seq2[*Operation, time.Duration] {
	clients := make([]Operation, max(1, p.Clients))
	return func(yield func(*Operation, time.Duration) bool) {
		for i := range n {
			o := &clients[i%len(clients)]
			if due, ok := s.Next(0, o); !ok || !yield(o, due) {
				return
			}
		}
	}
}

// timesOf draws how often a step is done.
func timesOf(s *workloads.Step, r *random.Rand) int {
	if s.Probability < 1 && !r.Chance(s.Probability) {
		return 0
	}
	if s.Times == nil {
		return 1
	}
	return int(min(max(1, s.Times.Draw(r)), workloads.MostSteps))
}

// visit is one session under way.
type visit struct {
	due    time.Duration // when its next operation is scheduled
	number uint64
	rand   random.Rand
	at     int // index of the step to come
	now    int // index of the step under way
	times  int // how often step now is still to be done
	rounds int // rounds of the repetition that are left
	// Operations of the session so far; the value of done at the last open, 0: none; lists so far.
	done, opened, lists uint32
}

// begin starts session n. It returns false if the session has no operation.
func (v *visit) begin(s *workloads.Session, seed, stream, n uint64, due time.Duration) bool {
	*v = visit{number: n, due: due}
	v.rand.Seed(seed, streamSession+stream<<8, n)
	return v.next(s)
}

// next goes on to the next operation, or returns false at the end.
func (v *visit) next(s *workloads.Session) bool {
	for v.times == 0 && v.at < len(s.Steps) {
		switch step := &s.Steps[v.at]; step.Kind {
		case workloads.StepRepeat:
			if v.rounds = timesOf(step, &v.rand); v.rounds == 0 {
				v.at = step.Until
			}
		case workloads.StepEnd:
			if v.rounds--; v.rounds > 0 {
				v.at = step.Back
			}
		default:
			v.now, v.times = v.at, timesOf(step, &v.rand)
		}
		v.at++
	}
	if v.times == 0 || v.done == workloads.MostSteps {
		return false
	}
	v.times--
	v.done++
	switch s.Steps[v.now].Op {
	case workloads.Open:
		v.opened = v.done
	case workloads.List:
		v.lists++
	}
	return true
}

// think draws how long the user takes before the operation.
func (v *visit) think(s *workloads.Session, usual random.Dist) time.Duration {
	if d := cmp.Or(s.Steps[v.now].Think, usual); d != nil {
		return time.Duration(d.Draw(&v.rand))
	}
	return 0
}

// before orders sessions: by the time of their next operation, and then by that of their begin.
func (v *visit) before(w *visit) bool {
	return v.due < w.due || v.due == w.due && v.number < w.number
}

// sift moves the item at i of a heap down to its place.
func sift[T any](heap []T, i int, before func(a, b *T) bool) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(heap); c++ {
			if before(&heap[c], &heap[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}
