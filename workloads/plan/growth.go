package plan

import (
	"context"
	"sync"
	"time"

	"github.com/mailbench/mailbench/workloads"
)

// Growth says what a data set already has of a census. The rest has to be delivered. The
// zero Growth is a data set without messages, which lacks the whole load.
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
	// Done, if set, says which messages of this step were delivered before it was
	// interrupted. They are not delivered again.
	Done func(n uint64) bool
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

// lacks returns how many messages a folder lacks before the step; 0, if it has more than
// it should.
func (g *Growth) lacks(c *Census, user, folder int) int {
	n := int(c.counts[int(c.first[user])+folder])
	if g.Has != nil {
		n = max(0, n-g.Has(user, folder))
	}
	return n
}

// Lacks returns how many messages the step delivers in all, including those that it delivered
// before it was interrupted. The census of a shard counts those of its own users.
func (c *Census) Lacks(g *Growth) int64 {
	var n int64
	for u := range c.Users() {
		if !c.Has(u) {
			continue
		}
		for f := range int(c.first[u+1] - c.first[u]) {
			n += int64(g.lacks(c, u, f))
		}
	}
	return n
}

// Covers reports whether a data set of another census can grow to this one: the other has no
// more users, no more folders of a user and no more messages in a folder.
func (c *Census) Covers(o *Census) bool {
	if c.Shared() != o.Shared() || c.Users() < o.Users() {
		return false
	}
	for u := range o.Users() {
		if c.FolderCount(u) < o.FolderCount(u) {
			return false
		}
		for f := range o.FolderCount(u) {
			if c.FolderMessages(u, f) < o.FolderMessages(u, f) {
				return false
			}
		}
	}
	return true
}

// OfLoad reports whether a message of that number belongs to a load or a growth, and not to
// a phase.
func OfLoad(n uint64) bool { return n < workloads.PhaseMessages }

// LoadStream returns the deliveries of the load, in order of arrival. They are due
// as soon as a worker is free. The error is that of ctx.
func (c *Census) LoadStream(ctx context.Context) (Stream, error) {
	return c.GrowthStream(ctx, &Growth{})
}

// GrowthStream returns the deliveries by which a data set grows to the census, in order of
// arrival. They are due as soon as a worker is free. The error is that of ctx.
func (c *Census) GrowthStream(ctx context.Context, g *Growth) (Stream, error) {
	order, err := c.order(ctx, g)
	if err != nil {
		return nil, err
	}
	return c.shard.of(&loadStream{order: order, done: g.Done}, c.Users()), nil
}

type loadStream struct {
	mu    sync.Mutex
	order *LoadOrder
	done  func(n uint64) bool
}

// Next implements Stream.
func (s *loadStream) Next(_ time.Duration, o *Operation) (due time.Duration, ok bool) {
	s.mu.Lock()
	a, ok := s.order.Next()
	for ok && s.done != nil && s.done(a.N) {
		a, ok = s.order.Next()
	}
	s.mu.Unlock()
	*o = Operation{
		Op: workloads.Deliver, N: a.N, Message: a.N, User: a.User, Folder: a.Folder, Date: a.Date,
		Recipients: append(o.Recipients[:0], a.User),
	}
	return 0, ok
}

// Open implements Stream.
func (*loadStream) Open() bool { return false }

// Span implements Stream.
func (*loadStream) Span() time.Duration { return 0 }
