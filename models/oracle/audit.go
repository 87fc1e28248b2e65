package oracle

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"io"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Audit implements models.Mailbox. It keeps 24 bytes for each message and about 20
// bytes for each folder and user, but no content.
func (m *mailbox) Audit(ctx context.Context) (models.Audit, error) {
	a := audit{seed: maphash.MakeSeed(), users: map[uint64]bool{}, folders: map[uint64]bool{}}
	for _, step := range []struct {
		stmt drivers.Statement
		row  func([]drivers.Value) error
	}{{m.do.AllUsers, a.user}, {m.do.AllFolders, a.folder}, {m.do.AllMessages, a.message}} {
		if err := m.S.Read(ctx, step.stmt, nil, step.row); err != nil {
			return models.Audit{}, fmt.Errorf("oracle: verification: %w", err)
		}
	}
	slices.SortFunc(a.messages, func(x, y messageOf) int {
		return cmp.Or(bytes.Compare(x.id[:], y.id[:]), cmp.Compare(x.user, y.user))
	})
	for i := 1; i < len(a.messages); i++ {
		if a.messages[i] == a.messages[i-1] { // an interrupted move
			a.Find(models.Duplicated, 1, "messageId %x is in two folders of one user", a.messages[i].id)
		}
	}
	return a.Audit, nil
}

// audit identifies users and folders by hashes of their keys.
type audit struct {
	models.Audit
	seed     maphash.Seed
	users    map[uint64]bool
	folders  map[uint64]bool
	messages []messageOf
}

type messageOf struct {
	id   [16]byte
	user uint64
}

func (a *audit) hash(parts ...drivers.Value) uint64 {
	var h maphash.Hash
	h.SetSeed(a.seed)
	for _, p := range parts {
		h.Write(p.Raw())
		h.WriteByte(0)
	}
	return h.Sum64()
}

func (a *audit) user(row []drivers.Value) error {
	a.Accounts++
	a.users[a.hash(row[0])] = true
	return nil
}

func (a *audit) folder(row []drivers.Value) error {
	if !a.users[a.hash(row[0])] {
		a.Unreferenced++
		return nil
	}
	a.Folders++
	a.folders[a.hash(row[0], row[1])] = true
	return nil
}

// message checks one row. A row without a body is left by a write to a deleted
// message. A folder is lost if it is not there: no operation deletes one, and a message comes
// after its folder.
func (a *audit) message(row []drivers.Value) error {
	where := func() string {
		return fmt.Sprintf("messageId %q in folder %q of userID %q", row[2].Raw(), row[1].Raw(), row[0].Raw())
	}
	switch {
	case !a.folders[a.hash(row[0], row[1])]:
		a.Find(models.Dangling, 1, "%s, which is lost", where())
		return nil
	case row[3].IsNull():
		a.Find(models.Dangling, 1, "%s has no body", where())
		return nil
	}
	a.Messages++
	id, isID := parseID(row[2].Raw())
	if isID {
		a.messages = append(a.messages, messageOf{id, a.hash(row[0])})
	}
	_, err := models.WriteText(io.Discard, row[3].Raw())
	size := func(file drivers.Value) (int64, error) { return int64(len(file.Raw())), nil }
	if !isID || err != nil || !models.WholeFiles(row[4].Elems(), row[5].Elems(), size) {
		a.Find(models.BrokenBody, 1, "%s", where())
	}
	return nil
}

// parseID reads a messageId of 32 hexadecimal digits.
func parseID(text []byte) (id [16]byte, ok bool) {
	if len(text) != hex.EncodedLen(len(id)) {
		return id, false
	}
	_, err := hex.Decode(id[:], text)
	return id, err == nil
}
