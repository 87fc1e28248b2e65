package datastax

import (
	"context"
	"fmt"

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
	s := shown{from: drivers.Text(msg.From.Address).Raw(), subject: drivers.Text(msg.Subject).Raw()}
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
