package plan

import (
	"context"
	"math"
	"time"

	"github.com/mailbench/mailbench/workloads/random"
)

// Arrival is one message of the load.
type Arrival struct {
	N            uint64 // number of the message: 0, 1, 2 … in order of arrival
	User, Folder int
	Date         time.Time
}

// The mail of a load arrived in the year before loadEnd. The date is fixed, so that the same
// seed makes the same messages.
var loadEnd = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// LoadOrder iterates over all messages of the load in order of arrival, users
// interleaved. In each folder they arrive like a Poisson process with so many arrivals.
type LoadOrder struct {
	seed, n uint64
	step    uint64 // Growth.Step; 0: the first load
	end     time.Time
	span    time.Duration
	heap    []pending // folders with messages left; the next to arrive at the top
}

// pending is a folder's next message: 24 bytes, as a large population has many.
type pending struct {
	at     float64 // arrival, as a share of the span
	user   int32
	folder int32 // number among all folders
	left   int32 // messages of the folder from this one on
	own    int32 // number among the user's folders
}

// LoadOrder returns the load from its first message, or the error of ctx, if that
// ends before all folders have been looked at.
func (c *Census) LoadOrder(ctx context.Context) (*LoadOrder, error) {
	return c.order(ctx, &Growth{})
}

// order returns the messages by which a data set grows to the census.
func (c *Census) order(ctx context.Context, g *Growth) (*LoadOrder, error) {
	l := &LoadOrder{seed: c.seed, n: g.First, step: uint64(g.Step), heap: make([]pending, 0, len(c.counts))}
	l.end, l.span = g.time()
	for u := range c.Users() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for i := c.first[u]; i < c.first[u+1]; i++ {
			if n := g.lacks(c, u, int(i-c.first[u])); n > 0 {
				p := pending{user: int32(u), folder: i, left: int32(n) + 1, own: i - c.first[u]}
				l.advance(&p)
				l.heap = append(l.heap, p)
			}
		}
	}
	for i := len(l.heap)/2 - 1; i >= 0; i-- {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		l.sift(i)
	}
	return l, nil
}

// advance draws when the folder's next message arrives: the least of m numbers
// that are uniform above the last is 1 - (1-last) u^(1/m).
func (l *LoadOrder) advance(p *pending) {
	var r random.Rand
	p.left--
	r.Seed(l.seed, streamLoad+uint64(p.folder)<<8, l.step<<32|uint64(p.left))
	p.at = 1 - (1-p.at)*math.Exp(-r.Exp()/float64(p.left))
}

// Next returns the next message to load; ok is false behind the last.
func (l *LoadOrder) Next() (a Arrival, ok bool) {
	if len(l.heap) == 0 {
		return Arrival{}, false
	}
	p := &l.heap[0]
	a = Arrival{
		N:      l.n,
		User:   int(p.user),
		Folder: int(p.own),
		Date:   l.end.Add(time.Duration((p.at - 1) * float64(l.span))),
	}
	l.n++
	if p.left > 1 {
		l.advance(p)
	} else {
		last := len(l.heap) - 1
		l.heap[0] = l.heap[last]
		l.heap = l.heap[:last]
	}
	if len(l.heap) > 0 {
		l.sift(0)
	}
	return a, true
}

// sift moves the folder at i down to its place.
func (l *LoadOrder) sift(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(l.heap); c++ {
			if l.before(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		l.heap[i], l.heap[least] = l.heap[least], l.heap[i]
		i = least
	}
}

func (l *LoadOrder) before(i, j int) bool {
	a, b := &l.heap[i], &l.heap[j]
	return a.at < b.at || a.at == b.at && a.folder < b.folder
}
