package conversation

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// A models.Folder refers to the id of its conversation.
func ref(f *models.Folder) drivers.Value { return drivers.UUID(f.Ref.([16]byte)) }

// conversationOf derives the id of the conversation of a user's folder: a name-based
// UUID (RFC 9562, version 8).
func conversationOf(address, folder string) (id [16]byte) {
	sum := sha256.Sum256([]byte(address + "\x00" + folder))
	copy(id[:], sum[:])
	id[6] = 0x80 | id[6]&0x0f
	id[8] = 0x80 | id[8]&0x3f
	return id
}

func newFolder(a *models.Account, name string, id [16]byte) *models.Folder {
	return &models.Folder{Name: name, Account: a, Ref: id}
}

// CreateUser implements models.Mailbox. An account exists if it takes part in a
// conversation. An account without folders exists after it joins one.
func (m *mailbox) CreateUser(ctx context.Context, address string, folders []string) (_ *models.Account, err error) {
	a := &models.Account{Address: address}
	defer m.Failed(&err, a, "creation")
	if len(folders) > 0 {
		if err := models.CheckFolders(folders); err != nil {
			return a, err
		}
	}
	m.Calls.Reset()
	for i, name := range folders {
		f := newFolder(a, name, conversationOf(a.Address, name))
		a.Folders = append(a.Folders, f)
		if i > 0 {
			m.Calls.Add(only, drivers.Text(a.Address), drivers.Text(name), ref(f), drivers.Boolean(false))
		}
	}
	err = m.Unused(ctx, m.do.AnyConversation, drivers.Text(a.Address))
	if err == nil && len(folders) > 0 {
		err = m.takePart(ctx, a.Folders[0], true)
	}
	if err == nil && len(folders) > 1 {
		err = models.Partly(m.S.Batch(ctx, m.do.TakeParts, m.Calls.List))
	}
	for i := 0; i < len(folders) && err == nil; i++ {
		err = m.setTitle(ctx, a.Folders[i])
	}
	return a, err
}

// takePart makes a conversation one of the user's, unless that name is taken.
func (m *mailbox) takePart(ctx context.Context, f *models.Folder, inbox bool) error {
	return m.Claim(ctx, m.do.Claim, drivers.Text(f.Account.Address), drivers.Text(f.Name), ref(f), drivers.Boolean(inbox))
}

// setTitle sets the title of the conversation of a folder.
func (m *mailbox) setTitle(ctx context.Context, f *models.Folder) error {
	_, err := m.S.Write(ctx, m.do.PutTitle, m.With(ref(f), drivers.Text(f.Name)))
	return models.Partly(err)
}

// CreateFolder implements models.Mailbox.
func (m *mailbox) CreateFolder(ctx context.Context, a *models.Account, name string) (_ *models.Folder, err error) {
	f := newFolder(a, name, conversationOf(a.Address, name))
	defer m.FailedIn(&err, f, "creation")
	err = m.takePart(ctx, f, false)
	if err == nil {
		err = m.setTitle(ctx, f)
	}
	return f, err
}

// Join implements models.Poster. The folder has the title of the conversation as its
// name.
func (m *mailbox) Join(ctx context.Context, a *models.Account, f *models.Folder) (*models.Folder, error) {
	title, err := m.Get(ctx, m.do.Title, ref(f))
	joined := newFolder(a, title[0].Str(), f.Ref.([16]byte))
	if err == nil && joined.Name == "" {
		err = models.ErrNotFound
	}
	if err == nil {
		err = m.takePart(ctx, joined, false)
	}
	if err != nil {
		return nil, fmt.Errorf("conversation: %s joins folder %q of %s: %w", a.Address, f.Name, f.Account.Address, err)
	}
	return joined, nil
}

// Leave implements models.Poster.
func (m *mailbox) Leave(ctx context.Context, f *models.Folder) (err error) {
	defer m.FailedIn(&err, f, "leave")
	_, err = m.S.Write(ctx, m.do.Leave, m.With(drivers.Text(f.Account.Address), drivers.Text(f.Name)))
	return err
}

// Login implements models.Mailbox.
func (m *mailbox) Login(ctx context.Context, address string) (*models.Account, error) {
	return m.LogIn(address, func(a *models.Account) error {
		return m.S.Read(ctx, m.do.Conversations, m.With(drivers.Text(address)), func(row []drivers.Value) error {
			a.Add(newFolder(a, row[0].Str(), row[1].UUIDBytes()), row[2].Bool())
			return nil
		})
	})
}

// Accounts implements models.Mailbox.
func (m *mailbox) Accounts(ctx context.Context) ([]string, error) {
	return m.Addresses(ctx, m.do.Accounts)
}

// Folders implements models.Mailbox. The source design keeps no numbers.
func (m *mailbox) Folders(ctx context.Context, a *models.Account, yield func(models.FolderInfo) error) (err error) {
	defer m.Failed(&err, a, "folders")
	return m.S.Read(ctx, m.do.Conversations, m.With(drivers.Text(a.Address)), func(row []drivers.Value) error {
		return yield(models.FolderInfo{Name: row[0].Str()})
	})
}

// Stats implements models.Mailbox: it reads the viewers of every message.
func (m *mailbox) Stats(ctx context.Context, f *models.Folder) (_ models.Stats, err error) {
	defer m.FailedIn(&err, f, "stats")
	m.stats = models.Stats{Known: models.KnowMessages | models.KnowUnread}
	m.me = f.Account.Address
	err = m.Read(ctx, m.do.Numbers, m.With(ref(f)), func(m *mailbox, row []drivers.Value) error {
		m.stats.Messages++
		if !m.isSeen(row[0]) {
			m.stats.Unread++
		}
		return nil
	})
	return m.stats, err
}
