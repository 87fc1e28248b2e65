package plan

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// Growth says what a data set already has of a census. The rest has to be delivered. The
// zero Growth is a data set without messages, which needs the whole load.
//
// A data set that grows gets the messages that each folder lacks. Their numbers follow those
// of the messages before. They arrive later, too: in the day after the year of the load, and
// before the messages of any phase. So no message that is there changes. A data set that was
// grown has as many messages in each folder as one that was loaded at once, and the same
// message numbers in all. If there is one folder, its message i is the same in both, except
// for the date.
type Growth struct {
	// Step counts the growths of the data set, from 1. 0 is its first load.
	Step int
	// First is the number of the first message.
	First uint64
	// Has is how many messages of earlier steps a folder has; nil: none.
	Has func(user, folder int) int
}

// growthSpan is the day in which the messages of growths arrive. Each step takes half of
// what the steps before left of it.
const growthSpan = 24 * time.Hour

// time returns the latest arrival of a message, and the span in which all arrive.
func (g *Growth) time() (end time.Time, span time.Duration) {
	if g.Step == 0 {
		return loadEnd, workloads.LoadSpan
	}
	left := growthSpan >> min(g.Step, 30)
	return loadEnd.Add(growthSpan - left), left
}

// missing returns how many messages a folder needs before the step; 0, if it has more than
// it should.
func (g *Growth) missing(c *Census, user, folder int) int {
	n := int(c.counts[int(c.first[user])+folder])
	if g.Has != nil {
		n = max(0, n-g.Has(user, folder))
	}
	return n
}

// Lacks returns how many messages the step delivers in all. The census of a segment counts those of its own users.
func (c *Census) Lacks(g *Growth) int64 {
	var n int64
	for u := range c.Users() {
		if !c.Has(u) {
			continue
		}
		for f := range int(c.first[u+1] - c.first[u]) {
			n += int64(g.missing(c, u, f))
		}
	}
	return n
}

// OfLoad reports whether a message of that number belongs to a load or a growth, and not to
// a phase.
func OfLoad(n uint64) bool { return n < workloads.PhaseMessages }

// The mail of a load arrived in the year before loadEnd. The date is fixed, so that the same
// seed makes the same messages.
var loadEnd = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// loadStream has the messages of a load in order of arrival, users interleaved. In each folder they arrive like a
// Poisson process with so many arrivals. They are scheduled as soon as a worker is free.
type loadStream struct {
	seed uint64
	step uint64 // Growth.Step; 0: the first load
	end  time.Time
	span time.Duration

	mu   sync.Mutex
	n    uint64    // number of the next message
	heap []pending // folders with messages left; the next to arrive at the top
}

// pending is a folder's next message: 24 bytes, as a large population has many.
type pending struct {
	at     float64 // arrival, as a share of the span
	user   int32
	folder int32 // number among all folders
	left   int32 // messages of the folder from this one on
	own    int32 // number among the user's folders
}

// LoadStream returns the deliveries by which a data set grows to the census, in order of arrival, or the error of
// ctx, if that ends before all folders have been looked at. N is a message's number: 0, 1, 2 … in that order.
func (c *Census) LoadStream(ctx context.Context, g *Growth) (Stream, error) {
	l := &loadStream{
		seed: c.seed, n: g.First, step: uint64(g.Step), heap: make([]pending, 0, len(c.counts)),
	}
	l.end, l.span = g.time()
	for u := range c.Users() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for i := c.first[u]; i < c.first[u+1]; i++ {
			if n := g.missing(c, u, int(i-c.first[u])); n > 0 {
				p := pending{user: int32(u), folder: i, left: int32(n) + 1, own: i - c.first[u]}
				l.advance(&p)
				l.heap = append(l.heap, p)
			}
		}
	}
	for i := len(l.heap)/2 - 1; i >= 0; i-- {
		sift(l.heap, i, (*pending).before)
	}
	return c.Segment.of(l, c.Users()), nil
}

// advance draws when the folder's next message arrives: the least of m numbers
// that are uniform above the last is 1 - (1-last) u^(1/m).
func (l *loadStream) advance(p *pending) {
	var r random.Rand
	p.left--
	r.Seed(l.seed, streamLoad+uint64(p.folder)<<8, l.step<<32|uint64(p.left))
	p.at = 1 - (1-p.at)*math.Exp(-r.Exp()/float64(p.left))
}

// Next implements Stream.
func (l *loadStream) Next(_ time.Duration, o *Operation) (due time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.heap) == 0 {
		return 0, false
	}
	p := &l.heap[0]
	*o = Operation{
		Op: workloads.Deliver, N: l.n, Message: l.n, User: int(p.user), Folder: int(p.own),
		Date: l.end.Add(time.Duration((p.at - 1) * float64(l.span))), Recipients: append(o.Recipients[:0], int(p.user)),
	}
	l.n++
	if p.left > 1 {
		l.advance(p)
	} else {
		last := len(l.heap) - 1
		l.heap[0] = l.heap[last]
		l.heap = l.heap[:last]
	}
	sift(l.heap, 0, (*pending).before)
	return 0, true
}

// Open implements Stream.
func (*loadStream) Open() bool { return false }

// Span implements Stream.
func (*loadStream) Span() time.Duration { return 0 }

func (p *pending) before(q *pending) bool {
	return p.at < q.at || p.at == q.at && p.folder < q.folder
}

// Timeline is when the messages of a data set arrived: those of its load, then those of each growth.
type Timeline []Arrivals

// Arrivals are the messages of a step, which arrive evenly. Those of a step that was interrupted are the first ones of
// the planned.
type Arrivals struct{ Messages, Planned int64 }

// at returns when a share of the messages had arrived.
func (t Timeline) at(share float64) time.Time {
	var all int64
	for _, a := range t {
		all += a.Messages
	}
	before := share * float64(all)
	for i, a := range t {
		end, span := (&Growth{Step: i}).time()
		if before <= float64(a.Messages) || i == len(t)-1 {
			return end.Add(-span).Add(time.Duration(min(1, before/float64(max(1, a.Planned))) * float64(span)))
		}
		before -= float64(a.Messages)
	}
	return loadEnd
}
