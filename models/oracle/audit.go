package oracle

import (
	"context"
	"encoding/hex"
	"io"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Audit implements models.Mailbox. It holds some 30 bytes for each message, folder and user, but no content.
func (m *mailbox) Audit(ctx context.Context) (models.Audit, error) {
	a := audit{users: models.Keys{}, folders: models.Keys{}, messages: models.Keys{}}
	err := m.Verify(ctx, m.Scan(m.do.AllUsers, a.user), m.Scan(m.do.AllFolders, a.folder),
		m.Scan(m.do.AllMessages, a.message))
	return a.Audit, err
}

type audit struct {
	models.Audit
	users    models.Keys // userID
	folders  models.Keys // userID, folderId
	messages models.Keys // userID, messageId
}

func (a *audit) user(row []drivers.Value) {
	a.Accounts++
	a.users.Add(row[0])
}

func (a *audit) folder(row []drivers.Value) {
	if !a.users.Has(row[0]) {
		a.Unreferenced++
		return
	}
	a.Folders++
	a.folders.Add(row[0], row[1])
}

// message checks one row. A row without a body is left by a write to a deleted
// message. A folder is lost if it is not there: no operation deletes one, and a message comes
// after its folder.
func (a *audit) message(row []drivers.Value) {
	find := func(kind, fault string) {
		a.Find(kind, 1, "messageId %q in folder %q of userID %q%s", row[2].Raw(), row[1].Raw(), row[0].Raw(), fault)
	}
	switch {
	case !a.folders.Has(row[0], row[1]):
		find(models.Dangling, ", which is lost")
		return
	case row[3].IsNull():
		find(models.Dangling, " has no body")
		return
	}
	a.Messages++
	whole := isID(row[2].Raw())
	if whole && !a.messages.Add(row[0], row[2]) { // an interrupted move
		find(models.Duplicated, " is in another folder, too")
	}
	_, err := models.WriteText(io.Discard, row[3].Raw())
	size := func(file drivers.Value) (int64, error) { return int64(len(file.Raw())), nil }
	if !whole || err != nil || !models.WholeFiles(row[4].Elems(), row[5].Elems(), size) {
		find(models.BrokenBody, "")
	}
}

// isID reports whether a messageId has 32 hexadecimal digits.
func isID(text []byte) bool {
	id, err := hex.DecodeString(string(text))
	return err == nil && len(id) == 16
}
