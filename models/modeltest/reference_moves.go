package modeltest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mailbench/mailbench/models"
)

// Move implements models.Mailbox.
func (r *reference) Move(ctx context.Context, from, to *models.Folder, hs, handles []models.Handle) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	es, err := r.findAll(from, hs)
	if err != nil {
		return err
	}
	for i, e := range es {
		r.folder(from).drop(e)
		handles[i] = r.put(r.folder(to), e.state).handle()
	}
	return nil
}

// Delete implements models.Mailbox.
func (r *reference) Delete(ctx context.Context, f *models.Folder, hs []models.Handle) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	es, err := r.findAll(f, hs)
	if err != nil {
		return err
	}
	acc := r.account(f.Account)
	for _, e := range es {
		if !r.OneMessage {
			r.folder(f).drop(e)
			continue
		}
		d := refDeleted{state: e.state, at: r.now(), came: e}
		acc.mail = slices.DeleteFunc(acc.mail, func(x *refEntry) bool {
			if x.state == e.state {
				d.came = x
			}
			return x.state == e.state
		})
		for _, f := range acc.folders {
			if x := f.entry(e.state); x != nil {
				f.drop(x)
				d.folders, d.entries = append(d.folders, f), append(d.entries, x)
			}
		}
		acc.deleted = append(acc.deleted, d)
	}
	return nil
}

// Restore implements models.Purger.
func (r *reference) Restore(ctx context.Context, a *models.Account, h models.Handle) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	acc := r.account(a)
	for i, d := range acc.deleted {
		if slices.ContainsFunc(d.entries, func(e *refEntry) bool { return e.handle() == h }) {
			for j, f := range d.folders {
				f.entries = append(f.entries, d.entries[j])
			}
			acc.deleted = slices.Delete(acc.deleted, i, i+1)
			acc.mail = append(acc.mail, d.came)
			return nil
		}
	}
	return fmt.Errorf("deleted message %x: %w", h[:8], models.ErrNotFound)
}

// AllMail implements models.AllMailer.
func (r *reference) AllMail(a *models.Account) *models.Folder {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &models.Folder{Name: "all mail", Account: a, Ref: &refFolder{entries: r.account(a).mail}}
}

// Nested implements models.Nester.
func (r *reference) Nested(ctx context.Context, a *models.Account, yield func(string, *models.Entry) error) error {
	for _, f := range r.account(a).folders {
		if len(f.entries) == 0 {
			if err := yield(f.name, nil); err != nil {
				return fmt.Errorf("folder %s: %w", f.name, err)
			}
		}
		if err := yieldAll(f.entries, func(e *models.Entry) error { return yield(f.name, e) }); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Purge implements models.Purger.
func (r *reference) Purge(ctx context.Context, a *models.Account, before time.Time) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	acc := r.account(a)
	n := len(acc.deleted)
	acc.deleted = slices.DeleteFunc(acc.deleted, func(d refDeleted) bool { return d.at.Before(before) })
	return n - len(acc.deleted), nil
}

// Label implements models.Labeler.
func (r *reference) Label(ctx context.Context, f *models.Folder, h models.Handle, label *models.Folder,
	on bool,
) (models.Handle, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return models.Handle{}, err
	}
	e, err := r.find(f, h)
	if err != nil {
		return models.Handle{}, err
	}
	if !on {
		if x := r.folder(label).entry(e.state); x != nil {
			r.folder(label).drop(x)
		}
		return h, nil
	}
	st := e.state
	if !r.OneMessage {
		c := *st
		st = &c
	}
	return r.put(r.folder(label), st).handle(), nil
}

// UID implements models.UIDs.
func (r *reference) UID(h models.Handle) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entryOf(h).uid
}

// entryOf finds an entry, even if it has left its folder.
func (r *reference) entryOf(h models.Handle) *refEntry {
	for _, e := range r.all {
		if e.handle() == h {
			return e
		}
	}
	return nil
}

// lookup is entryOf for the tests that compare with it.
func (r *reference) lookup(h models.Handle) *refEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entryOf(h)
}

// Expunge implements models.UIDs.
func (r *reference) Expunge(ctx context.Context, f *models.Folder, from, to uint64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	folder := r.folder(f)
	n := len(folder.entries)
	folder.entries = slices.DeleteFunc(folder.entries, func(e *refEntry) bool {
		return e.uid >= from && (to == 0 || e.uid <= to)
	})
	return n - len(folder.entries), nil
}

// Subscribe implements models.Subscriber.
func (r *reference) Subscribe(ctx context.Context, a *models.Account, folder string, on bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	acc := r.account(a)
	acc.subs = slices.DeleteFunc(acc.subs, func(s string) bool { return s == folder })
	if on {
		acc.subs = append(acc.subs, folder)
	}
	return ctx.Err()
}

// Subscriptions implements models.Subscriber.
func (r *reference) Subscriptions(ctx context.Context, a *models.Account, yield func(string) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.account(a).subs {
		if err := yield(s); err != nil {
			return fmt.Errorf("subscriptions of %s: %w", a.Address, err)
		}
	}
	return ctx.Err()
}

// BySender implements models.SenderSearcher.
func (r *reference) BySender(ctx context.Context, f *models.Folder, sender string, limit int,
	yield func(*models.Entry) error,
) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var es []*refEntry
	if f != nil {
		es = r.sorted(r.folder(f))
	} else {
		counted := map[*refFolder]bool{} // a folder that several have joined is one
		for _, a := range r.accounts {
			for _, f := range a.folders {
				if !counted[f] {
					es = append(es, f.entries...)
				}
				counted[f] = true
			}
		}
	}
	es = slices.DeleteFunc(es, func(e *refEntry) bool { return e.state.mail.From.Address != sender })
	if err := ctx.Err(); err != nil {
		return err
	}
	return yieldAll(es[:min(limit, len(es))], yield)
}

// Slice implements models.Slicer.
func (r *reference) Slice(ctx context.Context, f *models.Folder, from, to time.Time, limit int,
	yield func(*models.Entry) error,
) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	es := slices.DeleteFunc(r.sorted(r.folder(f)), func(e *refEntry) bool {
		return e.state.mail.at.Before(from) || e.state.mail.at.After(to)
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	return yieldAll(es[:min(limit, len(es))], yield)
}

// Seen implements models.Seer.
func (r *reference) Seen(ctx context.Context, f *models.Folder, h models.Handle, who string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	e, err := r.find(f, h)
	if err == nil {
		e.state.seenBy = append(e.state.seenBy, who)
	}
	return err
}

// SeenBy implements models.Seer.
func (r *reference) SeenBy(ctx context.Context, f *models.Folder, h models.Handle, yield func(string) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.find(f, h)
	if err != nil {
		return err
	}
	for _, who := range e.state.seenBy {
		if err := yield(who); err != nil {
			return fmt.Errorf("seen by %s: %w", who, err)
		}
	}
	return ctx.Err()
}

// Join implements models.Poster.
func (r *reference) Join(ctx context.Context, a *models.Account, f *models.Folder) (*models.Folder, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	acc := r.account(a)
	acc.folders = append(acc.folders, r.folder(f))
	return &models.Folder{Name: f.Name, Account: a, Ref: f.Ref}, ctx.Err()
}

// Leave implements models.Poster.
func (r *reference) Leave(ctx context.Context, f *models.Folder) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	acc := r.account(f.Account)
	acc.folders = slices.DeleteFunc(acc.folders, func(own *refFolder) bool { return own == r.folder(f) })
	return ctx.Err()
}

// Audit implements models.Mailbox.
func (r *reference) Audit(ctx context.Context) (models.Audit, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var a models.Audit
	shown := map[*refMail]bool{}
	counted := map[*refFolder]bool{} // a folder that several have joined is one
	for _, acc := range r.accounts {
		a.Accounts++
		a.Deleted += int64(len(acc.deleted))
		for _, f := range acc.folders {
			if counted[f] {
				continue
			}
			counted[f] = true
			a.Folders++
			a.Messages += int64(len(f.entries))
			for _, e := range f.entries {
				shown[e.state.mail] = true
			}
		}
	}
	if r.KeepsBodies {
		a.Unreferenced = int64(len(r.mails) - len(shown))
	}
	return a, ctx.Err()
}
