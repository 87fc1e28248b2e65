package conversation

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

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
func (m *mailbox) CreateUser(ctx context.Context, address string, folders []string) (*models.Account, error) {
	a, err := m.createUser(ctx, address, folders)
	if err != nil {
		return nil, fmt.Errorf("conversation: create account %s: %w", address, err)
	}
	return a, nil
}

func (m *mailbox) createUser(ctx context.Context, address string, folders []string) (*models.Account, error) {
	a := &models.Account{Address: address}
	m.calls.Reset()
	for i, name := range folders {
		if slices.Contains(folders[:i], name) {
			return nil, fmt.Errorf("folder %q: %w", name, models.ErrExists)
		}
		f := newFolder(a, name, conversationOf(address, name))
		a.Folders = append(a.Folders, f)
		if i > 0 {
			m.calls.Add(only, drivers.Text(address), drivers.Text(name), ref(f), drivers.Boolean(false))
		}
	}
	taken := false
	err := m.s.Read(ctx, m.anyConversation, m.with(drivers.Text(address)), func([]drivers.Value) error {
		taken = true
		return nil
	})
	if err == nil && taken {
		err = models.ErrExists
	}
	if err == nil && len(folders) > 0 {
		err = m.takePart(ctx, a.Folders[0], true)
	}
	if err == nil && len(folders) > 1 {
		err = models.Partly(m.s.Batch(ctx, m.takeParts, m.calls.List))
	}
	for i := 0; i < len(folders) && err == nil; i++ {
		err = m.setTitle(ctx, a.Folders[i])
	}
	return a, err
}

// takePart makes a conversation one of the user's, unless that name is taken.
func (m *mailbox) takePart(ctx context.Context, f *models.Folder, inbox bool) error {
	r, err := m.s.Write(ctx, m.claim, m.with(drivers.Text(f.Account.Address), drivers.Text(f.Name), ref(f),
		drivers.Boolean(inbox)))
	if err == nil && !r.Applied {
		err = models.ErrExists
	}
	return err
}

// setTitle sets the title of the conversation of a folder.
func (m *mailbox) setTitle(ctx context.Context, f *models.Folder) error {
	_, err := m.s.Write(ctx, m.putTitle, m.with(ref(f), drivers.Text(f.Name)))
	return models.Partly(err)
}

// CreateFolder implements models.Mailbox.
func (m *mailbox) CreateFolder(ctx context.Context, a *models.Account, name string) (*models.Folder, error) {
	f := newFolder(a, name, conversationOf(a.Address, name))
	err := m.takePart(ctx, f, false)
	if err == nil {
		err = m.setTitle(ctx, f)
	}
	if err != nil {
		return nil, fmt.Errorf("conversation: create folder %q of %s: %w", name, a.Address, err)
	}
	return f, nil
}

// Join implements models.Poster. The folder has the title of the conversation as its
// name.
func (m *mailbox) Join(ctx context.Context, a *models.Account, f *models.Folder) (*models.Folder, error) {
	name := ""
	err := m.s.Read(ctx, m.title, m.with(ref(f)), func(row []drivers.Value) error {
		name = row[0].Str()
		return nil
	})
	if err == nil && name == "" {
		err = models.ErrNotFound
	}
	joined := newFolder(a, name, f.Ref.([16]byte))
	if err == nil {
		err = m.takePart(ctx, joined, false)
	}
	if err != nil {
		return nil, fmt.Errorf("conversation: %s joins folder %q of %s: %w", a.Address, f.Name, f.Account.Address, err)
	}
	return joined, nil
}

// Login implements models.Mailbox.
func (m *mailbox) Login(ctx context.Context, address string) (*models.Account, error) {
	a := &models.Account{Address: address}
	if address == "" { // some engines refuse an empty key
		return nil, fmt.Errorf("conversation: login: %w", models.ErrNotFound)
	}
	err := m.s.Read(ctx, m.conversations, m.with(drivers.Text(address)), func(row []drivers.Value) error {
		at := len(a.Folders)
		if row[2].Bool() {
			at = 0
		}
		a.Folders = slices.Insert(a.Folders, at, newFolder(a, row[0].Str(), row[1].UUIDBytes()))
		return nil
	})
	if err == nil && len(a.Folders) == 0 {
		err = models.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("conversation: login of %s: %w", address, err)
	}
	return a, nil
}

// Folders implements models.Mailbox. The document keeps no numbers.
func (m *mailbox) Folders(ctx context.Context, a *models.Account, yield func(models.FolderInfo) error) error {
	err := m.s.Read(ctx, m.conversations, m.with(drivers.Text(a.Address)), func(row []drivers.Value) error {
		return yield(models.FolderInfo{Name: row[0].Str()})
	})
	if err != nil {
		return fmt.Errorf("conversation: folders of %s: %w", a.Address, err)
	}
	return nil
}

// Stats implements models.Mailbox: it reads the viewers of every message.
func (m *mailbox) Stats(ctx context.Context, f *models.Folder) (models.Stats, error) {
	m.stats = models.Stats{Known: models.KnowMessages | models.KnowUnread}
	m.me = f.Account.Address
	if err := m.s.Read(ctx, m.numbers, m.with(ref(f)), m.onNumbers); err != nil {
		return models.Stats{}, failed("stats", f, err)
	}
	return m.stats, nil
}

func (m *mailbox) numbersRow(row []drivers.Value) error {
	m.stats.Messages++
	if !m.isSeen(row[0]) {
		m.stats.Unread++
	}
	return nil
}
