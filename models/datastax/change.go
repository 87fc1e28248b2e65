package datastax

import (
	"context"
	"fmt"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// Deliver implements models.Mailbox. It writes the email and its attachments once,
// then the rows that show the email in one batch, then the counters.
func (m *mailbox) Deliver(ctx context.Context, msg *mail.Message, to []*models.Folder, handles []models.Handle) error {
	err := m.row.Check(msg.Body.Content, nil)
	id := m.ids.Next(models.Arrival(msg, m.now))
	if err == nil {
		err = m.putAttachments(ctx, id, msg.Attachments)
	}
	if err == nil {
		err = m.putBody(ctx, id, msg)
	}
	m.text = models.Reuse(m.text)
	if msg.Raw.Size() > models.KeepBuffer {
		clear(m.writing)
		m.Forget()
	}
	m.begin()
	s := shown{drivers.Text(msg.From.Address), drivers.Text(msg.Subject), drivers.Boolean(false)}
	for i := 0; i < len(to) && err == nil; i++ { // a label of each folder shows the email, unread
		var overflow int32
		overflow, err = m.addShow(ctx, ref(to[i]), models.TimeOf(id), id, s)
		handles[i] = handleOf(id, overflow)
	}
	if err == nil {
		err = m.commit(ctx)
	}
	if err != nil {
		return fmt.Errorf("datastax: deliver to %d folders: %w", len(to), err)
	}
	return nil
}

// Holds implements models.Holder: a window of chunks, and then the body. A move writes
// neither.
func (m *mailbox) Holds(msg *mail.Message) models.Holding {
	body, chunks := m.row.Holds(msg.Body.Content, nil), models.HoldsChunks(msg, int64(m.window)*int64(m.chunk))
	return models.Holding{Deliver: max(body.Deliver, chunks.Deliver), Open: body.Open, Attachment: chunks.Attachment}
}

func (m *mailbox) putBody(ctx context.Context, id [16]byte, msg *mail.Message) error {
	m.elems = m.elems[:0]
	for _, as := range [...][]mail.Address{msg.To, msg.Cc, msg.Bcc} {
		for i := range as {
			m.elems = append(m.elems, drivers.Text(as[i].Address))
		}
	}
	m.files = m.files[:0]
	for i := range msg.Attachments {
		m.files = append(m.files, drivers.Text(msg.Attachments[i].Name), drivers.Bigint(msg.Attachments[i].Content.Size()))
	}
	text, err := models.EncodeText(m.text, msg.Body.Content)
	m.text = text
	if err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	_, err = m.S.Write(ctx, m.do.PutEmail, m.With(drivers.TimeUUID(id), drivers.SetOf(m.elems),
		drivers.Text(msg.From.Address),
		drivers.Text(msg.Subject), drivers.TextBytes(text), drivers.MapOf(m.files)))
	return err
}

// putAttachments writes the chunks of all attachments, a window of them at a
// time, so that no more than a window is in memory.
func (m *mailbox) putAttachments(ctx context.Context, id [16]byte, parts []mail.Part) error {
	if len(parts) == 0 {
		return nil
	}
	m.Calls.Reset()
	for i := range parts {
		p := &parts[i]
		chunk := 0
		for off := int64(0); off < p.Content.Size(); off += int64(m.chunk) {
			// Of content that is not in memory, a copy is valid until the window is written.
			b, err := mail.Piece(p.Content, &m.writing[len(m.Calls.List)], off, min(p.Content.Size()-off, int64(m.chunk)))
			if err != nil {
				return fmt.Errorf("read attachment %q: %w", p.Name, err)
			}
			m.Calls.Add(only, drivers.TimeUUID(id), drivers.Text(p.Name), drivers.Int(int32(chunk)),
				drivers.Blob(b), drivers.Bigint(int64(models.Checksum(0, b))))
			chunk++
			if len(m.Calls.List) == m.window {
				if err := m.flushChunks(ctx); err != nil {
					return err
				}
			}
		}
	}
	return m.flushChunks(ctx)
}

func (m *mailbox) flushChunks(ctx context.Context) error {
	if len(m.Calls.List) == 0 {
		return nil
	}
	err := m.S.Batch(ctx, m.do.PutChunks, m.Calls.List)
	m.Calls.Reset()
	return err
}

// Flag implements models.Mailbox. It reads and then writes, so two workers at once
// can count one change twice. The source design's counters and plain columns allow that.
func (m *mailbox) Flag(ctx context.Context, f *models.Folder, h models.Handle, flag models.Flag, on bool) (err error) {
	defer m.FailedIn(&err, f, "flag")
	if flag != models.Seen {
		return models.ErrNotOffered
	}
	m.Arena.Reset()
	r, overflow := ref(f), overflowOf(h)
	if s, err := m.readHandle(ctx, r, h); err != nil || s.read() == on {
		return err
	}
	args := m.With(r.user, m.name(r, overflow), emailOf(h), drivers.Boolean(on))
	if _, err := m.S.Write(ctx, m.do.SetRead, args); err != nil {
		return err
	}
	unread := int64(1)
	if on {
		unread = -1
	}
	m.deltas = append(m.deltas[:0], delta{r, overflow, unread, 0})
	return m.addCounts(ctx)
}

// begin clears the changes of the operation before.
func (m *mailbox) begin() {
	m.Arena.Reset()
	m.Calls.Reset()
	m.hides.Reset()
	m.deltas = m.deltas[:0]
}

// commit writes the changes of folders and then of counters. Deletes of rows come
// last: if the batch is not atomic, an interruption leaves an email in both folders.
func (m *mailbox) commit(ctx context.Context) error {
	m.Calls.List = append(m.Calls.List, m.hides.List...)
	if len(m.Calls.List) == 0 {
		return nil
	}
	if err := m.S.Batch(ctx, m.do.Index, m.Calls.List); err != nil {
		return err
	}
	return m.addCounts(ctx)
}

// addHide deletes the row of an email from a label.
func (m *mailbox) addHide(f *folder, overflow int32, id [16]byte, read bool) {
	m.hides.Add(hide, f.user, m.name(f, overflow), drivers.TimeUUID(id))
	m.count(f, overflow, -1, read)
}

// addShow adds a row like s to a folder in which the email arrives at a time. It returns the overflow number of the
// row's label.
func (m *mailbox) addShow(ctx context.Context, f *folder, at time.Time, id [16]byte, s shown) (int32, error) {
	overflow, err := m.place(ctx, f, at)
	if err != nil {
		return 0, err
	}
	m.Calls.Add(show, f.user, m.name(f, overflow), drivers.TimeUUID(id), s[0], s[1], s[2])
	m.count(f, overflow, 1, s.read())
	return overflow, nil
}

// Delete implements models.Mailbox. The emails stay, since other labels may show them.
func (m *mailbox) Delete(ctx context.Context, f *models.Folder, hs []models.Handle) (err error) {
	defer m.FailedIn(&err, f, "delete")
	m.begin()
	if err := m.several(ctx, ref(f), hs); err != nil {
		return err
	}
	for i, h := range hs {
		m.addHide(ref(f), overflowOf(h), idOf(h), m.here[i].row.read())
	}
	return m.commit(ctx)
}

// Move implements models.Mailbox. It writes only rows of labels. If the other folder
// shows an email already, its row there does not change.
func (m *mailbox) Move(ctx context.Context, in, into *models.Folder, hs, handles []models.Handle) (err error) {
	defer m.FailedIn(&err, in, "move")
	from, to := ref(in), ref(into)
	m.begin()
	if err := m.several(ctx, from, hs); err != nil || len(hs) == 0 {
		return err
	}
	if in.Account.Address == into.Account.Address && from.label == to.label {
		copy(handles, hs)
		return nil
	}
	if err := m.find(ctx, to, hs); err != nil {
		return err
	}
	for i, h := range hs {
		id, s := idOf(h), m.here[i].row
		m.addHide(from, overflowOf(h), id, s.read())
		overflow := m.there[i].overflow
		if m.there[i].row == nil {
			var err error
			if overflow, err = m.addShow(ctx, to, m.now(), id, s); err != nil {
				return err
			}
		}
		handles[i] = handleOf(id, overflow)
	}
	return m.commit(ctx)
}

// Label implements models.Labeler.
func (m *mailbox) Label(ctx context.Context, f *models.Folder, h models.Handle, other *models.Folder,
	on bool,
) (_ models.Handle, err error) {
	defer m.FailedIn(&err, f, "label")
	m.begin()
	s, err := m.readHandle(ctx, ref(f), h)
	id, label := idOf(h), ref(other)
	m.one[0] = h
	if err == nil {
		err = m.find(ctx, label, m.one[:])
	}
	if err != nil {
		return h, err
	}
	there := &m.there[0]
	switch {
	case on && there.row != nil:
		return handleOf(id, there.overflow), nil
	case on:
		overflow, err := m.addShow(ctx, label, m.now(), id, s)
		if err != nil {
			return h, err
		}
		h = handleOf(id, overflow)
	case there.row != nil:
		m.addHide(label, there.overflow, id, there.row.read())
	}
	return h, m.commit(ctx)
}
