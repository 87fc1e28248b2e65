package modeltest

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// call is what an operation is run with.
type call struct {
	ctx     context.Context
	mb      models.Mailbox
	a       *models.Account
	in, to  *models.Folder
	hs      []models.Handle // messages of in
	m       *mail.Message   // to deliver
	folders []*models.Folder
	flag    models.Flag
	on      bool
	who     string // an address: of a new account, a sender or a viewer
	until   time.Time
	file    string // name of an attachment
	w       io.Writer
	yield   func() error // called for each thing that the operation yields

	after  models.Handle   // to list what follows
	off, n int64           // a range
	made   []models.Handle // of messages delivered or moved
	opened models.Opened
	entry  func(*models.Entry) error // calls yield; made once, since a method value is an allocation
}

// newCall returns the operations' surroundings: nothing is yielded to anyone, and bytes are dropped.
func newCall(ctx context.Context, mb models.Mailbox, a *models.Account) *call {
	c := &call{
		ctx: ctx, mb: mb, a: a, flag: models.Seen, on: true, who: "bob@example.org", w: io.Discard, file: "f", n: 10,
		yield: func() error { return nil }, made: make([]models.Handle, 100),
	}
	c.entry = func(*models.Entry) error { return c.yield() }
	if len(a.Folders) > 1 {
		c.in, c.to, c.folders = a.Folders[0], a.Folder("Work"), a.Folders[:1]
	}
	return c
}

// operation is one of all operations of mailboxes.
type operation struct {
	name string
	in   func(models.Mailbox) bool // whether a mailbox has it
	run  func(*call) error
}

// on is an operation of the mailboxes that implement I.
func on[I any](name string, run func(*call, I) error) operation {
	return operation{name, has[I], func(c *call) error { return run(c, c.mb.(I)) }}
}

// operations are all operations. Rules run them by name: with a context that is done, with a yield that fails, and with
// handles of messages that are gone; killed after each write, and two at a time.
var operations = []operation{
	on("create user", func(c *call, mb models.Mailbox) error {
		return errOf(mb.CreateUser(c.ctx, c.who, []string{"INBOX", "Work"}))
	}),
	on("create folder", func(c *call, mb models.Mailbox) error {
		return errOf(mb.CreateFolder(c.ctx, c.a, "Archive"))
	}),
	on("login", func(c *call, mb models.Mailbox) error { return errOf(mb.Login(c.ctx, c.a.Address)) }),
	on("folders", func(c *call, mb models.Mailbox) error {
		return mb.Folders(c.ctx, c.a, func(models.FolderInfo) error { return c.yield() })
	}),
	on("deliver", func(c *call, mb models.Mailbox) error { return mb.Deliver(c.ctx, c.m, c.folders, c.made) }),
	on("list", func(c *call, mb models.Mailbox) error { return mb.List(c.ctx, c.in, c.after, 25, c.entry) }),
	on("open", func(c *call, mb models.Mailbox) error { return mb.Open(c.ctx, c.in, c.hs[0], &c.opened) }),
	on("raw", func(c *call, mb models.Mailbox) error { return errOf(mb.Raw(c.ctx, c.in, c.hs[0], c.w)) }),
	on("attachment", func(c *call, mb models.Mailbox) error {
		return errOf(mb.Attachment(c.ctx, c.in, c.hs[0], c.file, c.w))
	}),
	on("flag", func(c *call, mb models.Mailbox) error { return mb.Flag(c.ctx, c.in, c.hs[0], c.flag, c.on) }),
	on("move", func(c *call, mb models.Mailbox) error { return mb.Move(c.ctx, c.in, c.to, c.hs, c.made) }),
	on("delete", func(c *call, mb models.Mailbox) error { return mb.Delete(c.ctx, c.in, c.hs) }),
	on("stats", func(c *call, mb models.Mailbox) error { return errOf(mb.Stats(c.ctx, c.in)) }),
	on("audit", func(c *call, mb models.Mailbox) error { return errOf(mb.Audit(c.ctx)) }),
	on("range", func(c *call, r models.RangeReader) error {
		return errOf(r.RawRange(c.ctx, c.in, c.hs[0], c.off, c.n, c.w))
	}),
	on("label", func(c *call, l models.Labeler) error { return errOf(l.Label(c.ctx, c.in, c.hs[0], c.to, c.on)) }),
	on("all mail", func(c *call, l models.AllMailer) error {
		return c.mb.List(c.ctx, l.AllMail(c.a), models.Handle{}, 25, c.entry)
	}),
	on("totals", func(c *call, l models.AllMailer) error { return errOf(c.mb.Stats(c.ctx, l.AllMail(c.a))) }),
	on("restore", func(c *call, p models.Purger) error { return p.Restore(c.ctx, c.a, c.hs[0]) }),
	on("purge", func(c *call, p models.Purger) error { return some(p.Purge(c.ctx, c.a, c.until)) }),
	on("recount", func(c *call, r models.Recounter) error { return r.Recount(c.ctx, c.a) }),
	on("expunge", func(c *call, u models.UIDs) error { // without messages, of all
		var from, to uint64
		if n := len(c.hs); n > 0 {
			from, to = u.UID(c.hs[n-1]), u.UID(c.hs[0])
		}
		return some(u.Expunge(c.ctx, c.in, min(from, to), max(from, to)))
	}),
	on("user flag", func(c *call, u models.UserFlagger) error {
		return u.UserFlag(c.ctx, c.in, c.hs[0], "$Forwarded", c.on)
	}),
	on("subscribe", func(c *call, s models.Subscriber) error { return s.Subscribe(c.ctx, c.a, "Work", c.on) }),
	on("subscriptions", func(c *call, s models.Subscriber) error {
		return s.Subscriptions(c.ctx, c.a, func(string) error { return c.yield() })
	}),
	on("nested", func(c *call, n models.Nester) error {
		return n.Nested(c.ctx, c.a, func(string, *models.Entry) error { return c.yield() })
	}),
	on("by sender in a folder", func(c *call, s models.SenderSearcher) error {
		return s.BySender(c.ctx, c.in, c.who, 25, c.entry)
	}),
	on("by sender everywhere", func(c *call, s models.SenderSearcher) error {
		return s.BySender(c.ctx, nil, c.who, 25, c.entry)
	}),
	on("slice", func(c *call, s models.Slicer) error { return s.Slice(c.ctx, c.in, start, c.until, 25, c.entry) }),
	on("seen", func(c *call, s models.Seer) error { return s.Seen(c.ctx, c.in, c.hs[0], c.who) }),
	on("seen by", func(c *call, s models.Seer) error {
		return s.SeenBy(c.ctx, c.in, c.hs[0], func(string) error { return c.yield() })
	}),
	on("join", func(c *call, p models.Poster) error {
		f, err := p.Join(c.ctx, &models.Account{Address: c.who}, c.to)
		if err == nil {
			c.in = f // to leave
		}
		return err
	}),
	on("leave", func(c *call, p models.Poster) error { return p.Leave(c.ctx, c.in) }),
}

// errOf is the error of a call, without its result.
func errOf[T any](_ T, err error) error { return err }

// some returns ErrNotFound for an operation that has removed nothing.
func some(n int, err error) error {
	if err == nil && n == 0 {
		return models.ErrNotFound
	}
	return err
}

// the returns the operation of that name.
func the(name string) *operation {
	for i := range operations {
		if operations[i].name == name {
			return &operations[i]
		}
	}
	panic("no operation " + name)
}

// stopEarly returns errors from yields and writers. Each call ends and returns the error, wrapped if it is from
// a yield.
func (m *machine) stopEarly(f *folder, ms []message) {
	c, n, stop := m.callOn(f, ms[0]), 0, m.int("stop", 1, 2)
	c.yield = func() error {
		if n++; n == stop {
			return errBroken
		}
		return nil
	}
	for _, name := range []string{
		"folders", "list", "all mail", "nested", "by sender in a folder", "by sender everywhere", "slice", "seen by",
		"subscriptions",
	} {
		n = 0
		if op := the(name); !op.in(m.got) {
			continue
		} else if err := op.run(c); n > stop || (n == stop) != errors.Is(err, errBroken) || err == errBroken {
			m.t.Fatalf("%s stopped at %d: error %v after %d, want %q wrapped", name, stop, err, n, errBroken)
		}
	}
	sizes := map[string]int64{"raw": ms[0].Raw.Size(), "range": ms[0].Raw.Size()}
	for _, p := range ms[0].Attachments {
		c.file, sizes["attachment"] = p.Name, p.Content.Size()
	}
	for name, size := range sizes {
		if size > 0 {
			m.refuses(c, name, "to a broken writer", errBroken)
		}
	}
}

// cancel runs every operation with a canceled context. Nothing changes.
func (m *machine) cancel(f *folder, ms []message) {
	c := m.callOn(f, ms[0])
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithCancel(m.ctx)
	cancel()
	for _, op := range operations {
		if op.name != "deliver" {
			m.refuses(c, op.name, "with a canceled context", context.Canceled)
		}
	}
	m.checkMessage(ms[0])
}

// refuses runs an operation, if the model has it, and expects an error.
func (m *machine) refuses(c *call, name, why string, want error) {
	op := the(name)
	if !op.in(m.got) {
		return
	}
	if err := op.run(c); !errors.Is(err, want) && !errors.Is(err, models.ErrNotOffered) {
		m.t.Fatalf("%s %s: error is %v, want %q", name, why, err, want)
	}
}

// callOn is what operations that fail are run with: on a message of f, and another folder of its account.
func (m *machine) callOn(f *folder, on message) *call {
	c := newCall(m.ctx, m.got, f.in.got)
	if c.in, c.to = f.got, f.in.folders[0].got; c.to == c.in {
		c.to = f.in.folders[1].got
	}
	c.hs, c.w, c.until = []models.Handle{on.got}, brokenWriter{}, m.clock.now().Add(time.Hour)
	if c.who = on.From.Address; c.who == "" {
		c.who = "nobody@example.org"
	}
	return c
}

// The ways in which a delivery fails.
const (
	canceledBefore = iota
	brokenMeanwhile
	canceledMeanwhile
	tooLarge // for one row
)

// bodyLimit is the size in bytes of the largest body that a model puts into one row of the engine.
func bodyLimit(c drivers.Capabilities) int64 {
	limits := []int64{models.MaxRow, c.MaxCellBytes, c.MaxRowBytes}
	return slices.Min(slices.DeleteFunc(limits, func(n int64) bool { return n == 0 }))
}

// failDelivery delivers a message that cannot be read to its end or is too large, or whose delivery is canceled before
// or meanwhile. No folder shows it, unless the delivery was acknowledged nevertheless.
func (m *machine) failDelivery(f *folder, how int) {
	m.checkAudit()
	ctx, cancel := context.WithCancel(m.ctx)
	defer cancel()
	want, x, certain := context.Canceled, m.draft(), false
	broken, to, after := x, []*folder{f}, 0
	if other := m.drawFolder(m.drawAccount()); other.box != f.box {
		to, after = append(to, other), m.int("after", 0, 3) // so many reads, such as those for the first recipient
	}
	switch how {
	case canceledBefore:
		cancel()
		certain = true
	case canceledMeanwhile:
		broken = breakContent(x, func() error {
			if after--; after < 0 {
				cancel()
			}
			return nil
		})
	case brokenMeanwhile:
		want = errBroken
		broken = breakContent(x, func() error {
			after--
			if certain = after < 0; certain {
				return errBroken
			}
			return nil
		})
	case tooLarge:
		if !m.WholeRows && !m.KeepsBodies {
			return
		}
		want, certain = drivers.ErrTooLarge, true
		body := generated(m.limit + 1)
		broken = &mail.Message{Date: start, Raw: body, Body: mail.Part{Type: "text/plain", Content: body}}
	}
	handles := make([]models.Handle, len(to))
	err := m.got.Deliver(ctx, broken, modelsOf(to), handles)
	switch {
	case err == nil && !certain:
		m.arrived(x, to, handles)
	case !errors.Is(err, want):
		m.t.Fatalf("deliver what fails: error is %v, want %q", err, want)
	}
	if m.failed(); how == canceledMeanwhile && m.shared { // over a network, a write of a canceled call may come later
		m.left = math.MaxInt64
	}
	m.checkAudit()
}
