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
)

// check compares everything: the accounts as Login returns them, their folders with numbers
// and pages, every byte of each message, and the audit.
func (diff *differential) check() {
	diff.t.Helper()
	for _, a := range diff.accounts {
		diff.checkAccount(a)
		for _, f := range a.folders {
			diff.checkFolder(f, 25)
			for _, m := range diff.live(f) {
				diff.checkMessage(m)
			}
		}
	}
	diff.checkAudit()
}

func (diff *differential) checkAccount(a *account) {
	diff.t.Helper()
	got, err := diff.got.Login(diff.ctx, a.ref.Address)
	ref, refErr := diff.ref.Login(diff.ctx, a.ref.Address)
	diff.agree("login "+a.ref.Address, err, refErr)
	diff.pair(got, ref)

	want := map[string]models.FolderInfo{}
	refErr = diff.ref.Folders(diff.ctx, a.ref, func(i models.FolderInfo) error {
		want[i.Name] = i
		return nil
	})
	err = diff.got.Folders(diff.ctx, a.got, func(i models.FolderInfo) error {
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
	entries, err := pages(diff.ctx, diff.got, f.got, page, len(want)+page)
	if err != nil {
		diff.t.Fatalf("list %s: %v", name, err)
	}
	diff.checkOrder(fmt.Sprintf("list %s in pages of %d", name, page), entries, want)
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

// pages lists a folder in pages. It returns an error after limit entries.
func pages(ctx context.Context, mb models.Mailbox, f *models.Folder, page, limit int) ([]models.Entry, error) {
	var es []models.Entry
	var after models.Handle
	for {
		n := 0
		err := mb.List(ctx, f, after, page, func(e *models.Entry) error {
			if n++; n > page {
				return fmt.Errorf("a page of %d has more entries", page)
			}
			c := *e
			c.From, c.Subject = bytes.Clone(e.From), bytes.Clone(e.Subject)
			es = append(es, c)
			after = e.Handle
			return nil
		})
		if err != nil || n < page {
			return es, err
		}
		if len(es) > limit {
			return es, fmt.Errorf("pages of %d do not end: %d entries so far", page, len(es))
		}
	}
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
	w := contentChecker{want: want.Raw}
	n, err := diff.got.Raw(diff.ctx, m.in.got, m.got, &w)
	if errors.Is(err, models.ErrNotOffered) {
		return
	}
	if err := w.done(n, err); err != nil {
		diff.t.Fatalf("raw %q: %v", want.Subject, err)
	}
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
