package modeltest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// call is what an operation is run with, and its outcome.
type call struct {
	ctx          context.Context
	mb           models.Mailbox
	a            *models.Account
	in, to       *models.Folder
	hs           []models.Handle // messages of in
	m            *mail.Message   // to deliver
	folders      []*models.Folder
	names        []string // of the folders of a new account
	name         string   // of a folder to create or to subscribe to
	flag         models.Flag
	keyword      string // a flag that users name
	on           bool
	who          string // an address: of a new account, a sender or a viewer
	joins        *models.Account
	since, until time.Time
	uids         [2]uint64 // to expunge, unless there are messages
	file         string    // name of an attachment
	w            io.Writer
	after        models.Handle // to list what follows
	limit        int
	off, n       int64 // a range

	yield  func(item) error          // called for each thing that the operation yields
	entry  func(*models.Entry) error // calls yield; made once, since a method value is an allocation
	made   []models.Handle           // of messages delivered or moved
	opened *models.Opened
	outcome
}

// outcome is what an operation returns.
type outcome struct {
	err     error
	items   []item // what it yields or opens
	account *models.Account
	folder  *models.Folder
	count   int64     // bytes that it streams, as it says, or messages that it removes
	bytes   digest    // what it streams
	arrived time.Time // when the message was delivered that it opens, from the reference
}

// item is one thing that an operation yields: a name, an entry, or numbers of a folder.
type item struct {
	name  string
	entry models.Entry
	at    time.Time // of the delivery, from the reference
	flags models.Flag
	stats models.Stats
}

// newCall returns the operations' surroundings: nothing is yielded to anyone, and bytes are dropped.
func newCall(ctx context.Context, mb models.Mailbox, a *models.Account) *call {
	c := &call{
		ctx: ctx, mb: mb, a: a, names: []string{"INBOX", "Work"}, name: "Archive", flag: models.Seen, keyword: "$Forwarded",
		on: true, who: "bob@example.org", joins: &models.Account{Address: "dan@example.org"}, since: start, w: io.Discard,
		file: "f", limit: 25, n: 10,
		yield: func(item) error { return nil }, made: make([]models.Handle, 101), opened: &models.Opened{},
	}
	c.entry = func(e *models.Entry) error { return c.yield(item{entry: *e}) }
	if len(a.Folders) > 1 {
		c.in, c.to, c.folders = a.Folders[0], a.Folder("Work"), a.Folders[:1]
	}
	return c
}

// do runs an operation, and returns a copy of all that it returns.
func (c *call) do(name string, run func(*call) error) outcome {
	c.outcome = outcome{}
	c.w, c.yield = &c.bytes, func(i item) error {
		i.entry.From, i.entry.Subject = bytes.Clone(i.entry.From), bytes.Clone(i.entry.Subject)
		c.items = append(c.items, i)
		return nil
	}
	switch c.err = run(c); name {
	case "open":
		if o := c.opened; c.err == nil {
			slices.SortFunc(o.Attachments, func(a, b models.AttachmentInfo) int { return cmp.Compare(a.Name, b.Name) })
			slices.Sort(o.UserFlags)
			c.yield(item{name: fmt.Sprintf("%q %v", o.UserFlags, o.Attachments), entry: o.Entry, at: c.arrived, flags: o.Flags})
			c.bytes.Write(o.Body)
		}
	case "create user", "login", "folders", "nested", "subscriptions": // in any order
		slices.SortFunc(c.items, func(a, b item) int {
			return cmp.Or(cmp.Compare(a.name, b.name), bytes.Compare(a.entry.Handle[:], b.entry.Handle[:]))
		})
	case "by sender everywhere": // any of them
		clear(c.items)
	}
	return c.outcome
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

// operations are all operations. Rules run them by name: on the model and the reference, with a context that is done,
// with a yield that fails, and with handles of messages that are gone; killed after each write, and two at a time.
var operations = []operation{
	on("create user", func(c *call, mb models.Mailbox) error { return c.found(mb.CreateUser(c.ctx, c.who, c.names)) }),
	on("create folder", func(c *call, mb models.Mailbox) error { return c.added(mb.CreateFolder(c.ctx, c.a, c.name)) }),
	on("login", func(c *call, mb models.Mailbox) error { return c.found(mb.Login(c.ctx, c.a.Address)) }),
	on("folders", func(c *call, mb models.Mailbox) error {
		return mb.Folders(c.ctx, c.a, func(i models.FolderInfo) error {
			return c.yield(item{name: i.Name, stats: models.Stats{Known: i.Known, Messages: i.Messages, Unread: i.Unread}})
		})
	}),
	on("deliver", func(c *call, mb models.Mailbox) error { return mb.Deliver(c.ctx, c.m, c.folders, c.made) }),
	on("list", func(c *call, mb models.Mailbox) error { return mb.List(c.ctx, c.in, c.after, c.limit, c.entry) }),
	on("open", func(c *call, mb models.Mailbox) error { return mb.Open(c.ctx, c.in, c.hs[0], c.opened) }),
	on("raw", func(c *call, mb models.Mailbox) error { return c.streamed(mb.Raw(c.ctx, c.in, c.hs[0], c.w)) }),
	on("attachment", func(c *call, mb models.Mailbox) error {
		return c.streamed(mb.Attachment(c.ctx, c.in, c.hs[0], c.file, c.w))
	}),
	on("flag", func(c *call, mb models.Mailbox) error { return mb.Flag(c.ctx, c.in, c.hs[0], c.flag, c.on) }),
	on("move", func(c *call, mb models.Mailbox) error { return mb.Move(c.ctx, c.in, c.to, c.hs, c.made) }),
	on("delete", func(c *call, mb models.Mailbox) error { return mb.Delete(c.ctx, c.in, c.hs) }),
	on("stats", func(c *call, mb models.Mailbox) error { return c.counted(mb.Stats(c.ctx, c.in)) }),
	on("range", func(c *call, r models.RangeReader) error {
		return c.streamed(r.RawRange(c.ctx, c.in, c.hs[0], c.off, c.n, c.w))
	}),
	on("label", func(c *call, l models.Labeler) (err error) {
		c.made[0], err = l.Label(c.ctx, c.in, c.hs[0], c.to, c.on)
		return err
	}),
	on("all mail", func(c *call, l models.AllMailer) error {
		return c.mb.List(c.ctx, l.AllMail(c.a), models.Handle{}, c.limit, c.entry)
	}),
	on("totals", func(c *call, l models.AllMailer) error {
		s, err := c.mb.Stats(c.ctx, l.AllMail(c.a))
		s.Known |= models.KnowBytes
		return c.counted(s, err)
	}),
	on("restore", func(c *call, p models.Purger) error { return p.Restore(c.ctx, c.a, c.hs[0]) }),
	on("purge", func(c *call, p models.Purger) error { return c.removed(p.Purge(c.ctx, c.a, c.until)) }),
	on("recount", func(c *call, r models.Recounter) error { return r.Recount(c.ctx, c.a) }),
	on("expunge", func(c *call, u models.UIDs) error { // without messages and UIDs, of all
		from, to := c.uids[0], c.uids[1]
		if n := len(c.hs); n > 0 {
			from, to = u.UID(c.hs[n-1]), u.UID(c.hs[0])
			from, to = min(from, to), max(from, to)
		}
		return c.removed(u.Expunge(c.ctx, c.in, from, to))
	}),
	on("user flag", func(c *call, u models.UserFlagger) error {
		return u.UserFlag(c.ctx, c.in, c.hs[0], c.keyword, c.on)
	}),
	on("subscribe", func(c *call, s models.Subscriber) error { return s.Subscribe(c.ctx, c.a, c.name, c.on) }),
	on("subscriptions", func(c *call, s models.Subscriber) error {
		return s.Subscriptions(c.ctx, c.a, func(name string) error { return c.yield(item{name: name}) })
	}),
	on("nested", func(c *call, n models.Nester) error {
		return n.Nested(c.ctx, c.a, func(folder string, e *models.Entry) error {
			if e == nil {
				e = &models.Entry{}
			}
			return c.yield(item{name: folder, entry: *e})
		})
	}),
	on("by sender in a folder", func(c *call, s models.SenderSearcher) error {
		return s.BySender(c.ctx, c.in, c.who, c.limit, c.entry)
	}),
	on("by sender everywhere", func(c *call, s models.SenderSearcher) error {
		return s.BySender(c.ctx, nil, c.who, c.limit, c.entry)
	}),
	on("slice", func(c *call, s models.Slicer) error {
		return s.Slice(c.ctx, c.in, c.since, c.until, c.limit, c.entry)
	}),
	on("seen", func(c *call, s models.Seer) error { return s.Seen(c.ctx, c.in, c.hs[0], c.who) }),
	on("seen by", func(c *call, s models.Seer) error {
		return s.SeenBy(c.ctx, c.in, c.hs[0], func(who string) error {
			if who == c.a.Address {
				return nil // the owner's own flag
			}
			return c.yield(item{name: who})
		})
	}),
	on("join", func(c *call, p models.Poster) error {
		return c.added(p.Join(c.ctx, c.joins, c.to))
	}),
	on("leave", func(c *call, p models.Poster) error { return p.Leave(c.ctx, c.in) }),
}

// found yields the folders of an account.
func (c *call) found(a *models.Account, err error) error {
	if c.account = a; err != nil {
		return err
	}
	err = c.yield(item{name: "account " + a.Address})
	for i, f := range a.Folders {
		if err == nil {
			err = c.yield(item{name: fmt.Sprintf("folder %q, inbox: %t, its own: %t", f.Name, i == 0, f.Account == a)})
		}
	}
	return err
}

// added yields a folder.
func (c *call) added(f *models.Folder, err error) error {
	if c.folder = f; err != nil {
		return err
	}
	return c.yield(item{name: f.Name})
}

// counted yields numbers of a folder.
func (c *call) counted(s models.Stats, err error) error {
	if err != nil {
		return err
	}
	return c.yield(item{stats: s})
}

// streamed notes how many bytes an operation has streamed, as it says.
func (c *call) streamed(n int64, err error) error {
	c.count = n
	return err
}

// removed returns ErrNotFound for an operation that has removed nothing.
func (c *call) removed(n int, err error) error {
	if c.count = int64(n); err == nil && n == 0 {
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
