package modeltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// tb is the part of *testing.T and *rapid.T that rules use.
type tb interface {
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// differential runs each operation on a model's mailbox (got) and on the reference. It fails the test if they differ.
type differential struct {
	t   tb
	ctx context.Context
	domain
	clock *clock
	tick  time.Duration // how far the clock advances before each change
	got   models.Mailbox
	world *World // its store
	*reference

	accounts []*account    // those that it has created
	opened   models.Opened // reused, as callers do
}

func (f *fixture) differential() *differential { return f.differentialOf(f.reference(), f.mailbox()) }

// differentialOf returns a differential of a mailbox and a reference that others may share.
func (f *fixture) differentialOf(ref *reference, got models.Mailbox) *differential {
	ref.like = got
	return &differential{
		t: f.TB, ctx: f.ctx, domain: f.domain, clock: f.clock, tick: time.Second, got: got, world: f.World, reference: ref,
	}
}

// on returns a call on messages of a folder.
func (diff *differential) on(f *folder, ms ...message) *call {
	c := diff.of(f.in)
	c.in, c.hs = f.got, handlesOf(ms)
	return c
}

// of returns a call on an account.
func (diff *differential) of(a *account) *call {
	c := newCall(diff.ctx, diff.got, a.got)
	c.opened = &diff.opened
	return c
}

func handlesOf(ms []message) (hs []models.Handle) {
	for _, m := range ms {
		hs = append(hs, m.got)
	}
	return hs
}

// modelsOf returns the model's folders.
func modelsOf(fs []*folder) (got []*models.Folder) {
	for _, f := range fs {
		got = append(got, f.got)
	}
	return got
}

// change is agree of an operation that changes something: each may have a time of its own.
func (diff *differential) change(name string, c *call) outcome {
	diff.clock.advance(diff.tick)
	return diff.agree(name, c)
}

// agree runs an operation on the model, if it has it, and on the reference, and compares the outcomes.
func (diff *differential) agree(name string, c *call) (got outcome) {
	op := the(name)
	if !op.in(diff.got) {
		return got
	}
	c.mb = diff.got
	got = c.do(name, op.run)
	if refused(name, c, got.err) {
		return got
	}
	want := c.do(name, func(c *call) error { return diff.reference.run(name, c) })
	if name == "by sender everywhere" && diff.late { // it looks at rows without their folders
		got.items = got.items[:min(len(got.items), len(want.items))]
	}
	if err := got.differs(want); err != nil {
		diff.t.Fatalf("%s: %v", c.describe(name), err)
	}
	if got.err == nil {
		diff.learn(name, c, got)
	}
	return got
}

// learn takes what later calls need of an outcome: accounts, folders, and UIDs, which ascend and are never used again.
func (diff *differential) learn(name string, c *call, got outcome) {
	came := map[*models.Folder][]models.Handle{}
	switch name {
	case "create user":
		a := diff.account(c.who)
		a.use(got.account)
		diff.accounts = append(diff.accounts, a)
	case "create folder":
		diff.account(c.a.Address).folder(c.name).got = got.folder
	case "join":
		diff.account(c.joins.Address).folder(c.to.Name).got = got.folder
	case "move":
		came[c.to] = c.made[:len(c.hs)]
	case "deliver":
		for i, f := range c.folders {
			came[f] = c.made[i : i+1]
		}
	}
	u, ok := diff.got.(models.UIDs)
	for f, hs := range came {
		for _, h := range hs {
			if in := diff.folder(f); ok && u.UID(h) <= in.uid {
				diff.t.Fatalf("UID %d in %q after %d was given", u.UID(h), f.Name, in.uid)
			} else if ok {
				in.uid = u.UID(h)
			}
		}
	}
}

// few is how many messages every engine must be able to change at once.
const few = 20

// refused reports whether a model may end a call in this way where another one does not: then nothing has changed. An
// engine may refuse to change more than a few messages at once.
func refused(name string, c *call, err error) bool {
	switch {
	case errors.Is(err, drivers.ErrTooLarge):
		return (name == "move" || name == "delete") && len(c.hs) > few
	case errors.Is(err, models.ErrNotOffered):
		return name == "raw" || name == "range" || name == "flag" && c.flag != models.Seen
	case errors.Is(err, models.ErrNotFound): // named twice
		return name == "delete" && len(distinct(c.hs)) < len(c.hs)
	}
	return false
}

// describe writes a call for a failure.
func (c *call) describe(name string) string {
	text := fmt.Sprintf("%s of %s, limit %d after %x, flag %b %s %t, name %q, file %q, who %q", name, c.a.Address, c.limit,
		c.after[:20], c.flag, c.keyword, c.on, c.name, c.file, c.who)
	text += fmt.Sprintf(", %d from %d on, %v to %v, UIDs %d", c.n, c.off, c.since, c.until, c.uids)
	for _, h := range c.hs {
		text += fmt.Sprintf(", message %x in %q", h[:20], c.in.Name)
	}
	return text
}

// differs returns an error if the outcome of an operation is not that of the reference.
func (got outcome) differs(want outcome) error {
	reason := want.err
	for _, r := range []error{models.ErrNotFound, models.ErrExists} {
		if errors.Is(want.err, r) && !errors.Is(got.err, r) || (got.err == nil) != (want.err == nil) {
			return fmt.Errorf("error is %v, want %v", got.err, reason)
		}
	}
	if got.count != want.count || got.bytes != want.bytes {
		return fmt.Errorf("it says %d, and %d bytes came with the sum %x; want %d, and %d with %x", got.count, got.bytes.n,
			got.bytes.sum, want.count, want.bytes.n, want.bytes.sum)
	}
	for i := range min(len(got.items), len(want.items)) {
		if err := got.items[i].differs(want.items[i]); err != nil {
			return fmt.Errorf("place %d of %d: %w", i, len(want.items), err)
		}
	}
	if len(got.items) != len(want.items) {
		return fmt.Errorf("%d items, want %d:\n%v\nwant\n%v", len(got.items), len(want.items), got.items, want.items)
	}
	return nil
}

// differs compares items: names, and what the model knows of an entry or of a folder.
func (got item) differs(want item) error {
	e, w, s := got.entry, want.entry, got.stats
	switch {
	case got.name != want.name:
		return fmt.Errorf("%s, want %s", got.name, want.name)
	case e.Handle != w.Handle:
		return fmt.Errorf("message %x, want %x", e.Handle, w.Handle)
	case e.Known.Has(models.KnowFrom) && !slices.Equal(e.From, w.From):
		return fmt.Errorf("from %q, want %q", e.From, w.From)
	case e.Known.Has(models.KnowSubject) && !slices.Equal(e.Subject, w.Subject):
		return fmt.Errorf("subject %q, want %q", e.Subject, w.Subject)
	case e.Known.Has(models.KnowSize) && e.Size != w.Size:
		return fmt.Errorf("size %d, want %d", e.Size, w.Size)
	case e.Known.Has(models.KnowSeen) && (e.Seen != w.Seen || got.flags != want.flags):
		return fmt.Errorf("seen %v, flags %b; want %v, %b", e.Seen, got.flags, w.Seen, want.flags)
	case e.Known.Has(models.KnowDate) && !sameMilli(e.Date, w.Date) && !sameMilli(e.Date, want.at):
		return fmt.Errorf("date %v, want the message's %v or its delivery's %v", e.Date, w.Date, want.at)
	case s.Known.Has(models.KnowMessages) && s.Messages != want.stats.Messages,
		s.Known.Has(models.KnowUnread) && s.Unread != want.stats.Unread,
		s.Known.Has(models.KnowBytes) && s.Bytes != want.stats.Bytes:
		return fmt.Errorf("%+v, want %+v", s, want.stats)
	}
	return nil
}

// sameMilli compares to the millisecond, which every engine keeps.
func sameMilli(a, b time.Time) bool {
	return a.Truncate(time.Millisecond).Equal(b.Truncate(time.Millisecond))
}

// must fails the test if what failed.
func (diff *differential) must(err error, what string, args ...any) {
	if err != nil {
		diff.t.Fatalf("%s: %v", fmt.Sprintf(what, args...), err)
	}
}

// The operations that rules run by themselves.

// user creates an account.
func (diff *differential) user(address string, folders ...string) *account {
	c := newCall(diff.ctx, diff.got, &models.Account{Address: address})
	c.who, c.names = address, folders
	diff.change("create user", c)
	return diff.account(address)
}

func (diff *differential) createFolder(a *account, name string) {
	c := diff.of(a)
	c.name = name
	diff.change("create folder", c)
}

// deliver delivers a message, and returns it as it is in each folder.
func (diff *differential) deliver(m *mail.Message, to ...*folder) (ms []message) {
	c := diff.of(to[0].in)
	c.m, c.folders = m, modelsOf(to)
	diff.change("deliver", c)
	for i, f := range to {
		ms = append(ms, message{f.ever[c.made[i]], f})
	}
	return ms
}

func (diff *differential) move(from, to *folder, ms ...message) (moved []message, err error) {
	c := diff.on(from, ms...)
	c.to = to.got
	err = diff.change("move", c).err
	for i := 0; err == nil && i < len(ms); i++ {
		moved = append(moved, message{to.ever[c.made[i]], to})
	}
	return moved, err
}

// check reads everything: accounts with their folders, numbers and pages, every byte of each message, and the audit.
func (diff *differential) check() {
	for _, a := range diff.accounts {
		c := diff.of(a)
		c.limit = 1000
		for _, op := range []string{"login", "folders", "subscriptions", "totals", "all mail", "nested"} {
			diff.agree(op, c)
		}
		for _, f := range a.folders {
			diff.checkFolder(f, 25)
			for _, m := range diff.list(f) {
				diff.checkMessage(m)
			}
		}
	}
	diff.checkAudit()
}

// checkFolder compares a folder's numbers and, page by page, its list.
func (diff *differential) checkFolder(f *folder, page int) {
	c := diff.on(f)
	diff.agree("stats", c)
	c.limit = page
	for got := diff.agree("list", c).items; len(got) == page; got = diff.agree("list", c).items {
		c.after = got[page-1].entry.Handle
	}
}

// checkMessage reads all of a message.
func (diff *differential) checkMessage(m message) {
	c := diff.on(m.in, m)
	for _, op := range []string{"open", "seen by", "raw", "attachment"} {
		diff.agree(op, c)
	}
	for _, p := range m.Attachments {
		c.file = p.Name
		diff.agree("attachment", c)
	}
}

// audit is what a verification of the store must count.
func (r *reference) audit() models.Audit {
	a := models.Audit{Accounts: int64(len(r.accounts))}
	shown := map[uint64]bool{}
	for _, x := range r.accounts {
		a.Deleted += int64(len(x.deleted))
	}
	for b := range r.boxes {
		a.Folders++
		a.Messages += int64(len(b.entries))
		for _, e := range b.entries {
			shown[e.number] = true
		}
	}
	if r.KeepsBodies {
		a.Unreferenced = int64(r.delivered - len(shown))
	}
	return a
}

// checkAudit compares the audit with that of the reference: it must find no fault and count
// the same.
func (diff *differential) checkAudit() models.Audit {
	got, err := diff.world.audit(diff.got)
	diff.must(err, "audit")
	want := diff.audit()
	if !has[models.Purger](diff.got) { // a variant may remove at once what its model keeps
		want.Deleted = 0
	}
	if has[models.Labeler](diff.got) { // a message that several folders show may count once or for each
		want.Messages = got.Messages
	}
	// The number of rows of an orphaned message depends on the model.
	if got.Unreferenced < want.Unreferenced || got.Unreferenced > diff.left && want.Unreferenced == 0 {
		diff.t.Fatalf("audit: %d unreferenced, want %d messages\naudit is %+v", got.Unreferenced, want.Unreferenced, got)
	}
	want.Unreferenced = got.Unreferenced
	if more := countsOf(got).since(countsOf(want)).changes(); more != "" {
		diff.t.Fatalf("audit: %s\naudit is %+v", more, got)
	}
	return got
}

// failed notes what deliveries that failed have left.
func (diff *differential) failed() {
	got, err := diff.world.audit(diff.got)
	diff.must(err, "audit")
	diff.left = got.Unreferenced
}

// counted are the numbers of an audit. Those from firstFault on are faults, which are 0 in an undamaged store.
var counted = [...]string{
	"accounts", "folders", "messages", "deleted", "unreferenced",
	"broken references", "duplicated", "broken bodies", "counter drift",
}

const firstFault = 5

// counts are the numbers of an audit, which == compares at once.
type counts [len(counted)]int64

func countsOf(a models.Audit) counts {
	return counts{
		a.Accounts, a.Folders, a.Messages, a.Deleted, a.Unreferenced,
		a.Dangling, a.Duplicated, a.BrokenBodies, a.CounterDrift,
	}
}

// since returns the difference of two audits.
func (cs counts) since(was counts) counts {
	for i := range cs {
		cs[i] -= was[i]
	}
	return cs
}

// changes returns what is counted more or less, or "".
func (cs counts) changes() string {
	var words []string
	for i, n := range cs {
		if n != 0 {
			words = append(words, fmt.Sprintf("%s %+d", counted[i], n))
		}
	}
	return strings.Join(words, ", ")
}

// of returns a number by its name.
func (cs counts) of(what string) int64 { return cs[slices.Index(counted[:], what)] }

// faults returns the faults that an audit counts, or "".
func (cs counts) faults() string {
	clear(cs[:firstFault])
	return cs.changes()
}
