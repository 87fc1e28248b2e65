package conversation

import (
	"context"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Flag implements models.Mailbox. It adds the folder's owner to the viewers of a message, or
// removes the owner.
func (m *mailbox) Flag(ctx context.Context, f *models.Folder, h models.Handle, flag models.Flag, on bool) error {
	if flag != models.Seen {
		return models.ErrNotOffered
	}
	err := m.get(ctx, m.seenBy, f, h, m.onSeen)
	if err == nil && m.read != on {
		st := m.unseen
		if on {
			st = m.seen
		}
		err = m.writeSeen(ctx, st, f, h, f.Account.Address)
	}
	return m.FailedIn("flag", f, err)
}

func (m *mailbox) seenRow(row []drivers.Value) error {
	m.read = m.isSeen(row[0])
	return nil
}

// Seen implements models.Seer. It does not read the list, but it checks that the
// message exists: an append to a deleted message would bring back an empty row.
func (m *mailbox) Seen(ctx context.Context, f *models.Folder, h models.Handle, who string) error {
	err := m.get(ctx, m.exists, f, h, m.onExists)
	if err == nil {
		err = m.writeSeen(ctx, m.seen, f, h, who)
	}
	return m.FailedIn("seen", f, err)
}

func (m *mailbox) existsRow([]drivers.Value) error { return nil }

func (m *mailbox) writeSeen(ctx context.Context, st drivers.Statement, f *models.Folder, h models.Handle,
	who string,
) error {
	m.who[0] = drivers.Text(who)
	_, err := m.S.Write(ctx, st, m.With(ref(f), idOf(h), drivers.ListOf(m.who[:])))
	return err
}

// SeenBy implements models.Seer.
func (m *mailbox) SeenBy(ctx context.Context, f *models.Folder, h models.Handle, yield func(who string) error) error {
	err := m.get(ctx, m.seenBy, f, h, func(row []drivers.Value) error {
		for _, who := range row[0].Elems() {
			if err := yield(who.Str()); err != nil {
				return err
			}
		}
		return nil
	})
	return m.FailedIn("seen by", f, err)
}

// allExist checks that all messages exist before one of them changes.
func (m *mailbox) allExist(ctx context.Context, f *models.Folder, hs []models.Handle) error {
	if err := m.Handles.Distinct(hs); err != nil {
		return err
	}
	for _, h := range hs {
		if err := m.get(ctx, m.exists, f, h, m.onExists); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements models.Mailbox.
func (m *mailbox) Delete(ctx context.Context, f *models.Folder, hs []models.Handle) error {
	err := m.allExist(ctx, f, hs)
	if err == nil && len(hs) > 0 {
		m.Calls.Reset()
		for _, h := range hs {
			m.Calls.Add(only, ref(f), idOf(h))
		}
		err = m.S.Batch(ctx, m.deleteMessages, m.Calls.List)
	}
	return m.FailedIn("delete", f, err)
}

// Move implements models.Mailbox. It posts each message again and then deletes the old
// one. An interruption leaves a message in both; an audit counts it.
func (m *mailbox) Move(ctx context.Context, from, to *models.Folder, hs, handles []models.Handle) error {
	err := m.move(ctx, from, to, hs, handles)
	m.whole = nil
	m.Forget()
	return m.FailedIn("move", from, err)
}

func (m *mailbox) move(ctx context.Context, from, to *models.Folder, hs, handles []models.Handle) error {
	here := from.Ref == to.Ref
	if len(hs) > 1 || here { // copy finds a single missing message itself
		if err := m.allExist(ctx, from, hs); err != nil {
			return err
		}
	}
	for i, h := range hs {
		handles[i] = h
		if here {
			continue
		}
		if err := m.copy(ctx, from, to, h); err != nil {
			if i > 0 {
				err = models.Partly(err)
			}
			return err
		}
		if _, err := m.S.Write(ctx, m.deleteMessage, m.With(ref(from), idOf(h))); err != nil {
			return models.Partly(err)
		}
	}
	return nil
}

// copy posts a message again.
func (m *mailbox) copy(ctx context.Context, from, to *models.Folder, h models.Handle) error {
	m.Arena.Reset()
	if err := m.get(ctx, m.wholeMessage, from, h, m.onWhole); err != nil {
		return err
	}
	m.With(ref(to), idOf(h))
	_, err := m.S.Write(ctx, m.post, m.Also(m.whole...))
	return err
}

// wholeRow keeps a row with its columns in the order of post.
func (m *mailbox) wholeRow(row []drivers.Value) error {
	m.whole = m.Arena.Row(row)
	return nil
}
