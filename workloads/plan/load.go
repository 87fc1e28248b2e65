package plan

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// OfLoad reports whether a message of that number belongs to a load, and not to a phase.
func OfLoad(n uint64) bool { return n < workloads.PhaseMessages }

// The mail of a load arrived in the year before loadEnd. The date is fixed, so that the same
// seed makes the same messages.
var loadEnd = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// loadStream has the messages of a load in order of arrival, users interleaved. In each folder they arrive like a
// Poisson process with so many arrivals. They are scheduled as soon as a worker is free.
type loadStream struct {
	seed uint64

	mu   sync.Mutex
	n    uint64    // number of the next message
	has  []uint64  // numbers of later messages that the data set has
	heap []pending // folders with messages left; the next to arrive at the top
}

// pending is a folder's next message: 24 bytes, as a large population has many.
type pending struct {
	at     float64 // arrival, as a share of the year
	user   int32
	folder int32 // number among all folders
	left   int32 // messages of the folder from this one on
	own    int32 // number among the user's folders
}

// LoadStream returns the deliveries of a load in order of arrival, or the error of ctx, if that ends before all folders
// have been looked at. N is a message's number: 0, 1, 2 … in that order. It leaves out the messages of the numbers that
// the data set has, in ascending order.
func (c *Census) LoadStream(ctx context.Context, has []uint64) (Stream, error) {
	l := &loadStream{seed: c.seed, has: has, heap: make([]pending, 0, len(c.counts))}
	for u := range c.Users() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for i := c.first[u]; i < c.first[u+1]; i++ {
			if n := c.counts[i]; n > 0 {
				p := pending{user: int32(u), folder: i, left: int32(n) + 1, own: i - c.first[u]}
				l.advance(&p)
				l.heap = append(l.heap, p)
			}
		}
	}
	for i := len(l.heap)/2 - 1; i >= 0; i-- {
		sift(l.heap, i, (*pending).before)
	}
	return c.own(l), nil
}

// advance draws when the folder's next message arrives: the least of m numbers
// that are uniform above the last is 1 - (1-last) u^(1/m).
func (l *loadStream) advance(p *pending) {
	p.left--
	r := random.New(l.seed, streamLoad+uint64(p.folder)<<8, uint64(p.left))
	p.at = 1 - (1-p.at)*math.Exp(-r.Exp()/float64(p.left))
}

// Next implements Stream.
func (l *loadStream) Next(_ time.Duration, o *Operation) (due time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.heap) > 0 {
		p := l.heap[0]
		n := l.n
		l.n++
		if p.left > 1 {
			l.advance(&l.heap[0])
		} else {
			last := len(l.heap) - 1
			l.heap[0] = l.heap[last]
			l.heap = l.heap[:last]
		}
		sift(l.heap, 0, (*pending).before)
		if len(l.has) > 0 && l.has[0] == n {
			l.has = l.has[1:]
			continue
		}
		*o = Operation{
			Op: workloads.Deliver, N: n, Message: n, User: int(p.user), Folder: int(p.own),
			Date: arrival(p.at), Recipients: append(o.Recipients[:0], int(p.user)),
		}
		return 0, true
	}
	return 0, false
}

// Open implements Stream.
func (*loadStream) Open() bool { return false }

// Span implements Stream.
func (*loadStream) Span() time.Duration { return 0 }

func (p *pending) before(q *pending) bool {
	return p.at < q.at || p.at == q.at && p.folder < q.folder
}

// arrival returns when that share of a load had arrived.
func arrival(share float64) time.Time {
	return loadEnd.Add(time.Duration((share - 1) * float64(workloads.LoadSpan)))
}
