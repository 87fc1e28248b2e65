package plan

import (
	"context"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// Census is the population drawn from the seed: how many folders each user has
// and how many messages lie in each before the first operation.
type Census struct {
	seed     uint64
	shared   bool
	first    []int32 // index in counts of each user's first folder; len(counts) at the end
	counts   []int32 // messages of each folder
	folders  int
	messages int
	all      int   // messages of all shards
	shard    Shard // folders and messages count only this shard's
}

// NewCensus draws the workload's population. Folder f of user u is drawn from
// (seed, u, f), so further users do not change the others. The error is that
// of ctx or wraps ErrPopulation.
func NewCensus(ctx context.Context, w *workloads.Workload) (*Census, error) {
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
			folders = int(min(max(1, p.Folders.Draw(&r)), workloads.MaxFolders))
		case u == 0:
			folders = 1
		}
		for f := range folders {
			r.Seed(w.Seed, streamFolder+uint64(f)<<8, uint64(u))
			n := int32(min(p.Messages.Draw(&r), workloads.MaxFolderMessages))
			c.counts = append(c.counts, n)
			c.messages += int(n)
		}
		if err := workloads.CheckPopulation(float64(len(c.counts)), float64(c.messages)); err != nil {
			return nil, err
		}
		c.first = append(c.first, int32(len(c.counts)))
	}
	c.folders, c.all = len(c.counts), c.messages
	return c, nil
}

// Bytes that a run keeps for a folder and for a message, measured over the null engine:
// 327 MB for 100,000 accounts with 500,000 folders of two messages.
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

// Shared reports whether all users have one folder in common. It is stored as user 0's.
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

// Folders returns how many folders there are in all, or in the shard.
func (c *Census) Folders() int { return c.folders }

// Messages returns how many messages the load, or the shard's part of it, delivers.
func (c *Census) Messages() int { return c.messages }
