package workloads

import (
	"slices"
	"time"

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
	streamReplace
)

// Operation is one operation as it is made before the clock starts. What it
// does not need is left zero.
type Operation struct {
	N      uint64 // of its phase, from 0
	Op     Op
	User   int // whose mailbox
	Folder int // of the user; 0 is the inbox
	To     int // move: the folder to move to; label: the folder that shows the message, too
	// Pick stands for the message that is asked for: Choose makes a place in a
	// folder's live messages of it, and Window a span of time.
	Pick uint64
	Deep bool // list: begin behind the message picked, not at the newest
	On   bool // flag, label, subscribe: set, or clear
	// Message is the number of the message to deliver; for search-sender of
	// one whose sender is asked for.
	Message uint64
	// Recipients are the users that a delivery goes to, into folder 0, each
	// once; the first is User.
	Recipients []int
	// Date is when the message of a delivery arrives, as its header will say.
	Date time.Time

	// Replaces: it takes the place of one that the model lacks.
	Replaces bool

	rand random.Rand
	plan *Plan
}

// Plan makes the operations of one phase: a pure function of (seed, n), so
// that a run replays exactly. It does not change once made; all workers share
// it.
type Plan struct {
	census   *Census
	seed     uint64
	phase    uint64
	mix      chooser
	lacks    [NumOps]bool
	offered  chooser // the mix without what the model lacks
	users    random.Chooser
	folders  []random.Chooser // by how many there are
	messages random.Chooser
	deep     float64
	spread   random.Dist // recipients of a delivery
	widest   int
	arrived  time.Time // when the phase's first delivery arrives
}

// Plan returns the plan of a phase that runs operations.
func (w *Workload) Plan(phase *Phase, c *Census) *Plan {
	p := &Plan{
		census:   c,
		seed:     phase.seed(w.Seed),
		phase:    uint64(phase.Number),
		mix:      phase.Mix.chooser(),
		users:    w.Keys.Users.Chooser(c.Users()),
		messages: w.Keys.Messages.Chooser(1),
		deep:     w.Keys.Deep,
		spread:   w.Mail.Recipients,
		widest:   int(min(int64(c.Users()), w.Mail.Recipients.Max(), maxRecipients)),
		lacks:    phase.Lacks,
		arrived:  loadEnd.Add(time.Duration(phase.Number) * 24 * time.Hour),
	}
	offered := phase.Mix
	for op, lacks := range phase.Lacks {
		if lacks {
			offered[op] = 0
		}
	}
	p.offered = offered.chooser()
	for n := range c.mostFolders() {
		p.folders = append(p.folders, w.Keys.Folders.Chooser(n+1))
	}
	return p
}

// maxRecipients bounds how many mailboxes one delivery can go to.
const maxRecipients = 1000

// phaseMessages is where the message numbers of a phase begin: Number+1 times this.
// The load's are below, from 0.
const phaseMessages = 1 << 40

// Next makes operation n into o, whose buffers are used again.
func (p *Plan) Next(n uint64, o *Operation) {
	*o = Operation{N: n, Recipients: o.Recipients[:0], plan: p}
	r := &o.rand
	r.Seed(p.seed, streamOperation+p.phase<<8, n)
	o.Op = p.mix.choose(r)
	o.User = p.users.Choose(r)
	if p.lacks[o.Op] {
		var again random.Rand // what else is drawn stays the same
		again.Seed(p.seed, streamReplace+p.phase<<8, n)
		o.Op, o.Replaces = p.offered.choose(&again), true
	}
	switch o.Op {
	case Deliver:
		o.Message = (p.phase+1)*phaseMessages + n
		o.Date = p.arrived.Add(time.Duration(n) * time.Millisecond)
		p.recipients(r, o)
		return
	case Folders, Login, Purge, Recount:
		return // of the account as a whole
	}
	folders := p.census.FolderCount(o.User)
	o.Folder = p.folders[folders-1].Choose(r)
	o.Pick = r.Uint64()
	switch o.Op {
	case List:
		o.Deep = r.Chance(p.deep)
	case Flag, Label, Subscribe:
		o.On = r.Chance(0.5)
	case SearchSender:
		o.Message = uint64(r.IntN(max(1, p.census.Messages())))
	}
	if folders > 1 && (o.Op == Move || o.Op == Label) {
		o.To = (o.Folder + 1 + r.IntN(folders-1)) % folders
	}
}

// recipients draws who a delivery goes to: the user, and others as popular.
// A user drawn again makes room for a neighbour, so that there are as many as were drawn.
func (p *Plan) recipients(r *random.Rand, o *Operation) {
	o.Recipients = append(o.Recipients, o.User)
	if p.widest == 1 {
		return
	}
	count := int(min(p.spread.Draw(r), int64(p.widest)))
	for len(o.Recipients) < count {
		u := p.users.Choose(r)
		for slices.Contains(o.Recipients, u) {
			if u++; u == p.census.Users() {
				u = 0
			}
		}
		o.Recipients = append(o.Recipients, u)
	}
}

// Choose returns which of a folder's live messages the operation asks for: 0 is
// the newest. There must be one at least.
func (o *Operation) Choose(live int) int {
	var r random.Rand
	r.Seed(o.Pick, streamPick, 0)
	return o.plan.messages.Among(live, &r)
}

// Window returns the span of time a slice asks for: a hundredth of the time
// from first to last, anywhere in it.
func (o *Operation) Window(first, last time.Time) (from, to time.Time) {
	var r random.Rand
	r.Seed(o.Pick, streamPick, 0)
	width := last.Sub(first) / 100
	from = first.Add(time.Duration(r.Float64() * float64(last.Sub(first)-width)))
	return from, from.Add(width)
}
