package oracle

import (
	"context"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Flag implements models.Mailbox.
func (m *mailbox) Flag(ctx context.Context, f *models.Folder, h models.Handle, flag models.Flag, on bool) error {
	if flag != models.Seen {
		return models.ErrNotOffered
	}
	return m.FailedIn("flag", f, m.flagSeen(ctx, ref(f), h, on))
}

// flagSeen writes on the condition that the message exists and has the other value,
// since a plain put would bring back a row of a deleted message. If the condition
// fails, flagSeen reads the row to find out why.
func (m *mailbox) flagSeen(ctx context.Context, f *folder, h models.Handle, on bool) error {
	k, err := m.keyOf(f, h)
	if err != nil {
		return err
	}
	for {
		err := m.Claim(ctx, m.setRead, drivers.Text(f.userID), drivers.Text(f.folderID),
			drivers.TextBytes(k.text[:]), drivers.Timestamp(k.created), drivers.Boolean(on), drivers.Boolean(!on))
		if err != models.ErrExists {
			return err
		}
		if err := m.get(ctx, m.exists, f, h, m.onExists); err != nil || m.read == on {
			return err
		}
		// Another worker has changed it in between.
	}
}

func (m *mailbox) existsRow(row []drivers.Value) error {
	m.read = row[0].Bool()
	return nil
}

func (m *mailbox) wholeRow(row []drivers.Value) error {
	m.whole = m.Arena.Row(row)
	return nil
}

// begin starts an operation on messages. It refuses a message that is named twice.
func (m *mailbox) begin(hs []models.Handle) error {
	m.Arena.Reset()
	m.Calls.Reset()
	return m.Handles.Distinct(hs)
}

// Delete implements models.Mailbox: all or nothing.
func (m *mailbox) Delete(ctx context.Context, f *models.Folder, hs []models.Handle) error {
	return m.FailedIn("delete", f, m.delete(ctx, ref(f), hs))
}

func (m *mailbox) delete(ctx context.Context, f *folder, hs []models.Handle) error {
	if err := m.begin(hs); err != nil {
		return err
	}
	for _, h := range hs {
		if err := m.get(ctx, m.exists, f, h, m.onExists); err != nil {
			return err
		}
		m.Calls.Add(only, drivers.Text(f.userID), drivers.Text(f.folderID),
			drivers.TextBytes(m.Arena.Bytes(m.key.text[:])), drivers.Timestamp(m.key.created))
	}
	if len(hs) == 0 {
		return nil
	}
	return m.S.Batch(ctx, m.remove, m.Calls.List)
}

// Move implements models.Mailbox. It reads every row and writes it again, with body
// and attachments, in one batch that is all or nothing. A message keeps its messageId
// and createdDate, and therefore its place in the order of arrival. Several messages that
// hold more than MaxRow together are too large.
func (m *mailbox) Move(ctx context.Context, from, to *models.Folder, hs, handles []models.Handle) error {
	err := m.moveAll(ctx, ref(from), ref(to), hs, handles)
	m.whole = nil
	m.Forget()
	return m.FailedIn("move", from, err)
}

func (m *mailbox) moveAll(ctx context.Context, from, to *folder, hs, handles []models.Handle) error {
	if err := m.begin(hs); err != nil {
		return err
	}
	if from.number == to.number {
		for i, h := range hs {
			if err := m.get(ctx, m.exists, from, h, m.onExists); err != nil {
				return err
			}
			handles[i] = h
		}
		return nil
	}
	held := 0
	for i, h := range hs {
		if err := m.get(ctx, m.wholeMessage, from, h, m.onWhole); err != nil {
			return err
		}
		for j := range m.whole {
			held += m.whole[j].Size()
		}
		if i > 0 && held > models.MaxRow {
			return fmt.Errorf("%d messages of %d bytes and more at once, at most %d fit: %w", len(hs), held,
				models.MaxRow, drivers.ErrTooLarge)
		}
		id, created := drivers.TextBytes(m.Arena.Bytes(m.key.text[:])), drivers.Timestamp(m.key.created)
		m.With(drivers.Text(to.userID), drivers.Text(to.folderID), id, created)
		m.Calls.Add(movePut, m.Also(m.whole...)...)
		m.Calls.Add(moveDelete, drivers.Text(from.userID), drivers.Text(from.folderID), id, created)
		handles[i] = handleOf([16]byte(h[:16]), m.key.created, to)
	}
	if len(hs) == 0 {
		return nil
	}
	return m.S.Batch(ctx, m.move, m.Calls.List)
}
