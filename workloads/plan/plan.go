// Package plan is what a workload comes to, operation by operation: the population drawn from the seed (Census), the
// order of its load (LoadStream), when operations are scheduled (schedule), and what operation n is (Plan). A Stream
// puts them together for a phase; a Segment is the part of one load generator. All of it is drawn from (seed, n), so a
// run replays exactly. It reads no clock and knows no store.
package plan

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/mailbench/mailbench/workloads"
	"github.com/mailbench/mailbench/workloads/random"
)

// The streams of chance, one for each purpose.
const (
	streamArrivals uint64 = iota
	streamOperation
	streamPick
	streamUser
	streamFolder
	streamLoad
	_ // of earlier versions: the others keep their draws
	streamSession
	streamUserOfSession
	streamThink
)

// Operation is one operation as it is made before the clock starts. Fields that its kind does not need are zero.
type Operation struct {
	N      uint64 // number in its phase, from 0
	Op     workloads.Op
	User   int // whose mailbox
	Folder int // of the user; 0 is the inbox
	To     int // move: the folder to move to; label: the folder that shows the message, too
	// Pick is the random number from which Choose draws a place among a folder's live
	// messages, and Window a span of time.
	Pick uint64
	Deep bool // list: begin after the message picked, not at the newest
	On   bool // flag, label, subscribe: set, or clear
	// Message is the number of the message to deliver. For a search by sender, it is that of
	// a message whose sender is searched for.
	Message uint64
	// Recipients are the users that a delivery goes to, into folder 0, each once; the first is User.
	Recipients []int
	// Date is when the message of a delivery arrives, as its header will say.
	Date time.Time

	Stream   int            // place of its stream in the phase, from 0
	Session  uint64         // number of the session that it is a step of
	Page     int            // entries that one call requests
	Skip     int            // list: begin after so many of the newest messages
	Messages int            // how many messages a move, delete or flag is about; items of a pattern
	Flag     workloads.Mark // to set or clear
	Size     int            // deliver: bytes of the whole message; 0: as the workload says
	Age      time.Duration  // purge: how long ago a message was deleted, at least
	From     int64          // range: where in the message it begins
	Bytes    int64          // range: how long it is
	Think    time.Duration  // closed loop: how long the client waits before
	Timeout  time.Duration  // 0: none

	rand   random.Rand
	how    *how
	client int   // number of the closed loop's client that executes it, from 1
	visit  visit // the client's session
}

// clear empties the operation. Its buffers and its client stay.
func (o *Operation) clear() {
	*o = Operation{Recipients: o.Recipients[:0], client: o.client, visit: o.visit}
}

// Plan makes the operations of one stream of a phase: a pure function of (seed, n), so that a run replays exactly. It
// does not change once made; all workers share it.
type Plan struct {
	census *Census
	phase  workloads.Phase
	seed   uint64
	stream uint64 // streamOf the phase
	mix    []choice
	hows   []how // by operation, or by step of the session
	users  *keySet
}

// choice is an operation of a mix. It is drawn if 64 random bits are below its bound, and not below that of the one
// before.
type choice struct {
	bound uint64
	op    workloads.Op
}

// New returns the plan of a phase that runs operations and has no streams, or of one stream of a phase.
func New(w *workloads.Workload, phase *workloads.Phase, c *Census) *Plan {
	p := &Plan{
		census: c, phase: *phase, seed: w.Seed, stream: streamOf(phase), users: keysOf(cmp.Or(phase.Keys, &w.Keys), c),
	}
	if phase.Session != nil {
		for i := range phase.Session.Steps {
			p.hows = append(p.hows, p.how(&phase.Session.Steps[i].How, w))
		}
		return p
	}
	var sum, total float64
	for _, weight := range phase.Mix {
		total += weight
	}
	for op, weight := range phase.Mix {
		p.hows = append(p.hows, p.how(&phase.How[op], w))
		if op >= workloads.NumOps && p.hows[op].Messages == nil {
			p.hows[op].Messages = random.Constant{Value: 10} // keys of a list
		}
		if weight == 0 {
			continue
		}
		bound := uint64(math.MaxUint64) // of the last one
		if sum += weight; sum < total {
			bound = uint64(math.Ldexp(sum/total, 64))
		}
		p.mix = append(p.mix, choice{bound, workloads.Op(op)})
	}
	return p
}

// Next makes operation n of a mix or of a file into o, whose buffers are used again.
func (p *Plan) Next(n uint64, o *Operation) {
	if p.phase.Replay != nil {
		p.phase.Replay.Source.(Recorded).Operation(p, p.census, n, o)
		return
	}
	o.clear()
	o.N = n
	r := &o.rand
	r.Seed(p.seed, streamOperation+p.stream<<8, n)
	u, i := r.Uint64(), 0
	for i < len(p.mix)-1 && u >= p.mix[i].bound {
		i++
	}
	o.Op = p.mix[i].op
	o.how = &p.hows[o.Op]
	o.User = o.how.users(r)
	p.draw(n, -1, o)
}

// Given makes operation n into o. Its kind, user and folder are given, and everything else is drawn.
func (p *Plan) Given(n uint64, op workloads.Op, user, folder int, o *Operation) {
	o.clear()
	o.N, o.Op, o.User, o.how = n, op, user, &p.hows[op]
	o.rand.Seed(p.seed, streamOperation+p.stream<<8, n)
	p.draw(n, folder, o)
}

// step makes the next operation of a session into o.
func (p *Plan) step(v *visit, o *Operation) {
	o.clear()
	o.Op, o.how, o.Session = p.phase.Session.Steps[v.now].Op, &p.hows[v.now], v.number
	n := v.number*workloads.MostSteps + uint64(v.done) - 1
	r := &o.rand
	r.Seed(p.seed, streamUserOfSession+p.stream<<8, v.number)
	o.User = p.users.users(r)
	folder := p.users.folders[p.census.FolderCount(o.User)-1].Choose(r)
	r.Seed(p.seed, streamOperation+p.stream<<8, n)
	p.draw(n, folder, o)
	switch o.Op {
	case workloads.List: // page after page
		o.Deep, o.Skip = false, o.Skip+int(v.lists-1)*o.Page
	case workloads.Open, workloads.Raw, workloads.Attachment, workloads.Flag, workloads.Label, workloads.Move,
		workloads.Delete, workloads.Seen, workloads.Range, workloads.SeenBy:
		if v.opened > 0 && o.Op != workloads.Open { // on the message that the session opened last
			opened := random.New(p.seed, streamOperation+p.stream<<8, v.number*workloads.MostSteps+uint64(v.opened)-1)
			o.Pick = opened.Uint64()
		}
	}
}

// draw sets all other fields of operation n, whose kind and user are known; -1 is a folder to draw. The folder is
// ignored for an operation that does not work on a folder or its messages.
func (p *Plan) draw(n uint64, folder int, o *Operation) {
	r, h := &o.rand, o.how
	o.Page, o.Timeout, o.Messages, o.Age, o.From, o.Bytes = h.Page, h.Timeout, 1, h.Age, h.From, h.Bytes
	if o.Op == workloads.Deliver {
		p.delivery(n, o)
		return
	}
	if o.Op.OfAccount() {
		return
	}
	if o.Folder = folder; folder < 0 {
		o.Folder = h.folders[p.census.FolderCount(o.User)-1].Choose(r)
	}
	o.Pick = r.Uint64()
	switch o.Op {
	case workloads.List:
		if o.Deep = h.deep > 0 && r.Chance(h.deep); h.Depth > 0 {
			o.Deep, o.Skip = false, (h.Depth-1)*o.Page
		}
	case workloads.Flag, workloads.Label, workloads.Subscribe:
		o.On = r.Chance(*h.On)
	case workloads.SearchSender, workloads.SearchAll:
		o.Message = uint64(r.IntN(max(1, p.census.all)))
	}
	if o.Op == workloads.Move || o.Op == workloads.Label {
		if folders := p.census.FolderCount(o.User); folders > 1 {
			o.To = (o.Folder + 1 + r.IntN(folders-1)) % folders
		}
	}
	if o.Op == workloads.Flag && len(h.Flags) > 0 {
		if o.Flag = h.Flags[0]; len(h.Flags) > 1 {
			o.Flag = h.Flags[r.IntN(len(h.Flags))]
		}
	}
	if h.Messages != nil {
		o.Messages = int(min(max(1, h.Messages.Draw(r)), workloads.MaxMessages))
	}
}

// delivery draws a delivery. It goes to the operation's user and others, by popularity.
// If a user is drawn again, the next user takes the place, so that the number stays.
func (p *Plan) delivery(n uint64, o *Operation) {
	r, h := &o.rand, o.how
	const ofStream = workloads.PhaseMessages / workloads.MaxStreams // numbers of messages
	o.Message = uint64(p.phase.Number+1)*workloads.PhaseMessages + uint64(p.phase.Stream)*ofStream + n
	o.Date = loadEnd.Add(time.Duration(p.phase.Number)*24*time.Hour + time.Duration(n)*time.Millisecond)
	o.Recipients = append(o.Recipients, o.User)
	if widest := min(p.census.Users(), workloads.MaxRecipients); widest > 1 {
		count := int(min(h.Recipients.Draw(r), int64(widest)))
		for len(o.Recipients) < count {
			u := h.users(r)
			for slices.Contains(o.Recipients, u) {
				u = (u + 1) % p.census.Users()
			}
			o.Recipients = append(o.Recipients, u)
		}
	}
	if h.Size != nil {
		o.Size = int(min(max(1, h.Size.Draw(r)), int64(workloads.MaxMessage)))
	}
}

// Choose returns which of a folder's existing messages the operation uses: 0 is the newest. There must be one at least.
func (o *Operation) Choose(live int) int {
	r := random.New(o.Pick, streamPick, 0)
	return o.how.ofFolder.Among(live, &r)
}

// Window returns the span of time of a slice, anywhere among the arrivals of a load:
// in it is that share of the messages that the workload says, by default a hundredth.
func (o *Operation) Window() (from, to time.Time) {
	r := random.New(o.Pick, streamPick, 0)
	share := cmp.Or(o.how.Width, 0.01)
	begin := r.Float64() * (1 - share)
	return arrival(begin), arrival(begin + share)
}

// how is a How with its defaults filled in, as a plan uses it. It does not change.
type how struct {
	workloads.How
	*keySet
}

// how fills the defaults in.
func (p *Plan) how(h *workloads.How, w *workloads.Workload) how {
	half, full := 0.5, how{*h, p.users}
	full.Timeout, full.Page = cmp.Or(h.Timeout, p.phase.Timeout), cmp.Or(h.Page, workloads.DefaultPage)
	full.Bytes, full.Recipients = cmp.Or(h.Bytes, workloads.DefaultRange), cmp.Or(h.Recipients, w.Mail.Recipients)
	full.Messages, full.On = cmp.Or(h.Items, h.Messages), cmp.Or(h.On, &half)
	if h.Keys != nil {
		full.keySet = keysOf(h.Keys, p.census)
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
		sizes := make([]int, c.Users())
		for u := range sizes {
			s.bySize = append(s.bySize, int32(u))
			for f := range c.FolderCount(u) {
				sizes[u] += c.FolderMessages(u, f)
			}
		}
		slices.SortStableFunc(s.bySize, func(a, b int32) int { return sizes[b] - sizes[a] })
	}
	for u := range c.Users() {
		for len(s.folders) < c.FolderCount(u) {
			s.folders = append(s.folders, k.Folders.Chooser(len(s.folders)+1))
		}
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
