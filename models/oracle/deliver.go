package oracle

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
)

// Deliver implements models.Mailbox: a whole row for each recipient.
func (m *mailbox) Deliver(ctx context.Context, msg *mail.Message, to []*models.Folder, handles []models.Handle) error {
	err := m.Load(msg, schemas.Blob)
	if err == nil {
		err = m.putAll(ctx, msg, to, handles)
	}
	if m.text = models.Reuse(m.text); m.Release() {
		m.Forget()
	}
	if err != nil {
		return fmt.Errorf("oracle: deliver to %d folders: %w", len(to), err)
	}
	return nil
}

// putAll writes the message to all recipients.
func (m *mailbox) putAll(ctx context.Context, msg *mail.Message, to []*models.Folder, handles []models.Handle) error {
	m.text = appendList(m.text[:0], msg.To)
	toEnd := len(m.text)
	m.text = appendList(m.text, msg.Cc)
	ccEnd := len(m.text)
	m.text = appendList(m.text, msg.Bcc)
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
			drivers.Text(msg.From.Address), drivers.TextBytes(m.text[:toEnd]), drivers.TextBytes(m.text[toEnd:ccEnd]),
			drivers.TextBytes(m.text[ccEnd:]),
			drivers.Text(msg.Subject), drivers.TextBytes(m.Body), drivers.Boolean(false), drivers.Bigint(msg.Raw.Size()),
			drivers.MapOf(m.Sizes), drivers.MapOf(m.Files))
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
