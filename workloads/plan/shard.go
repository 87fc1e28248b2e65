package plan

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mailbench/mailbench/workloads"
)

// Shard is the part of a run that one load generator executes: the operations of every
// Of-th user. The zero value is the whole run.
//
// Every shard draws the operations of the whole run, and executes those of its own
// users, at the times that they have in the whole run. So the operations of all shards
// are those of one generator, none of them twice, and their rates add up to the
// workload's. Only the further recipients of a delivery differ: they are users of the
// same shard. No shard touches another's users.
type Shard struct {
	Index int // from 1
	Of    int
}

// Divides reports whether there are several shards.
func (s Shard) Divides() bool { return s.Of > 1 }

// Has reports whether the user is one of the shard's.
func (s Shard) Has(user int) bool { return s.Of <= 1 || user%s.Of == s.Index-1 }

// first is the shard's first user.
func (s Shard) first() int { return max(0, s.Index-1) }

// Check refuses a workload that cannot be divided among so many shards.
func (s Shard) Check(w *workloads.Workload) error {
	if !s.Divides() {
		return nil
	}
	if w.Population.Shared {
		return errors.New("all users of the workload share one folder (population.shared), which cannot be divided; " +
			"leave --shard out")
	}
	if w.Population.Users < s.Of {
		return fmt.Errorf("the workload has %d users for %d shards; use fewer shards, or set population.users",
			w.Population.Users, s.Of)
	}
	for i := range w.Phases {
		p := &w.Phases[i]
		if !p.Runs() || p.Arrivals != workloads.Closed {
			continue
		}
		least := p.Clients
		for j := range p.Streams {
			least = min(least, p.Streams[j].Clients)
		}
		if least < s.Of {
			return fmt.Errorf("phase %s has %d clients for %d shards; use fewer shards, or more clients",
				p.Name, least, s.Of)
		}
	}
	return nil
}

// Own returns the phase with the shard's part of its clients. If they cannot be divided
// evenly, the first shards have one more.
func (s Shard) Own(p workloads.Phase) workloads.Phase {
	if !s.Divides() || p.Clients == 0 {
		return p
	}
	p.Clients = max(1, s.part(p.Clients))
	p.Streams = slices.Clone(p.Streams)
	for i := range p.Streams {
		p.Streams[i].Clients = s.part(p.Streams[i].Clients)
	}
	if len(p.Streams) > 0 {
		p.Clients = 0
		for i := range p.Streams {
			p.Clients += p.Streams[i].Clients
		}
	}
	return p
}

func (s Shard) part(n int) int {
	part := n / s.Of
	if s.Index <= n%s.Of {
		part++
	}
	return part
}

// OfShard returns the census of a shard. It has the users and folders of all shards, but
// counts only the folders and messages of its own users.
func (c *Census) OfShard(s Shard) *Census {
	if !s.Divides() {
		return c
	}
	own := *c
	own.shard, own.messages, own.folders = s, 0, 0
	for u := s.first(); u < c.Users(); u += s.Of {
		for _, n := range c.counts[c.first[u]:c.first[u+1]] {
			own.messages += int(n)
			own.folders++
		}
	}
	return &own
}

// Shard returns the shard whose census it is.
func (c *Census) Shard() Shard { return c.shard }

// Has reports whether the user is one of the census's shard.
func (c *Census) Has(user int) bool { return c.shard.Has(user) }

// FirstUser returns the first user of the shard.
func (c *Census) FirstUser() int { return c.shard.first() }

// of returns those operations of a stream that belong to the shard's users.
func (s Shard) of(all Stream, users int) Stream {
	if !s.Divides() {
		return all
	}
	return &ownStream{Stream: all, shard: s, users: users}
}

// ownStream is the operations of one shard.
type ownStream struct {
	Stream
	shard Shard
	users int
}

// mostForeign bounds how many operations of other shards may follow each other. Next would
// never return if all users of the operations were other shards'.
const mostForeign = 10_000_000

// Next implements Stream.
func (s *ownStream) Next(now time.Duration, o *Operation) (due time.Duration, ok bool) {
	for range mostForeign {
		if due, ok = s.Stream.Next(now, o); !ok {
			return due, false
		}
		if s.shard.Has(o.User) {
			s.keep(o)
			return due, true
		}
	}
	return 0, false
}

// keep replaces recipients of other shards by users of this one that are close by number. If
// such a user is a recipient already, the next one of the shard follows. If all are, there is
// one recipient less.
func (s *ownStream) keep(o *Operation) {
	drawn := o.Recipients
	o.Recipients = o.Recipients[:min(1, len(drawn))]
	for i := 1; i < len(drawn); i++ {
		u := drawn[i] - drawn[i]%s.shard.Of + s.shard.first()
		for range s.users/s.shard.Of + 1 {
			if u >= s.users {
				u = s.shard.first()
			}
			if !slices.Contains(o.Recipients, u) {
				o.Recipients = append(o.Recipients, u)
				break
			}
			u += s.shard.Of
		}
	}
}
