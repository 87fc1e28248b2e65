package oracle

import (
	"context"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
)

// Deliver implements models.Mailbox: a whole row for each recipient.
func (m *mailbox) Deliver(ctx context.Context, msg *mail.Message, to []*models.Folder, handles []models.Handle) error {
	m.text = appendList(m.text[:0], msg.To)
	toEnd := len(m.text)
	m.text = appendList(m.text, msg.Cc)
	ccEnd := len(m.text)
	m.text = appendList(m.text, msg.Bcc)
	arrived := models.Arrival(msg, m.now)
	m.Arena.Reset()
	err := m.Load(msg, schemas.Blob)
	if err == nil {
		err = m.Spread(ctx, m.do.Deliver, len(to), msg.Raw.Size(), func(i int) {
			r := ref(to[i])
			id, created := m.newMessage(arrived)
			handles[i] = handleOf(id, created, r)
			m.Calls.Add(only, r.user, r.id, m.messageID(r, handles[i]), drivers.Timestamp(created),
				drivers.Text(msg.From.Address), drivers.TextBytes(m.text[:toEnd]), drivers.TextBytes(m.text[toEnd:ccEnd]),
				drivers.TextBytes(m.text[ccEnd:]), drivers.Text(msg.Subject), drivers.TextBytes(m.Body), drivers.Boolean(false),
				drivers.Bigint(msg.Raw.Size()), drivers.MapOf(m.Sizes), drivers.MapOf(m.Files))
		})
	}
	if m.text = models.Reuse(m.text); m.Release() {
		m.Forget()
	}
	if err != nil {
		return fmt.Errorf("oracle: deliver to %d folders: %w", len(to), err)
	}
	return nil
}

// appendList appends addresses as one text, as in the lists of the source design.
func appendList(dst []byte, as []mail.Address) []byte {
	for i := range as {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(dst, as[i].Address...)
	}
	return dst
}

// Flag implements models.Mailbox. It writes the flag if the message exists: a plain put would make a row of a
// deleted message, of one column.
func (m *mailbox) Flag(ctx context.Context, f *models.Folder, h models.Handle, flag models.Flag, on bool) (err error) {
	defer m.FailedIn(&err, f, "flag")
	if flag != models.Seen {
		return models.ErrNotOffered
	}
	if _, err := m.named(ref(f), h); err != nil {
		return err
	}
	err = m.Claim(ctx, m.do.SetRead, m.Also(drivers.Boolean(on))...)
	if err == models.ErrExists { // the condition does not hold
		return models.ErrNotFound
	}
	return err
}

// several reads the rows of messages of a folder, in the order of hs. It returns ErrNotFound if one is missing. A
// messageId is unique, so it names the row of a handle. Without a statement it reads nothing.
func (m *mailbox) several(ctx context.Context, st drivers.Statement, f *folder, hs []models.Handle,
	take func(m *mailbox, at int, row []drivers.Value) error,
) error {
	m.Arena.Reset()
	m.Calls.Reset()
	id := func(h models.Handle) drivers.Value { return m.messageID(f, h) }
	if st == nil {
		_, err := m.IDs(hs, id)
		return err
	}
	return m.Several(ctx, st, hs, id, take, f.user, f.id)
}

// Delete implements models.Mailbox: all or nothing. The batch deletes the messages only if all of them are
// there. Where an engine has no such condition, a read comes first, and another client may come in between.
func (m *mailbox) Delete(ctx context.Context, f *models.Folder, hs []models.Handle) (err error) {
	defer m.FailedIn(&err, f, "delete")
	r, existing := ref(f), m.do.Existing
	if m.do.Delete.Pattern().Conditional() {
		existing = nil
	}
	if err := m.several(ctx, existing, r, hs, nil); err != nil || len(hs) == 0 {
		return err
	}
	for _, h := range hs {
		m.Calls.Add(only, r.user, r.id, m.messageID(r, h), createdOf(h))
	}
	return m.batch(ctx, m.do.Delete)
}

// batch runs the batch of m.Calls. A message that it would delete and that is gone is not found.
func (m *mailbox) batch(ctx context.Context, st drivers.Statement) error {
	err := m.S.Batch(ctx, st, m.Calls.List)
	if errors.Is(err, drivers.ErrNotApplied) {
		return models.ErrNotFound
	}
	return err
}

// Move implements models.Mailbox. It reads all rows in one call and writes them again, with
// body and attachments, in one batch that is all or nothing, and does nothing if another client has moved or
// deleted one of them since. A message keeps its messageId
// and createdDate, and therefore its place in the order of arrival. Several messages that
// hold more than MaxRow together are too large.
func (m *mailbox) Move(ctx context.Context, in, into *models.Folder, hs, handles []models.Handle) (err error) {
	defer m.FailedIn(&err, in, "move")
	defer m.Forget()
	from, to := ref(in), ref(into)
	if from.number == to.number {
		copy(handles, hs)
		return m.several(ctx, m.do.Existing, from, hs, nil)
	}
	m.moving = moving{to: to, hs: hs, handles: handles}
	if err := m.several(ctx, m.do.WholeMessages, from, hs, (*mailbox).wholeRow); err != nil || len(hs) == 0 {
		return err
	}
	for _, h := range hs { // all deletes are after all puts, so that an engine without batches sends rows together
		m.Calls.Add(moveDelete, from.user, from.id, m.messageID(from, h), createdOf(h))
	}
	return m.batch(ctx, m.do.Move)
}

// moving is a move of messages whose rows are being read.
type moving struct {
	to          *folder
	hs, handles []models.Handle
	held        int // bytes of the rows so far
}

// wholeRow adds a message to the batch of a move.
func (m *mailbox) wholeRow(at int, row []drivers.Value) error {
	v := &m.moving
	v.held += drivers.ListOf(row[1:]).Size()
	if at > 0 && v.held > models.MaxRow {
		return fmt.Errorf("%d messages of %d bytes and more in one batch, at most %d fit: %w", len(v.hs), v.held,
			models.MaxRow, drivers.ErrTooLarge)
	}
	h, whole := v.hs[at], m.Arena.Row(row)
	m.Calls.Add(movePut, v.to.user, v.to.id, whole[0], createdOf(h))
	m.Calls.Also(whole[1:]...)
	v.handles[at] = handleOf([16]byte(h[:16]), createdOf(h).Int64(), v.to)
	return nil
}
