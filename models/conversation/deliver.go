package conversation

import (
	"context"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
)

// Deliver implements models.Mailbox: a post in each conversation.
func (m *mailbox) Deliver(ctx context.Context, msg *mail.Message, to []*models.Folder, handles []models.Handle) error {
	var content []byte
	err := m.row.Check(msg.Body.Content, msg.Attachments)
	if err == nil {
		content, err = m.load(msg)
	}
	if err == nil {
		err = m.postAll(ctx, msg, content, to, handles)
	}
	clear(m.files) // they refer to the text
	m.text = models.Reuse(m.text)
	if m.size > models.KeepBuffer {
		m.Forget()
	}
	if err != nil {
		return fmt.Errorf("conversation: deliver to %d folders: %w", len(to), err)
	}
	return nil
}

// Holds implements models.Holder.
func (m *mailbox) Holds(msg *mail.Message) models.Holding {
	return m.row.Holds(msg.Body.Content, msg.Attachments)
}

// load encodes the attachments and the body as text, and returns the body. All of it
// is in memory, since a row is written at once.
func (m *mailbox) load(msg *mail.Message) ([]byte, error) {
	m.sizes, m.files, m.recipients = m.sizes[:0], m.files[:0], m.recipients[:0]
	for _, as := range [...][]mail.Address{msg.To, msg.Cc, msg.Bcc} {
		for i := range as {
			m.recipients = append(m.recipients, drivers.Text(as[i].Address))
		}
	}
	content, err := models.EncodeText(m.text[:0], msg.Body.Content)
	m.text = content
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	m.size = int64(len(content))
	for i := range msg.Attachments {
		p := &msg.Attachments[i]
		text, err := m.encode(p.Content)
		if err != nil {
			return nil, fmt.Errorf("read attachment %q: %w", p.Name, err)
		}
		m.size += int64(len(text))
		m.sizes = append(m.sizes, drivers.Text(p.Name), drivers.Bigint(p.Content.Size()))
		m.files = append(m.files, drivers.Text(p.Name), drivers.TextBytes(text))
	}
	return content, nil
}

// encode returns an attachment as text, appended to m.text. A large one has memory of its own:
// if append allocated a larger array for it, the others would keep the old one.
func (m *mailbox) encode(c mail.Content) ([]byte, error) {
	if c.Size() > models.KeepBuffer {
		return models.EncodeText(nil, c)
	}
	at, err := len(m.text), error(nil)
	m.text, err = models.EncodeText(m.text, c)
	return m.text[at:], err
}

// postAll posts to all conversations.
func (m *mailbox) postAll(ctx context.Context, msg *mail.Message, content []byte, to []*models.Folder,
	handles []models.Handle,
) error {
	arrived := models.Arrival(msg, m.now)
	return m.Spread(ctx, m.posts, len(to), m.size, func(i int) {
		id := m.ids.Next(arrived)
		handles[i] = handleOf(id)
		m.Calls.Add(only, ref(to[i]), drivers.TimeUUID(id), drivers.TextBytes(content), drivers.Text(msg.From.Address),
			drivers.SetOf(m.recipients),
			drivers.MapOf(m.files), drivers.ListOf(nil), drivers.MapOf(m.sizes))
	})
}
