package modeltest

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// CreateUser implements models.Mailbox.
func (r *reference) CreateUser(ctx context.Context, address string, folders []string) (*models.Account, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, a := range r.accounts {
		if a.address == address {
			return nil, fmt.Errorf("account %s: %w", address, models.ErrExists)
		}
	}
	if len(folders) > 0 || !r.posts {
		if err := models.CheckFolders(folders); err != nil {
			return nil, err
		}
	}
	a := &refAccount{address: address}
	for _, name := range folders {
		a.folders = append(a.folders, &refFolder{name: name})
	}
	r.accounts = append(r.accounts, a)
	return resolve(a), nil
}

func resolve(a *refAccount) *models.Account {
	acc := &models.Account{Address: a.address, Ref: a}
	for _, f := range a.folders {
		acc.Folders = append(acc.Folders, &models.Folder{Name: f.name, Account: acc, Ref: f})
	}
	return acc
}

// CreateFolder implements models.Mailbox.
func (r *reference) CreateFolder(ctx context.Context, a *models.Account, name string) (*models.Folder, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	acc := r.account(a)
	for _, f := range acc.folders {
		if f.name == name {
			return nil, fmt.Errorf("folder %s: %w", name, models.ErrExists)
		}
	}
	f := &refFolder{name: name}
	acc.folders = append(acc.folders, f)
	return &models.Folder{Name: name, Account: a, Ref: f}, nil
}

// Login implements models.Mailbox.
func (r *reference) Login(ctx context.Context, address string) (*models.Account, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, a := range r.accounts {
		if a.address == address {
			return resolve(a), nil
		}
	}
	return nil, fmt.Errorf("account %s: %w", address, models.ErrNotFound)
}

// Folders implements models.Mailbox.
func (r *reference) Folders(ctx context.Context, a *models.Account, yield func(models.FolderInfo) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, f := range r.account(a).folders {
		s := stats(f)
		if err := yield(models.FolderInfo{Name: f.name, Known: s.Known, Messages: s.Messages, Unread: s.Unread}); err != nil {
			return fmt.Errorf("folders of %s: %w", a.Address, err)
		}
	}
	return nil
}

// Stats implements models.Mailbox.
func (r *reference) Stats(ctx context.Context, f *models.Folder) (models.Stats, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return stats(r.folder(f)), ctx.Err()
}

func stats(f *refFolder) models.Stats {
	s := models.Stats{Known: models.KnowMessages | models.KnowUnread | models.KnowBytes}
	for _, e := range f.entries {
		s.Messages++
		s.Bytes += e.state.mail.Raw.Size()
		if e.state.flags&models.Seen == 0 {
			s.Unread++
		}
	}
	return s
}

// Deliver implements models.Mailbox.
func (r *reference) Deliver(ctx context.Context, m *mail.Message, to []*models.Folder, handles []models.Handle) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	// A message that cannot be read is nowhere.
	if _, err := io.Copy(io.Discard, io.NewSectionReader(m.Raw, 0, m.Raw.Size())); err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	mail := &refMail{Message: m, at: models.Arrival(m, r.now)}
	r.mails = append(r.mails, mail)
	number := r.number()
	for i, f := range to {
		if !r.KeepsBodies && i > 0 {
			number = r.number()
		}
		e := r.put(r.folder(f), &refState{mail: mail, number: number})
		r.account(f.Account).mail = append(r.account(f.Account).mail, e)
		handles[i] = e.handle()
	}
	return nil
}

// List implements models.Mailbox.
func (r *reference) List(ctx context.Context, f *models.Folder, after models.Handle, limit int,
	yield func(*models.Entry) error,
) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	es := r.sorted(r.folder(f))
	if !after.IsZero() {
		// The message after may be gone, but it still has a place in the order.
		gone := r.entryOf(after)
		es = slices.DeleteFunc(es, func(e *refEntry) bool { return e == gone || r.compare(e, gone) <= 0 })
	}
	return yieldAll(es[:min(limit, len(es))], yield)
}

func yieldAll(es []*refEntry, yield func(*models.Entry) error) error {
	for _, e := range es {
		entry := e.entry()
		if err := yield(&entry); err != nil {
			return fmt.Errorf("message %x: %w", entry.Handle[:8], err)
		}
	}
	return nil
}

func (e *refEntry) entry() models.Entry {
	m := e.state.mail
	return models.Entry{
		Handle:  e.handle(),
		Known:   models.KnowFrom | models.KnowSubject | models.KnowDate | models.KnowSize | models.KnowSeen,
		From:    []byte(m.From.Address),
		Subject: []byte(m.Subject),
		Date:    mail.Bounded(m.Date),
		Size:    m.Raw.Size(),
		Seen:    e.state.flags&models.Seen != 0,
	}
}

// Open implements models.Mailbox.
func (r *reference) Open(ctx context.Context, f *models.Folder, h models.Handle, o *models.Opened) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	e, err := r.find(f, h)
	if err != nil {
		return err
	}
	o.Entry, o.Flags, o.Attachments = e.entry(), e.state.flags, o.Attachments[:0]
	o.UserFlags = append(o.UserFlags[:0], e.state.named...)
	for _, a := range e.state.mail.Attachments {
		o.Attachments = append(o.Attachments, models.AttachmentInfo{Name: a.Name, Size: a.Content.Size()})
	}
	o.Body, err = mail.AppendContent(o.Body[:0], e.state.mail.Body.Content)
	return err
}

// Raw implements models.Mailbox.
func (r *reference) Raw(ctx context.Context, f *models.Folder, h models.Handle, w io.Writer) (int64, error) {
	return r.RawRange(ctx, f, h, 0, 1<<62, w)
}

// RawRange implements models.RangeReader.
func (r *reference) RawRange(ctx context.Context, f *models.Folder, h models.Handle, off, n int64,
	w io.Writer,
) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	e, err := r.find(f, h)
	if err != nil {
		return 0, err
	}
	return io.Copy(w, io.NewSectionReader(e.state.mail.Raw, off, min(n, max(0, e.state.mail.Raw.Size()-off))))
}

// Attachment implements models.Mailbox.
func (r *reference) Attachment(ctx context.Context, f *models.Folder, h models.Handle, name string,
	w io.Writer,
) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	e, err := r.find(f, h)
	if err != nil {
		return 0, err
	}
	for _, a := range e.state.mail.Attachments {
		if a.Name == name {
			return io.Copy(w, io.NewSectionReader(a.Content, 0, a.Content.Size()))
		}
	}
	return 0, fmt.Errorf("attachment %q: %w", name, models.ErrNotFound)
}

// Flag implements models.Mailbox.
func (r *reference) Flag(ctx context.Context, f *models.Folder, h models.Handle, flag models.Flag, on bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	e, err := r.find(f, h)
	if err != nil {
		return err
	}
	e.state.flags &^= flag
	if on {
		e.state.flags |= flag
	}
	return nil
}

// UserFlag implements models.UserFlagger.
func (r *reference) UserFlag(ctx context.Context, f *models.Folder, h models.Handle, name string, on bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	e, err := r.find(f, h)
	if err == nil {
		e.state.named = slices.DeleteFunc(slices.Clone(e.state.named), func(n string) bool { return n == name })
		if on {
			e.state.named = append(e.state.named, name)
		}
	}
	return err
}
