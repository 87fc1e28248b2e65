package oracle

import (
	"context"
	"errors"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

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

// begin starts an operation on messages. It refuses a message that is named twice.
func (m *mailbox) begin(hs []models.Handle) error {
	m.Arena.Reset()
	m.Calls.Reset()
	return m.Handles.Distinct(hs)
}

// several reads the rows of messages of a folder, in the order of hs. It returns ErrNotFound if one is missing. A
// messageId is unique, so it names the row of a handle.
func (m *mailbox) several(ctx context.Context, st drivers.Statement, f *folder, hs []models.Handle,
	take func(m *mailbox, at int, row []drivers.Value) error,
) error {
	if err := m.listIDs(f, hs); err != nil || len(hs) == 0 {
		return err
	}
	return m.Several(ctx, st, m.idList, take, drivers.Text(f.userID), drivers.Text(f.folderID))
}

// listIDs sets m.idList to the messageIds of messages of a folder.
func (m *mailbox) listIDs(f *folder, hs []models.Handle) error {
	m.idList = m.idList[:0]
	for _, h := range hs {
		k, err := m.keyOf(f, h)
		if err != nil {
			return err
		}
		m.idList = append(m.idList, drivers.TextBytes(m.Arena.Bytes(k.text[:])))
	}
	return nil
}

// Delete implements models.Mailbox: all or nothing. The batch deletes the messages only if all of them are
// there. Where an engine has no such condition, a read comes first, and another client may come in between.
func (m *mailbox) Delete(ctx context.Context, f *models.Folder, hs []models.Handle) (err error) {
	defer m.FailedIn(&err, f, "delete")
	if err := m.begin(hs); err != nil {
		return err
	}
	r := ref(f)
	if m.do.Delete.Pattern().Conditional() {
		err = m.listIDs(r, hs)
	} else {
		err = m.several(ctx, m.do.Existing, r, hs, nil)
	}
	if err != nil || len(hs) == 0 {
		return err
	}
	for i, h := range hs {
		m.key.set(h)
		m.Calls.Add(only, drivers.Text(r.userID), drivers.Text(r.folderID), m.idList[i], drivers.Timestamp(m.key.created))
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
	defer m.forget()
	from, to := ref(in), ref(into)
	if err := m.begin(hs); err != nil {
		return err
	}
	if from.number == to.number {
		copy(handles, hs)
		return m.several(ctx, m.do.Existing, from, hs, nil)
	}
	m.moving = moving{to: to, hs: hs, handles: handles}
	if err := m.several(ctx, m.do.WholeMessages, from, hs, (*mailbox).wholeRow); err != nil || len(hs) == 0 {
		return err
	}
	for i, h := range hs { // all deletes are after all puts, so that an engine without batches sends rows together
		m.key.set(h)
		m.Calls.Add(moveDelete, drivers.Text(from.userID), drivers.Text(from.folderID), m.idList[i],
			drivers.Timestamp(m.key.created))
	}
	return m.batch(ctx, m.do.Move)
}

// forget clears the messages of a move.
func (m *mailbox) forget() {
	m.moving = moving{}
	clear(m.put)
	m.Forget()
}

// moving is a move of messages whose rows are being read.
type moving struct {
	to      *folder
	hs      []models.Handle
	handles []models.Handle
	held    int // bytes of the rows so far
}

// wholeRow adds a message to the batch of a move.
func (m *mailbox) wholeRow(at int, row []drivers.Value) error {
	v, row := &m.moving, row[1:]
	for j := range row {
		v.held += row[j].Size()
	}
	if at > 0 && v.held > models.MaxRow {
		return fmt.Errorf("%d messages of %d bytes and more in one batch, at most %d fit: %w", len(v.hs), v.held,
			models.MaxRow, drivers.ErrTooLarge)
	}
	h := v.hs[at]
	m.key.set(h)
	m.put = append(m.put[:0], drivers.Text(v.to.userID), drivers.Text(v.to.folderID), m.idList[at],
		drivers.Timestamp(m.key.created))
	m.put = append(m.put, m.Arena.Row(row)...)
	m.Calls.Add(movePut, m.put...)
	v.handles[at] = handleOf([16]byte(h[:16]), m.key.created, v.to)
	return nil
}
