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
	for _, a := range diff.accounts {
		diff.checkAccount(a)
		for _, f := range a.folders {
			diff.checkFolder(f, 25)
			diff.checkSearches(f)
			for _, m := range diff.list(f) {
				diff.checkMessage(m)
			}
		}
	}
	diff.checkAudit()
}

// checkLogin logs in, and returns the model's account. It is nil if there is none.
func (diff *differential) checkLogin(address string) *models.Account {
	a, want := diff.account(address), error(nil)
	if a == nil {
		want = models.ErrNotFound
	}
	got, err := diff.got.Login(diff.ctx, address)
	if diff.agree(fmt.Sprintf("login %q", address), err, want) != nil {
		return nil
	}
	diff.pair(got, a)
	return got
}

// checkAccount compares what is read of an account: its folders with their numbers, and what the
// model's optional operations read.
func (diff *differential) checkAccount(a *account) {
	diff.checkLogin(a.address)
	left := slices.Clone(a.folders)
	err := diff.got.Folders(diff.ctx, a.got, func(i models.FolderInfo) error {
		at := slices.IndexFunc(left, func(f *folder) bool { return f.name == i.Name })
		if at < 0 {
			return fmt.Errorf("folder %q is listed twice, or is none of the account's", i.Name)
		}
		want := left[at].stats()
		left = slices.Delete(left, at, at+1)
		return equalNumbers(i.Known, models.Stats{Messages: i.Messages, Unread: i.Unread}, want)
	})
	diff.agree("folders of "+a.address, err, nil)
	for _, f := range left {
		diff.t.Fatalf("folders of %s: %q is missing", a.address, f.name)
	}
	if s, ok := diff.got.(models.Subscriber); ok {
		diff.sameNames("subscriptions of "+a.address, slices.Sorted(slices.Values(a.subs)), true,
			func(y func(string) error) error { return s.Subscriptions(diff.ctx, a.got, y) })
	}
	if all, ok := diff.got.(models.AllMailer); ok {
		name := "all mail of " + a.address
		got, err := diff.got.Stats(diff.ctx, all.AllMail(a.got))
		diff.agree(name, err, nil)
		diff.must(equalNumbers(got.Known|models.KnowBytes, got, statsOf(a.mail)), "%s", name)
		diff.sameList(name, diff.list(&folder{box: &box{entries: a.mail}, in: a}), 1000,
			func(y func(*models.Entry) error) error {
				return diff.got.List(diff.ctx, all.AllMail(a.got), models.Handle{}, 1000, y)
			})
	}
	if n, ok := diff.got.(models.Nester); ok {
		diff.checkNested(n, a)
	}
}

// checkNested compares a nested read with the folders of the reference.
func (diff *differential) checkNested(n models.Nester, a *account) {
	left := map[string][]message{}
	for _, f := range a.folders {
		if left[f.name] = diff.list(f); len(f.entries) == 0 {
			left[f.name] = []message{{entry: &entry{}}} // it is yielded once, without a message
		}
	}
	err := n.Nested(diff.ctx, a.got, func(folder string, e *models.Entry) error {
		var h models.Handle
		if e != nil {
			h = e.Handle
		}
		i := slices.IndexFunc(left[folder], func(m message) bool { return m.got == h })
		if i < 0 {
			return fmt.Errorf("%q has message %x, or has it twice", folder, h)
		}
		m := left[folder][i]
		if left[folder] = slices.Delete(left[folder], i, i+1); e == nil {
			return nil
		}
		return equalEntry(e, m)
	})
	for folder, ms := range left {
		if err == nil && len(ms) > 0 {
			err = fmt.Errorf("%q: %d messages are missing", folder, len(ms))
		}
	}
	diff.agree("nested read of "+a.address, err, nil)
}

// sameNames compares the names that a call yields, sorted or in their order.
func (diff *differential) sameNames(what string, want []string, sorted bool, list func(y func(string) error) error) {
	var got []string
	err := list(func(name string) error {
		got = append(got, name)
		return nil
	})
	if sorted {
		slices.Sort(got)
	}
	if diff.agree(what, err, nil); !slices.Equal(got, want) {
		diff.t.Fatalf("%s: %q, want %q", what, got, want)
	}
}

// sameList compares the entries that a call yields with up to limit messages.
func (diff *differential) sameList(what string, want []message, limit int,
	list func(y func(*models.Entry) error) error,
) {
	es, err := collect(list)
	diff.agree(what, err, nil)
	diff.checkOrder(what, es, want[:min(limit, len(want))])
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

// equalNumbers compares the known numbers of a folder.
func equalNumbers(known models.Known, got, want models.Stats) error {
	if !known.Has(models.KnowMessages) {
		got.Messages = want.Messages
	}
	if !known.Has(models.KnowUnread) {
		got.Unread = want.Unread
	}
	if !known.Has(models.KnowBytes) {
		got.Bytes = want.Bytes
	}
	if got.Known = want.Known; got != want {
		return fmt.Errorf("%+v, want %+v", got, want)
	}
	return nil
}

// checkFolder compares a folder's numbers and, page by page, its list.
func (diff *differential) checkFolder(f *folder, page int) {
	name := fmt.Sprintf("folder %q of %s", f.name, f.in.address)
	got, err := diff.got.Stats(diff.ctx, f.got)
	diff.agree("stats of "+name, err, nil)
	diff.must(equalNumbers(got.Known, got, f.stats()), "stats of %s", name)
	diff.checkAfter(f, message{}, page)
}

// checkSearches compares what a model finds in a folder: by sender, and between two times, which
// may be those of messages.
func (diff *differential) checkSearches(f *folder) {
	ms := diff.list(f)
	if len(ms) == 0 {
		return
	}
	for _, limit := range []int{1, 3, 1000} {
		if g, ok := diff.got.(models.SenderSearcher); ok {
			sender := ms[len(ms)/2].From.Address
			others := func(m message) bool { return m.From.Address != sender }
			diff.sameList("by sender "+sender, slices.DeleteFunc(slices.Clone(ms), others), limit,
				func(y func(*models.Entry) error) error { return g.BySender(diff.ctx, f.got, sender, limit, y) })
			all, err := collect(func(y func(*models.Entry) error) error { return g.BySender(diff.ctx, nil, sender, limit, y) })
			want := 0
			for b := range diff.boxes {
				for _, e := range b.entries {
					if e.From.Address == sender {
						want++
					}
				}
			}
			if diff.agree("by sender everywhere", err, nil); len(all) != min(limit, want) {
				diff.t.Fatalf("by sender %q everywhere: %d messages, want %d", sender, len(all), min(limit, want))
			}
		}
		g, ok := diff.got.(models.Slicer)
		if !ok {
			continue
		}
		milli, newest, middle, oldest := time.Millisecond, ms[0].at, ms[len(ms)/2].at, ms[len(ms)-1].at
		for _, r := range [][2]time.Time{
			{oldest, newest},
			{oldest.Add(milli), newest.Add(-milli)},
			{oldest.Add(-milli), middle},
			{middle, newest.Add(milli)},
			{middle, middle},
			{newest, oldest},
		} {
			within := slices.DeleteFunc(slices.Clone(ms), func(m message) bool { return m.at.Before(r[0]) || m.at.After(r[1]) })
			diff.sameList(fmt.Sprintf("slice from %v to %v", r[0], r[1]), within, limit,
				func(y func(*models.Entry) error) error { return g.Slice(diff.ctx, f.got, r[0], r[1], limit, y) })
		}
	}
}

// checkOrder compares a list with the expected messages, newest first.
func (diff *differential) checkOrder(name string, entries []models.Entry, want []message) {
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
		if e.Handle != w.got {
			diff.t.Fatalf("%s: place %d of %d has %x, want %x", name, i, len(want), e.Handle, w.got)
		}
		diff.must(equalEntry(&e, w), "%s: place %d", name, i)
	}
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

// checkAfter compares what follows a message that may be gone, and returns the last message of its first page. The zero
// message begins with the newest.
func (diff *differential) checkAfter(f *folder, after message, page int) (last message) {
	var from models.Handle
	want := diff.list(f)
	if after.entry != nil {
		from = after.got
		want = slices.DeleteFunc(want, func(m message) bool { return diff.compare(m.entry, after.entry) <= 0 })
	}
	what := fmt.Sprintf("list folder %q of %s after %x in pages of %d", f.name, f.in.address, from, page)
	got, err := pages(diff.ctx, diff.got, f.got, from, page, len(want)+page)
	diff.must(err, "%s", what)
	if diff.checkOrder(what, got, want); len(want) < page {
		return message{}
	}
	return want[page-1]
}

// equalEntry compares the known fields of an entry.
func equalEntry(e *models.Entry, m message) error {
	seen, date := m.flags&models.Seen != 0, mail.Bounded(m.Date)
	switch {
	case e.Known.Has(models.KnowFrom) && string(e.From) != m.From.Address:
		return fmt.Errorf("from %q, want %q", e.From, m.From.Address)
	case e.Known.Has(models.KnowSubject) && string(e.Subject) != m.Subject:
		return fmt.Errorf("subject %q, want %q", e.Subject, m.Subject)
	case e.Known.Has(models.KnowSize) && e.Size != m.Raw.Size():
		return fmt.Errorf("size %d, want %d", e.Size, m.Raw.Size())
	case e.Known.Has(models.KnowSeen) && e.Seen != seen:
		return fmt.Errorf("seen %v, want %v", e.Seen, seen)
	case e.Known.Has(models.KnowDate) && !sameMilli(e.Date, date) && !sameMilli(e.Date, m.at):
		return fmt.Errorf("date %v, want the message's %v or its delivery's %v", e.Date, date, m.at)
	}
	return nil
}

// sameMilli compares to the millisecond, which every engine keeps.
func sameMilli(a, b time.Time) bool {
	return a.Truncate(time.Millisecond).Equal(b.Truncate(time.Millisecond))
}

// checkMessage opens a message and reads its attachments and the raw message.
func (diff *differential) checkMessage(m message) {
	want, o := m.Message, &diff.opened
	diff.must(diff.got.Open(diff.ctx, m.in.got, m.got, o), "open %q", want.Subject)
	if o.Handle != m.got {
		diff.t.Fatalf("open %q: handle %x, want %x", want.Subject, o.Handle, m.got)
	}
	diff.must(equalEntry(&o.Entry, m), "open %q", want.Subject)
	if o.Known.Has(models.KnowSeen) && o.Flags != m.flags {
		diff.t.Fatalf("open %q: flags %b, want %b", want.Subject, o.Flags, m.flags)
	}
	if _, ok := diff.got.(models.UserFlagger); ok && !slices.Equal(slices.Sorted(slices.Values(o.UserFlags)),
		slices.Sorted(slices.Values(m.named))) {
		diff.t.Fatalf("open %q: flags %q of users, want %q", want.Subject, o.UserFlags, m.named)
	}
	diff.must(sameContent(want.Body.Content, bytes.NewReader(o.Body).WriteTo), "open %q: body", want.Subject)
	var files, wanted []string
	for _, a := range o.Attachments {
		files = append(files, fmt.Sprintf("%q of %d bytes", a.Name, a.Size))
	}
	for _, p := range want.Attachments {
		wanted = append(wanted, fmt.Sprintf("%q of %d bytes", p.Name, p.Content.Size()))
		diff.must(sameContent(p.Content, func(w io.Writer) (int64, error) {
			return diff.got.Attachment(diff.ctx, m.in.got, m.got, p.Name, w)
		}), "attachment %q of %q", p.Name, want.Subject)
	}
	slices.Sort(files) // in the order of the message if the model keeps that order
	if slices.Sort(wanted); !slices.Equal(files, wanted) {
		diff.t.Fatalf("open %q: attachments %s, want %s", want.Subject, files, wanted)
	}
	if _, err := diff.got.Attachment(diff.ctx, m.in.got, m.got, "no such name",
		io.Discard); !errors.Is(err, models.ErrNotFound) {
		diff.t.Fatalf("a missing attachment of %q: error is %v, want %q", want.Subject, err, models.ErrNotFound)
	}
	if g, ok := diff.got.(models.Seer); ok {
		diff.sameNames(fmt.Sprintf("seen by of %q", want.Subject), m.seenBy, false, func(y func(string) error) error {
			return g.SeenBy(diff.ctx, m.in.got, m.got, func(who string) error {
				if who == m.in.in.address {
					return nil // the owner's own flag
				}
				return y(who)
			})
		})
	}
	err := sameContent(want.Raw, func(w io.Writer) (int64, error) { return diff.got.Raw(diff.ctx, m.in.got, m.got, w) })
	if errors.Is(err, models.ErrNotOffered) {
		return
	}
	diff.must(err, "raw %q", want.Subject)
	if g, ok := diff.got.(models.RangeReader); ok {
		diff.checkRanges(g, m, want.Raw)
	}
}

// checkRanges reads ranges of a raw message on both sides of the boundaries of chunks, and beyond its end.
func (diff *differential) checkRanges(g models.RangeReader, m message, raw mail.Content) {
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
		piece := io.NewSectionReader(raw, min(off, size), min(n, max(0, size-off)))
		diff.must(sameContent(piece, func(w io.Writer) (int64, error) {
			return g.RawRange(diff.ctx, m.in.got, m.got, off, n, w)
		}), "%d bytes from %d on of a message of %d", n, off, size)
	}
}
