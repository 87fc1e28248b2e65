package plan

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// how is a How with its defaults filled in, as a plan uses it. It does not change.
type how struct {
	*keySet
	timeout  time.Duration
	page     int
	depth    int         // 0: not given
	messages random.Dist // nil: 1
	spread   random.Dist // recipients of a delivery
	widest   int         // the most recipients that it can have
	size     random.Dist // bytes of a delivery; nil: as the workload says
	flags    []workloads.Mark
	on       float64
	width    workloads.Width
	age      time.Duration
	from     int64
	bytes    int64
}

var onlySeen = []workloads.Mark{workloads.FlagSeen}

// how fills the defaults in.
func (p *Plan) how(h *workloads.How, timeout time.Duration) how {
	full := how{
		keySet: p.users, timeout: timeout, page: workloads.DefaultPage, depth: h.Depth,
		messages: h.Messages, size: h.Size, flags: onlySeen, on: 0.5, width: h.Width, age: h.Age,
		from: h.From, bytes: cmp.Or(h.Bytes, workloads.DefaultRange),
	}
	if h.Items != nil {
		full.messages = h.Items
	}
	if full.spread = h.Recipients; full.spread == nil {
		full.spread = p.spread
	}
	full.widest = int(min(int64(p.census.Users()), full.spread.Max(), workloads.MaxRecipients))
	if h.Keys != nil {
		full.keySet = keysOf(h.Keys, p.census)
	}
	if h.Timeout > 0 {
		full.timeout = h.Timeout
	}
	if h.Page > 0 {
		full.page = h.Page
	}
	if len(h.Flags) > 0 {
		full.flags = h.Flags
	}
	if h.On != nil {
		full.on = *h.On
	}
	return full
}

// keySet chooses users, folders and messages.
type keySet struct {
	user     random.Chooser
	bySize   []int32          // users in order of size, if the largest is the most popular; else nil
	folders  []random.Chooser // folders[i] is for users with i+1 folders
	ofFolder random.Chooser   // chooses messages of a folder
	deep     float64
}

// keysOf returns the choosers of these keys for a population.
func keysOf(k *workloads.Keys, c *Census) *keySet {
	s := &keySet{user: k.Users.Chooser(c.Users()), ofFolder: k.Messages.Chooser(1), deep: k.Deep}
	if k.Users.Largest {
		s.bySize = c.bySize()
	}
	for n := range c.mostFolders() {
		s.folders = append(s.folders, k.Folders.Chooser(n+1))
	}
	return s
}

// users draws a user.
func (s *keySet) users(r *random.Rand) int {
	u := s.user.Choose(r)
	if s.bySize != nil {
		u = int(s.bySize[u])
	}
	return u
}

// bySize returns the users, those with the most messages first.
func (c *Census) bySize() []int32 {
	users, sizes := make([]int32, c.Users()), make([]int, c.Users())
	for u := range users {
		users[u] = int32(u)
		for f := range c.FolderCount(u) {
			sizes[u] += c.FolderMessages(u, f)
		}
	}
	slices.SortStableFunc(users, func(a, b int32) int { return sizes[b] - sizes[a] })
	return users
}

// chooser draws operations by their weights. It compares 64 random bits with the upper
// bound of each operation's share.
type chooser struct {
	bound [workloads.MaxOps]uint64
	op    [workloads.MaxOps]workloads.Op
	n     int
}

func chooserOf(m *workloads.Mix) chooser {
	var c chooser
	var sum, total float64
	for _, w := range m {
		total += w
	}
	for op, w := range m {
		if w == 0 {
			continue
		}
		sum += w
		c.op[c.n] = workloads.Op(op)
		c.bound[c.n] = math.MaxUint64
		if sum < total {
			c.bound[c.n] = uint64(math.Ldexp(sum/total, 64))
		}
		c.n++
	}
	if c.n > 0 {
		c.bound[c.n-1] = math.MaxUint64
	}
	return c
}

func (c *chooser) choose(r *random.Rand) workloads.Op {
	u := r.Uint64()
	i := 0
	for i < c.n-1 && u >= c.bound[i] {
		i++
	}
	return c.op[i]
}
