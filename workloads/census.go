package workloads

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mailbench/mailbench/workloads/random"
)

// Census is the population drawn from the seed: how many folders each user has
// and how many messages lie in each before the first operation.
type Census struct {
	seed     uint64
	shared   bool
	first    []int32 // of user u: its first folder in counts; one more at the end
	counts   []int32 // messages of each folder
	folders  int
	messages int
	all      int   // messages of all shards
	shard    Shard // whose folders and messages are counted
}

// Census draws the workload's population. Folder f of user u is drawn from
// (seed, u, f): more users do not change those that were there. The error is that
// of ctx, if that ends, or wraps ErrPopulation.
func (w *Workload) Census(ctx context.Context) (*Census, error) {
	p := &w.Population
	c := &Census{seed: w.Seed, shared: p.Shared, first: make([]int32, 1, p.Users+1)}
	var r random.Rand
	for u := range p.Users {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		folders := 0
		switch {
		case !p.Shared:
			r.Seed(w.Seed, streamUser, uint64(u))
			folders = int(min(max(1, p.Folders.Draw(&r)), maxFolders))
		case u == 0:
			folders = 1
		}
		for f := range folders {
			r.Seed(w.Seed, streamFolder+uint64(f)<<8, uint64(u))
			n := int32(min(p.Messages.Draw(&r), maxFolderMessages))
			c.counts = append(c.counts, n)
			c.messages += int(n)
		}
		if err := bounded(float64(len(c.counts)), float64(c.messages)); err != nil {
			return nil, err
		}
		c.first = append(c.first, int32(len(c.counts)))
	}
	c.folders, c.all = len(c.counts), c.messages
	return c, nil
}

// ErrPopulation says that a workload's population is too large.
var ErrPopulation = errors.New("population")

// Bounds of a population, so that it fits in memory and in 32-bit numbers: a run
// keeps some hundred bytes a folder, and up to 32 a message.
const (
	maxUsers          = 10_000_000
	maxFolders        = 1000
	maxFolderMessages = 100_000_000
	maxAllFolders     = 20_000_000
	maxAllMessages    = 1_000_000_000
)

// bounded refuses a population with more folders or messages in all than it may have.
func bounded(folders, messages float64) error {
	switch {
	case folders > maxAllFolders:
		return fmt.Errorf("%w has %.0f folders or more in all (users × folders), more than %d", ErrPopulation, folders, maxAllFolders)
	case messages > maxAllMessages:
		return fmt.Errorf("%w has %.0f messages or more in all (users × folders × messages), more than %d", ErrPopulation, messages, maxAllMessages)
	}
	return nil
}

// What a run keeps in memory of a folder and of a message, measured over the null engine:
// 327 MB of 100,000 accounts with 500,000 folders of two messages.
const (
	folderBytes  = 600
	messageBytes = 33
)

// Bytes returns about how many bytes of memory a run needs for the population.
func (c *Census) Bytes() int64 {
	return int64(c.Folders())*folderBytes + int64(c.Messages())*messageBytes
}

// Users returns how many users there are: 0 to Users()-1.
func (c *Census) Users() int { return len(c.first) - 1 }

// Shared reports whether all users have one folder in common; it is user 0's.
func (c *Census) Shared() bool { return c.shared }

// FolderCount returns how many folders the user has.
func (c *Census) FolderCount(user int) int {
	if c.shared {
		return 1
	}
	return int(c.first[user+1] - c.first[user])
}

// mostFolders returns how many folders the user with the most of them has.
func (c *Census) mostFolders() int {
	most := 1
	for u := range c.Users() {
		most = max(most, c.FolderCount(u))
	}
	return most
}

// FolderMessages returns how many messages the load puts into a folder.
func (c *Census) FolderMessages(user, folder int) int {
	if c.shared {
		user = 0
	}
	return int(c.counts[int(c.first[user])+folder])
}

// Folders returns how many folders there are in all; of a shard, how many it has.
func (c *Census) Folders() int { return c.folders }

// Messages returns how many messages the load delivers in all; of a shard, how many it
// delivers itself.
func (c *Census) Messages() int { return c.messages }

// Arrival is one message of the load.
type Arrival struct {
	N            uint64 // number of the message: 0, 1, 2 … in order of arrival
	User, Folder int
	Date         time.Time
}

// The mail of a load arrived in the year before loadEnd. A run replays from
// its seed, so these are no clock's.
var loadEnd = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const loadSpan = 365 * 24 * time.Hour

// LoadOrder iterates over all messages of the load in order of arrival, users
// interleaved: in each folder they arrive as a Poisson process would bring that many.
type LoadOrder struct {
	seed uint64
	n    uint64
	heap []pending // folders with messages left; the next to arrive at the top
}

// pending is a folder's next message, 24 bytes of which a large population has
// many.
type pending struct {
	at     float64 // part of the span
	user   int32
	folder int32 // of all folders
	left   int32 // messages of the folder from this one on
	own    int32 // folder of the user
}

// LoadOrder returns the load from its first message, or the error of ctx, if that
// ends before all folders have been looked at.
func (c *Census) LoadOrder(ctx context.Context) (*LoadOrder, error) {
	l := &LoadOrder{seed: c.seed, heap: make([]pending, 0, len(c.counts))}
	for u := range c.Users() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for i := c.first[u]; i < c.first[u+1]; i++ {
			if c.counts[i] > 0 {
				p := pending{user: int32(u), folder: i, left: c.counts[i] + 1, own: i - c.first[u]}
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
	r.Seed(l.seed, streamLoad+uint64(p.folder)<<8, uint64(p.left))
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
		Date:   loadEnd.Add(time.Duration((p.at - 1) * float64(loadSpan))),
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
