package oracle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// folder is what a models.Folder refers to; a models.Account refers to the id of its user. A folder's id is its number,
// which counts from 1 in the order of creation. Folder 1 is the inbox.
type folder struct {
	user, id drivers.Value
	number   uint32
}

func ref(f *models.Folder) *folder { return f.Ref.(*folder) }

func newFolder(a *models.Account, number uint32, name string) *models.Folder {
	f := &folder{a.Ref.(drivers.Value), drivers.Text(strconv.FormatUint(uint64(number), 10)), number}
	return &models.Folder{Name: name, Account: a, Ref: f}
}

// userIDOf derives the user's id from the address. A second insert of the user is
// then an insert of the same row, which the engine refuses.
func userIDOf(address string) drivers.Value {
	sum := sha256.Sum256([]byte(address))
	return drivers.Text(hex.EncodeToString(sum[:16]))
}

// CreateUser implements models.Mailbox. The source design's credentials stay empty, since
// the benchmark uses none.
func (m *mailbox) CreateUser(ctx context.Context, address string, folders []string) (*models.Account, error) {
	id := userIDOf(address)
	a := &models.Account{Address: address, Ref: id}
	return m.Create(ctx, a, folders, m.do.PutFolders, func(i int, name string) *models.Folder {
		f := newFolder(a, uint32(i+1), name)
		m.Calls.Add(only, id, ref(f).id, drivers.Text(name))
		return f
	}, func() error { return m.Claim(ctx, m.do.InsertUser, id, drivers.Text(address), drivers.Text("")) })
}

// CreateFolder implements models.Mailbox. Workers compete for the next folder number.
// One that loses checks again whether the name is taken.
func (m *mailbox) CreateFolder(ctx context.Context, a *models.Account, name string) (_ *models.Folder, err error) {
	defer m.Failed(&err, a, "creation of folder %s", name)
	for {
		last, taken := uint32(0), false
		err := m.readFolders(ctx, a, func(number uint32, n string) error {
			last, taken = max(last, number), taken || n == name
			return nil
		})
		if err == nil && taken {
			err = models.ErrExists
		}
		if err != nil {
			return nil, err
		}
		f := newFolder(a, last+1, name)
		err = m.Claim(ctx, m.do.InsertFolder, ref(f).user, ref(f).id, drivers.Text(name))
		if err != models.ErrExists { // else another worker has taken the number
			return f, err
		}
	}
}

// readFolders yields the numbers and names of an account's folders.
func (m *mailbox) readFolders(ctx context.Context, a *models.Account,
	yield func(number uint32, name string) error,
) error {
	return m.S.Read(ctx, m.do.Folders, m.With(a.Ref.(drivers.Value)), func(row []drivers.Value) error {
		n, err := folderNumber(row[0].Str())
		if err != nil {
			return err
		}
		return yield(n, row[1].Str())
	})
}

func folderNumber(id string) (uint32, error) {
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("folderId %q is not a number", id)
	}
	return uint32(n), nil
}

// Login implements models.Mailbox.
func (m *mailbox) Login(ctx context.Context, address string) (_ *models.Account, err error) {
	a := &models.Account{Address: address}
	defer m.Failed(&err, a, "login")
	row, err := m.One(ctx, m.do.UserByAddress, drivers.Text(address))
	if err == nil {
		a.Ref = drivers.Text(row[0].Str())
		err = m.readFolders(ctx, a, func(number uint32, name string) error {
			a.Folders = append(a.Folders, newFolder(a, number, name))
			return nil
		})
	}
	// As text, 10 comes before 2.
	slices.SortFunc(a.Folders, func(x, y *models.Folder) int { return int(ref(x).number) - int(ref(y).number) })
	return a, err
}

// Accounts implements models.Mailbox.
func (m *mailbox) Accounts(ctx context.Context) ([]string, error) {
	return m.Addresses(ctx, m.do.Accounts)
}

// Folders implements models.Mailbox. The source design stores no counters.
func (m *mailbox) Folders(ctx context.Context, a *models.Account, yield func(models.FolderInfo) error) (err error) {
	defer m.Failed(&err, a, "folders")
	return m.readFolders(ctx, a, func(_ uint32, name string) error { return yield(models.FolderInfo{Name: name}) })
}

// Stats implements models.Mailbox, by reading every message of the folder.
func (m *mailbox) Stats(ctx context.Context, f *models.Folder) (_ models.Stats, err error) {
	defer m.FailedIn(&err, f, "stats")
	r := ref(f)
	m.stats = models.Stats{Known: models.KnowMessages | models.KnowUnread | models.KnowBytes}
	err = m.Read(ctx, m.do.Numbers, m.With(r.user, r.id), func(m *mailbox, row []drivers.Value) error {
		m.stats.Messages++
		if !row[0].Bool() {
			m.stats.Unread++
		}
		m.stats.Bytes += row[1].Int64()
		return nil
	})
	return m.stats, err
}
