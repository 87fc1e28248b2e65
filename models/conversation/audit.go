package conversation

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Audit implements models.Mailbox. It keeps 16 bytes for each message and about 20
// bytes for each conversation, but no content.
func (m *mailbox) Audit(ctx context.Context) (models.Audit, error) {
	a := audit{conversations: map[[16]byte]bool{}}
	err := m.S.Read(ctx, m.do.AllConversations, nil, a.conversation)
	if err == nil {
		err = m.S.Read(ctx, m.do.AllMessages, nil, a.message)
	}
	if err != nil {
		return models.Audit{}, fmt.Errorf("conversation: verification: %w", err)
	}
	slices.SortFunc(a.messages, func(x, y [16]byte) int { return bytes.Compare(x[:], y[:]) })
	for i := 1; i < len(a.messages); i++ {
		if a.messages[i] == a.messages[i-1] { // an interrupted move
			a.Find(models.Duplicated, 1, "message_id %s is in two conversations", models.UUIDText(a.messages[i]))
		}
	}
	return a.Audit, nil
}

type audit struct {
	models.Audit
	conversations map[[16]byte]bool
	messages      [][16]byte
}

// conversation counts a conversation once, even if several users take part in it.
func (a *audit) conversation(row []drivers.Value) error {
	if row[3].Bool() {
		a.Accounts++
	}
	if id := row[2].UUIDBytes(); !a.conversations[id] {
		a.conversations[id] = true
		a.Folders++
	}
	return nil
}

// message checks one row. A row without content is left by a write to a deleted
// message. A conversation without members is lost: messages come after the users, and
// at least one of these stays.
func (a *audit) message(row []drivers.Value) error {
	where := func() string {
		return fmt.Sprintf("message_id %s of conversation_id %s", models.UUIDText(row[1].UUIDBytes()),
			models.UUIDText(row[0].UUIDBytes()))
	}
	switch {
	case !a.conversations[row[0].UUIDBytes()]:
		a.Find(models.Dangling, 1, "%s, which has no participants", where())
		return nil
	case row[2].IsNull():
		a.Find(models.Dangling, 1, "%s has no content", where())
		return nil
	}
	a.Messages++
	a.messages = append(a.messages, row[1].UUIDBytes())
	if _, err := textSize(row[2]); err != nil || !models.WholeFiles(row[4].Elems(), row[3].Elems(), textSize) {
		a.Find(models.BrokenBody, 1, "%s", where())
	}
	return nil
}

// textSize returns the size of the content that a text holds.
func textSize(text drivers.Value) (int64, error) {
	return models.WriteText(io.Discard, text.Raw())
}
