package modeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// check compares everything: the accounts as Login returns them, their folders with numbers
// and pages, every byte of each message, and the audit.
func (diff *differential) check() {
	diff.t.Helper()
	for _, a := range diff.accounts {
		diff.checkAccount(a)
		for _, f := range a.folders {
			diff.checkFolder(f, 25)
			diff.checkSearches(f)
			for _, m := range diff.live(f) {
				diff.checkMessage(m)
			}
		}
	}
	diff.checkAudit()
}

// checkLogin logs in on both sides, and returns the model's account. It is nil if there is none.
func (diff *differential) checkLogin(address string) *models.Account {
	diff.t.Helper()
	got, err := diff.got.Login(diff.ctx, address)
	ref, refErr := diff.ref.Login(diff.ctx, address)
	if diff.agree(fmt.Sprintf("login %q", address), err, refErr) != nil {
		return nil
	}
	diff.pair(got, ref)
	return got
}

// checkAccount compares what is read of an account: its folders with their numbers, and what the
// model's optional operations read.
func (diff *differential) checkAccount(a *account) {
	diff.t.Helper()
	diff.checkLogin(a.ref.Address)
	want := map[string]models.FolderInfo{}
	refErr := diff.ref.Folders(diff.ctx, a.ref, func(i models.FolderInfo) error {
		want[i.Name] = i
		return nil
	})
	err := diff.got.Folders(diff.ctx, a.got, func(i models.FolderInfo) error {
		w, ok := want[i.Name]
		if !ok {
			return fmt.Errorf("folder %q is listed twice, or is none of the account's", i.Name)
		}
		delete(want, i.Name)
		return equalNumbers(i.Known, models.Stats{Messages: i.Messages, Unread: i.Unread},
			models.Stats{Messages: w.Messages, Unread: w.Unread})
	})
	diff.agree("folders of "+a.ref.Address, err, refErr)
	for name := range want {
		diff.t.Fatalf("folders of %s: %q is missing", a.ref.Address, name)
	}
	if s, ok := diff.got.(models.Subscriber); ok {
		diff.sameNames("subscriptions of "+a.ref.Address, true,
			func(y func(string) error) error { return s.Subscriptions(diff.ctx, a.got, y) },
			func(y func(string) error) error { return diff.ref.Subscriptions(diff.ctx, a.ref, y) })
	}
	if all, ok := diff.got.(models.AllMailer); ok {
		name := "all mail of " + a.ref.Address
		got, err := diff.got.Stats(diff.ctx, all.AllMail(a.got))
		ref, refErr := diff.ref.Stats(diff.ctx, diff.ref.AllMail(a.ref))
		diff.agree(name, err, refErr)
		if err := equalNumbers(got.Known|models.KnowBytes, got, ref); err != nil {
			diff.t.Fatalf("%s: %v", name, err)
		}
		diff.sameList(name, nil, func(y func(*models.Entry) error) error {
			return diff.got.List(diff.ctx, all.AllMail(a.got), models.Handle{}, 1000, y)
		}, func(y func(*models.Entry) error) error {
			return diff.ref.List(diff.ctx, diff.ref.AllMail(a.ref), models.Handle{}, 1000, y)
		})
	}
	if n, ok := diff.got.(models.Nester); ok {
		diff.checkNested(n, a)
	}
}

// checkNested compares a nested read with the folders of the reference.
func (diff *differential) checkNested(n models.Nester, a *account) {
	diff.t.Helper()
	left := map[string]map[models.Handle]message{}
	for _, f := range a.folders {
		left[f.ref.Name] = map[models.Handle]message{}
		for _, m := range diff.live(f) {
			left[f.ref.Name][m.got] = m
		}
		if len(diff.live(f)) == 0 {
			left[f.ref.Name][models.Handle{}] = message{}
		}
	}
	err := n.Nested(diff.ctx, a.got, func(folder string, e *models.Entry) error {
		if e == nil {
			e = &models.Entry{} // the folder is empty
		}
		m, ok := left[folder][e.Handle]
		delete(left[folder], e.Handle)
		switch {
		case !ok:
			return fmt.Errorf("%q has message %x, or has it twice", folder, e.Handle)
		case e.Handle.IsZero():
			return nil
		}
		return diff.equalEntry(e, m)
	})
	for folder, ms := range left {
		if err == nil && len(ms) > 0 {
			err = fmt.Errorf("%q: %d messages are missing", folder, len(ms))
		}
	}
	diff.agree("nested read of "+a.ref.Address, err, nil)
}

// sameNames compares the names that two calls yield, sorted or in their order.
func (diff *differential) sameNames(what string, sorted bool, got, ref func(y func(string) error) error) {
	diff.t.Helper()
	var names [2][]string
	var errs [2]error
	for i, list := range []func(func(string) error) error{got, ref} {
		errs[i] = list(func(name string) error {
			names[i] = append(names[i], name)
			return nil
		})
		if sorted {
			slices.Sort(names[i])
		}
	}
	if diff.agree(what, errs[0], errs[1]); !slices.Equal(names[0], names[1]) {
		diff.t.Fatalf("%s: %q, want %q", what, names[0], names[1])
	}
}

// sameList compares the entries that two calls yield, of messages of a folder.
func (diff *differential) sameList(what string, f *folder, got, ref func(y func(*models.Entry) error) error) {
	diff.t.Helper()
	var want []message
	refErr := ref(func(e *models.Entry) error {
		want = append(want, message{f, diff.handles[e.Handle], e.Handle})
		return nil
	})
	es, err := collect(got)
	diff.agree(what, err, refErr)
	diff.checkOrder(what, es, want)
}

// collect returns the entries that a call yields.
func collect(list func(y func(*models.Entry) error) error) (es []models.Entry, err error) {
	err = list(func(e *models.Entry) error {
		c := *e
		c.From, c.Subject = bytes.Clone(e.From), bytes.Clone(e.Subject)
		es = append(es, c)
		return nil
	})
	return es, err
}

func equalNumbers(known models.Known, got, want models.Stats) error {
	for _, n := range []struct {
		know      models.Known
		what      string
		got, want int64
	}{
		{models.KnowMessages, "messages", got.Messages, want.Messages},
		{models.KnowUnread, "unread", got.Unread, want.Unread},
		{models.KnowBytes, "bytes", got.Bytes, want.Bytes},
	} {
		if known.Has(n.know) && n.got != n.want {
			return fmt.Errorf("%s: %d, want %d", n.what, n.got, n.want)
		}
	}
	return nil
}

// checkFolder compares a folder's numbers and, page by page, its list.
func (diff *differential) checkFolder(f *folder, page int) {
	diff.t.Helper()
	name := fmt.Sprintf("folder %q of %s", f.ref.Name, f.in.ref.Address)
	got, err := diff.got.Stats(diff.ctx, f.got)
	ref, refErr := diff.ref.Stats(diff.ctx, f.ref)
	diff.agree("stats of "+name, err, refErr)
	if err := equalNumbers(got.Known, got, ref); err != nil {
		diff.t.Fatalf("stats of %s: %v", name, err)
	}
	want := diff.live(f)
	entries, err := pages(diff.ctx, diff.got, f.got, models.Handle{}, page, len(want)+page)
	if err != nil {
		diff.t.Fatalf("list %s: %v", name, err)
	}
	diff.checkOrder(fmt.Sprintf("list %s in pages of %d", name, page), entries, want)
}

// checkSearches compares what a model finds in a folder: by sender, and between two times, which
// may be those of messages.
func (diff *differential) checkSearches(f *folder) {
	diff.t.Helper()
	ms := diff.live(f)
	if len(ms) == 0 {
		return
	}
	for _, limit := range []int{1, 3, 1000} {
		if g, ok := diff.got.(models.SenderSearcher); ok {
			sender := diff.refOf(ms[len(ms)/2]).From.Address
			diff.sameList("by sender "+sender, f,
				func(y func(*models.Entry) error) error { return g.BySender(diff.ctx, f.got, sender, limit, y) },
				func(y func(*models.Entry) error) error { return diff.ref.BySender(diff.ctx, f.ref, sender, limit, y) })
			all, err := collect(func(y func(*models.Entry) error) error { return g.BySender(diff.ctx, nil, sender, limit, y) })
			ref, refErr := collect(func(y func(*models.Entry) error) error {
				return diff.ref.BySender(diff.ctx, nil, sender, limit, y)
			})
			if diff.agree("by sender everywhere", err, refErr); len(all) != len(ref) {
				diff.t.Fatalf("by sender %q everywhere: %d messages, want %d", sender, len(all), len(ref))
			}
		}
		g, ok := diff.got.(models.Slicer)
		if !ok {
			continue
		}
		milli, at := time.Millisecond, func(i int) time.Time { return diff.refOf(ms[i]).at }
		newest, middle, oldest := at(0), at(len(ms)/2), at(len(ms)-1)
		for _, r := range [][2]time.Time{
			{oldest, newest},
			{oldest.Add(milli), newest.Add(-milli)},
			{oldest.Add(-milli), middle},
			{middle, newest.Add(milli)},
			{middle, middle},
			{newest, oldest},
		} {
			diff.sameList(fmt.Sprintf("slice from %v to %v", r[0], r[1]), f,
				func(y func(*models.Entry) error) error { return g.Slice(diff.ctx, f.got, r[0], r[1], limit, y) },
				func(y func(*models.Entry) error) error { return diff.ref.Slice(diff.ctx, f.ref, r[0], r[1], limit, y) })
		}
	}
}

// checkOrder compares a list with the expected messages, newest first.
func (diff *differential) checkOrder(name string, entries []models.Entry, want []message) {
	diff.t.Helper()
	if len(entries) != len(want) {
		var got, wanted []string
		for _, e := range entries {
			got = append(got, fmt.Sprintf("%x", e.Handle[:20]))
		}
		for _, m := range want {
			wanted = append(wanted, fmt.Sprintf("%x", m.got[:20]))
		}
		diff.t.Fatalf("%s: %d messages: %s\nwant %d: %s", name, len(entries), got, len(want), wanted)
	}
	for i, e := range entries {
		w := want[i]
		if diff.Order == ByDate && e.Handle != w.got {
			// Messages of the same date may come in any order.
			j := slices.IndexFunc(want, func(m message) bool { return m.got == e.Handle })
			if j >= 0 && diff.refOf(want[j]).Date.Equal(diff.refOf(w).Date) {
				w = want[j]
			}
		}
		if e.Handle != w.got {
			diff.t.Fatalf("%s: place %d of %d has %x, want %x", name, i, len(want), e.Handle, w.got)
		}
		if err := diff.equalEntry(&e, w); err != nil {
			diff.t.Fatalf("%s: place %d: %v", name, i, err)
		}
		if slices.ContainsFunc(entries[:i], func(x models.Entry) bool { return x.Handle == e.Handle }) {
			diff.t.Fatalf("%s: place %d: %x is listed twice", name, i, e.Handle)
		}
	}
}

func (diff *differential) refOf(m message) *refMail {
	return diff.ref.lookup(m.ref).state.mail
}

// pages lists what follows a message in pages. It returns an error after limit entries.
func pages(ctx context.Context, mb models.Mailbox, f *models.Folder, after models.Handle, page, limit int,
) ([]models.Entry, error) {
	var es []models.Entry
	for {
		more, err := collect(func(y func(*models.Entry) error) error { return mb.List(ctx, f, after, page, y) })
		es = append(es, more...)
		switch {
		case err != nil || len(more) < page:
			return es, err
		case len(more) > page:
			return es, fmt.Errorf("a page of %d has %d entries", page, len(more))
		case len(es) > limit:
			return es, fmt.Errorf("pages of %d do not end: %d entries so far", page, len(es))
		}
		after = es[len(es)-1].Handle
	}
}

// checkAfter compares what follows a message that may be gone with the end of the whole list, and
// returns the last message of its first page.
func (diff *differential) checkAfter(f *folder, after message, page int) (last message) {
	diff.t.Helper()
	if after.got.IsZero() {
		after = message{}
	}
	want := diff.live(f)
	all, err := pages(diff.ctx, diff.got, f.got, models.Handle{}, page, len(want)+page)
	if err != nil {
		diff.t.Fatalf("list %q: %v", f.ref.Name, err)
	}
	rest, err := pages(diff.ctx, diff.got, f.got, after.got, page, len(want)+page)
	if err != nil {
		diff.t.Fatalf("list %q after a message: %v", f.ref.Name, err)
	}
	least, most := 0, 0
	for _, m := range want {
		if after.in == nil {
			least, most = least+1, most+1
			continue
		}
		c, same := diff.ref.compare(diff.ref.lookup(m.ref), diff.ref.lookup(after.ref)), false
		if diff.Order == ByDate { // messages of the same date may come in any order
			same = c != 0 && diff.refOf(m).Date.Equal(diff.refOf(after).Date)
		}
		if c > 0 && !same {
			least++
		}
		if c > 0 || same {
			most++
		}
	}
	if n := len(rest); n < least || n > most || !slices.EqualFunc(rest, all[max(0, len(all)-n):],
		func(a, b models.Entry) bool { return a.Handle == b.Handle }) {
		diff.t.Fatalf("list %q after message %x: %d messages follow, want the last %d to %d of %d", f.ref.Name, after.got,
			n, least, most, len(all))
	}
	if len(rest) < page {
		return message{}
	}
	return want[slices.IndexFunc(want, func(m message) bool { return m.got == rest[page-1].Handle })]
}

// equalEntry compares the known fields of an entry.
func (diff *differential) equalEntry(e *models.Entry, m message) error {
	r := diff.ref.lookup(m.ref)
	want, ref := r.entry(), r.state.mail
	switch {
	case e.Known.Has(models.KnowFrom) && string(e.From) != string(want.From):
		return fmt.Errorf("from %q, want %q", e.From, want.From)
	case e.Known.Has(models.KnowSubject) && string(e.Subject) != string(want.Subject):
		return fmt.Errorf("subject %q, want %q", e.Subject, want.Subject)
	case e.Known.Has(models.KnowSize) && e.Size != want.Size:
		return fmt.Errorf("size %d, want %d", e.Size, want.Size)
	case e.Known.Has(models.KnowSeen) && e.Seen != want.Seen:
		return fmt.Errorf("seen %v, want %v", e.Seen, want.Seen)
	case e.Known.Has(models.KnowDate) && !sameMilli(e.Date, want.Date) && !sameMilli(e.Date, ref.at):
		return fmt.Errorf("date %v, want the message's %v or its delivery's %v", e.Date, want.Date, ref.at)
	}
	return nil
}

// sameMilli compares to the millisecond, which every engine keeps.
func sameMilli(a, b time.Time) bool {
	return a.Truncate(time.Millisecond).Equal(b.Truncate(time.Millisecond))
}

// checkMessage opens a message and reads its attachments and the raw message.
func (diff *differential) checkMessage(m message) {
	diff.t.Helper()
	r := diff.ref.lookup(m.ref)
	want := r.state.mail
	o := &diff.opened
	if err := diff.got.Open(diff.ctx, m.in.got, m.got, o); err != nil {
		diff.t.Fatalf("open %q: %v", want.Subject, err)
	}
	if o.Handle != m.got {
		diff.t.Fatalf("open %q: handle %x, want %x", want.Subject, o.Handle, m.got)
	}
	if err := diff.equalEntry(&o.Entry, m); err != nil {
		diff.t.Fatalf("open %q: %v", want.Subject, err)
	}
	if o.Known.Has(models.KnowSeen) && o.Flags != r.state.flags {
		diff.t.Fatalf("open %q: flags %b, want %b", want.Subject, o.Flags, r.state.flags)
	}
	if _, ok := diff.got.(models.UserFlagger); ok && !slices.Equal(slices.Sorted(slices.Values(o.UserFlags)),
		slices.Sorted(slices.Values(r.state.named))) {
		diff.t.Fatalf("open %q: flags %q of users, want %q", want.Subject, o.UserFlags, r.state.named)
	}
	if err := equalContent(o.Body, want.Body.Content); err != nil {
		diff.t.Fatalf("open %q: body: %v", want.Subject, err)
	}
	attached := map[string]int64{}
	for _, a := range o.Attachments {
		attached[a.Name] = a.Size
	}
	if len(attached) != len(want.Attachments) || len(o.Attachments) != len(want.Attachments) {
		diff.t.Fatalf("open %q: %d attachments, want %d", want.Subject, len(o.Attachments), len(want.Attachments))
	}
	for _, p := range want.Attachments {
		if size, ok := attached[p.Name]; !ok || size != p.Content.Size() {
			diff.t.Fatalf("open %q: attachment %q: there %v, %d bytes, want %d", want.Subject, p.Name, ok, size,
				p.Content.Size())
		}
		w := contentChecker{want: p.Content}
		n, err := diff.got.Attachment(diff.ctx, m.in.got, m.got, p.Name, &w)
		if err := w.done(n, err); err != nil {
			diff.t.Fatalf("attachment %q of %q: %v", p.Name, want.Subject, err)
		}
	}
	if _, err := diff.got.Attachment(diff.ctx, m.in.got, m.got, "no such name",
		io.Discard); !errors.Is(err, models.ErrNotFound) {
		diff.t.Fatalf("a missing attachment of %q: error is %v, want %q", want.Subject, err, models.ErrNotFound)
	}
	if g, ok := diff.got.(models.Seer); ok {
		diff.sameNames(fmt.Sprintf("seen by of %q", want.Subject), false,
			func(y func(string) error) error {
				return g.SeenBy(diff.ctx, m.in.got, m.got, func(who string) error {
					if who == m.in.in.ref.Address {
						return nil // the owner's own flag
					}
					return y(who)
				})
			},
			func(y func(string) error) error { return diff.ref.SeenBy(diff.ctx, m.in.ref, m.ref, y) })
	}
	w := contentChecker{want: want.Raw}
	n, err := diff.got.Raw(diff.ctx, m.in.got, m.got, &w)
	if errors.Is(err, models.ErrNotOffered) {
		return
	}
	if err := w.done(n, err); err != nil {
		diff.t.Fatalf("raw %q: %v", want.Subject, err)
	}
	if g, ok := diff.got.(models.RangeReader); ok {
		diff.checkRanges(g, m, want.Raw)
	}
}

// checkRanges reads ranges of a raw message on both sides of the boundaries of chunks, and beyond its end.
func (diff *differential) checkRanges(g models.RangeReader, m message, raw mail.Content) {
	diff.t.Helper()
	size := raw.Size()
	for _, r := range [][2]int64{
		{0, 0},
		{0, 1},
		{randomChunk - 1, 1},
		{randomChunk - 1, 2},
		{randomChunk, randomChunk},
		{1, randomChunk},
		{randomChunk + 100, 3 * randomChunk},
		{size - 1, 100},
		{size, 5},
		{size + 5*randomChunk, 5},
		{7, size},
		{0, 10 * size},
	} {
		off, n := max(0, r[0]), r[1]
		w := contentChecker{want: section{raw, min(off, size), min(n, max(0, size-off))}}
		got, err := g.RawRange(diff.ctx, m.in.got, m.got, off, n, &w)
		if err := w.done(got, err); err != nil {
			diff.t.Fatalf("%d bytes from %d on of a message of %d: %v", n, off, size, err)
		}
	}
}

// section is n bytes of a content from off on.
type section struct {
	mail.Content
	off, n int64
}

func (s section) Size() int64 { return s.n }

func (s section) ReadAt(p []byte, off int64) (int, error) {
	return io.NewSectionReader(s.Content, s.off, s.n).ReadAt(p, off)
}

// checkAudit compares the audit with that of the reference: it must find no fault and count
// the same.
func (diff *differential) checkAudit() models.Audit {
	diff.t.Helper()
	got, err := diff.got.Audit(diff.ctx)
	ref, refErr := diff.ref.Audit(diff.ctx)
	diff.agree("audit", err, refErr)
	if err := diff.equalAudit(got, ref); err != nil {
		diff.t.Fatalf("audit: %v\naudit is %+v", err, got)
	}
	return got
}

type count struct {
	what      string
	got, want int64
}

// broken returns the counts that are 0 in an undamaged store.
func broken(a models.Audit) []count {
	return []count{
		{"broken references", a.Dangling, 0},
		{"duplicated", a.Duplicated, 0},
		{"broken bodies", a.BrokenBodies, 0},
		{"counter drift", a.CounterDrift, 0},
	}
}

func (diff *differential) equalAudit(got, want models.Audit) error {
	if !has[models.Purger](diff.got) { // a variant may remove at once what its model keeps
		want.Deleted = 0
	}
	counts := append(broken(got), count{"accounts", got.Accounts, want.Accounts},
		count{"folders", got.Folders, want.Folders}, count{"deleted", got.Deleted, want.Deleted})
	if !has[models.Labeler](diff.got) {
		// A message that several folders show may count once or for each.
		counts = append(counts, count{"messages", got.Messages, want.Messages})
	}
	for _, c := range counts {
		if c.got != c.want {
			return fmt.Errorf("%d %s, want %d", c.got, c.what, c.want)
		}
	}
	// The number of rows of an unreferenced message depends on the model.
	if got.Unreferenced < want.Unreferenced || got.Unreferenced > 0 && want.Unreferenced == 0 && !diff.leftovers {
		return fmt.Errorf("%d unreferenced, want %d messages", got.Unreferenced, want.Unreferenced)
	}
	return nil
}
