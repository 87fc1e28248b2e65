package conversation

import (
	"context"
	"io"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Audit implements models.Mailbox. It holds some 30 bytes for each message and conversation, but no content.
func (m *mailbox) Audit(ctx context.Context) (models.Audit, error) {
	a := audit{conversations: models.Keys{}, messages: models.Keys{}}
	err := m.Verify(ctx, m.Scan(m.do.AllConversations, a.conversation), m.Scan(m.do.AllMessages, a.message))
	return a.Audit, err
}

type audit struct {
	models.Audit
	conversations, messages models.Keys
}

// conversation counts a conversation once, even if several users take part in it.
func (a *audit) conversation(row []drivers.Value) {
	if row[3].Bool() {
		a.Accounts++
	}
	if a.conversations.Add(row[2]) {
		a.Folders++
	}
}

// message checks one row. A row without content is left by a write to a deleted
// message. A conversation without members is lost: messages come after the users, and
// at least one of these stays.
func (a *audit) message(row []drivers.Value) {
	find := func(kind, fault string) {
		a.Find(kind, 1, "message_id %s of conversation_id %s%s", models.UUIDText(row[1].UUIDBytes()),
			models.UUIDText(row[0].UUIDBytes()), fault)
	}
	switch {
	case !a.conversations.Has(row[0]):
		find(models.Dangling, ", which has no participants")
		return
	case row[2].IsNull():
		find(models.Dangling, " has no content")
		return
	}
	a.Messages++
	if !a.messages.Add(row[1]) { // an interrupted move
		find(models.Duplicated, " is in another conversation, too")
	}
	if _, err := textSize(row[2]); err != nil || !models.WholeFiles(row[4].Elems(), row[3].Elems(), textSize) {
		find(models.BrokenBody, "")
	}
}

// textSize returns the size of the content that a text holds.
func textSize(text drivers.Value) (int64, error) {
	return models.WriteText(io.Discard, text.Raw())
}
