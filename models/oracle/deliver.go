package oracle

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// Deliver implements models.Mailbox: a whole row for each recipient.
func (m *mailbox) Deliver(ctx context.Context, msg *mail.Message, to []*models.Folder, handles []models.Handle) error {
	err := m.row.Check(msg.Body.Content, msg.Attachments)
	if err == nil {
		err = m.load(msg)
	}
	if err == nil {
		err = m.putAll(ctx, msg, to, handles)
	}
	m.release(msg.Raw.Size())
	if err != nil {
		return fmt.Errorf("oracle: deliver to %d folders: %w", len(to), err)
	}
	return nil
}

// Holds implements models.Holder.
func (m *mailbox) Holds(msg *mail.Message) models.Holding {
	return m.row.Holds(msg.Body.Content, msg.Attachments)
}

// load reads the message's attachments into memory, since a row is written at once.
func (m *mailbox) load(msg *mail.Message) error {
	m.sizes, m.files = m.sizes[:0], m.files[:0]
	// If append allocated a larger array, earlier attachments would keep the old one.
	m.content = slices.Grow(m.content[:0], unread(msg.Attachments))
	for i := range msg.Attachments {
		p := &msg.Attachments[i]
		b, ok := p.Content.(mail.BytesContent)
		if !ok {
			at := len(m.content)
			var err error
			if m.content, err = mail.AppendContent(m.content, p.Content); err != nil {
				return fmt.Errorf("read attachment %q: %w", p.Name, err)
			}
			b = m.content[at:]
		}
		m.sizes = append(m.sizes, drivers.Text(p.Name), drivers.Bigint(int64(len(b))))
		m.files = append(m.files, drivers.Text(p.Name), drivers.Blob(b))
	}
	return nil
}

// unread is how many bytes of the attachments are not in memory.
func unread(attachments []mail.Part) (n int) {
	for i := range attachments {
		if _, ok := attachments[i].Content.(mail.BytesContent); !ok {
			n += int(attachments[i].Content.Size())
		}
	}
	return n
}

// release empties the buffers after the delivery of a message of size bytes.
func (m *mailbox) release(size int64) {
	clear(m.files)
	if size > models.KeepBuffer {
		m.Forget()
	}
	m.text, m.content = models.Reuse(m.text), models.Reuse(m.content)
}

// putAll writes the message to all recipients.
func (m *mailbox) putAll(ctx context.Context, msg *mail.Message, to []*models.Folder, handles []models.Handle) error {
	m.text = appendList(m.text[:0], msg.To)
	toEnd := len(m.text)
	m.text = appendList(m.text, msg.Cc)
	ccEnd := len(m.text)
	m.text = appendList(m.text, msg.Bcc)
	bccEnd := len(m.text)
	text, err := models.EncodeText(m.text, msg.Body.Content)
	m.text = text
	if err != nil {
		return fmt.Errorf("read body: %w", err)
	}
	arrived := models.Arrival(msg, m.now)
	m.Arena.Reset()
	return m.Spread(ctx, m.do.Deliver, len(to), msg.Raw.Size(), func(i int) {
		r := ref(to[i])
		id, created := m.newMessage(arrived)
		handles[i] = handleOf(id, created, r)
		var messageID [32]byte
		hex.Encode(messageID[:], id[:])
		m.Calls.Add(only, drivers.Text(r.userID), drivers.Text(r.folderID), drivers.TextBytes(m.Arena.Bytes(messageID[:])),
			drivers.Timestamp(created),
			drivers.Text(msg.From.Address), drivers.TextBytes(text[:toEnd]), drivers.TextBytes(text[toEnd:ccEnd]),
			drivers.TextBytes(text[ccEnd:bccEnd]),
			drivers.Text(msg.Subject), drivers.TextBytes(text[bccEnd:]), drivers.Boolean(false), drivers.Bigint(msg.Raw.Size()),
			drivers.MapOf(m.sizes), drivers.MapOf(m.files))
	})
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
