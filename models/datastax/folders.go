package datastax

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// colors are assigned to folders in turn. The source design says that a folder has a color.
var colors = [...]string{"blue", "green", "orange", "purple", "red", "teal"}

// folder is what a models.Folder refers to. All workers share it.
type folder struct {
	user  drivers.Value
	label string
	// current is the highest overflow number that is known to be in use.
	current atomic.Int32
	// room is how many emails current takes before its size is looked at again, and looked is when
	// that was, in nanoseconds.
	room, looked atomic.Int64
}

// newFolder returns a folder. One that was made now has room for emails.
func newFolder(a *models.Account, name string, room int64, now time.Time) *models.Folder {
	f := &folder{user: drivers.Text(a.Address), label: name}
	f.room.Store(room)
	f.looked.Store(now.UnixNano())
	return &models.Folder{Name: name, Account: a, Ref: f}
}

func ref(f *models.Folder) *folder { return f.Ref.(*folder) }

const overflowInfix = "-overflow-"

// appendName appends the folder's label with an overflow number, as in inbox-overflow-1.
func (f *folder) appendName(dst []byte, overflow int32) []byte {
	dst = append(dst, f.label...)
	if overflow == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, overflowInfix...), int64(overflow), 10)
}

// name is that label as a value, in m.Arena.
func (m *mailbox) name(f *folder, overflow int32) drivers.Value {
	m.label = f.appendName(m.label[:0], overflow)
	return drivers.TextBytes(m.Arena.Bytes(m.label))
}

// raise notes that an overflow label is in use.
func (f *folder) raise(overflow int32) {
	for {
		known := f.current.Load()
		if overflow <= known || f.current.CompareAndSwap(known, overflow) {
			return
		}
	}
}

// base returns the label of the folder to which a label or overflow label belongs.
func base(label string) string {
	i := strings.LastIndex(label, overflowInfix)
	if i < 0 {
		return label
	}
	digits := label[i+len(overflowInfix):]
	if n, err := strconv.ParseInt(digits, 10, 32); err != nil || n < 1 || strconv.FormatInt(n, 10) != digits {
		return label
	}
	return label[:i]
}

func checkName(name string) error {
	if base(name) != name {
		return fmt.Errorf("folder name %q is reserved for overflow labels; choose one that does not end in %sNUMBER", name,
			overflowInfix)
	}
	return nil
}

// CreateUser implements models.Mailbox. The source design has no table of users: an account
// exists if it has a folder.
func (m *mailbox) CreateUser(ctx context.Context, address string, folders []string) (*models.Account, error) {
	a := &models.Account{Address: address}
	return m.Create(ctx, a, folders, m.do.PutFolders, func(i int, name string) *models.Folder {
		if i > 0 {
			m.Calls.Add(only, drivers.Text(address), drivers.Text(name), drivers.Text(colors[i%len(colors)]),
				drivers.Boolean(false))
		}
		return newFolder(a, name, m.share(0), m.now())
	}, func() error {
		for _, name := range folders {
			if err := checkName(name); err != nil {
				return err
			}
		}
		if err := m.Unused(ctx, m.do.AnyFolder, drivers.Text(address)); err != nil {
			return err
		}
		return m.claim(ctx, a, folders[0], true)
	})
}

// claim creates a folder unless the name is taken.
func (m *mailbox) claim(ctx context.Context, a *models.Account, name string, inbox bool) error {
	color := colors[0]
	if !inbox {
		color = colors[len(a.Folders)%len(colors)]
	}
	return m.Claim(ctx, m.do.ClaimFolder, drivers.Text(a.Address), drivers.Text(name), drivers.Text(color),
		drivers.Boolean(inbox))
}

// CreateFolder implements models.Mailbox.
func (m *mailbox) CreateFolder(ctx context.Context, a *models.Account, name string) (_ *models.Folder, err error) {
	defer m.Failed(&err, a, "creation of folder %s", name)
	err = checkName(name)
	if err == nil {
		err = m.claim(ctx, a, name, false)
	}
	return newFolder(a, name, m.share(0), m.now()), err
}

// Login implements models.Mailbox.
func (m *mailbox) Login(ctx context.Context, address string) (*models.Account, error) {
	return m.LogIn(address, func(a *models.Account) error {
		return m.S.Read(ctx, m.do.Folders, m.With(drivers.Text(address)), func(row []drivers.Value) error {
			a.Add(newFolder(a, row[0].Str(), 0, time.Time{}), row[2].Bool())
			return nil
		})
	})
}

// Accounts implements models.Mailbox.
func (m *mailbox) Accounts(ctx context.Context) ([]string, error) {
	return m.Addresses(ctx, m.do.Accounts)
}

// Folders implements models.Mailbox: Q1. It adds the unread counts of overflow labels
// to those of their folder.
func (m *mailbox) Folders(ctx context.Context, a *models.Account, yield func(models.FolderInfo) error) (err error) {
	defer m.Failed(&err, a, "folders")
	var labels []string
	var unread []int64
	user := m.With(drivers.Text(a.Address))
	err = m.S.Read(ctx, m.do.Unread, user, func(row []drivers.Value) error {
		labels, unread = append(labels, base(row[0].Str())), append(unread, row[1].Int64())
		return nil
	})
	if err == nil {
		err = m.S.Read(ctx, m.do.Folders, user, func(row []drivers.Value) error {
			info := models.FolderInfo{Name: row[0].Str(), Known: models.KnowUnread}
			for i := range labels {
				if labels[i] == info.Name {
					info.Unread += unread[i]
				}
			}
			return yield(info)
		})
	}
	return err
}

// folderStats collects a folder's numbers over its labels.
type folderStats struct {
	models.Stats
	last int32 // highest overflow number that has a size
}

// Stats implements models.Mailbox.
func (m *mailbox) Stats(ctx context.Context, f *models.Folder) (_ models.Stats, err error) {
	defer m.FailedIn(&err, f, "stats")
	r := ref(f)
	m.Arena.Reset()
	m.stats = folderStats{Stats: models.Stats{Known: models.KnowMessages | models.KnowUnread}}
	sizes := m.With(r.user, drivers.Text(r.label))
	err = m.Read(ctx, m.do.Sizes, sizes, func(m *mailbox, row []drivers.Value) error {
		m.stats.last = max(m.stats.last, int32(row[0].Int64()))
		m.stats.Messages += row[1].Int64()
		return nil
	})
	if err == nil {
		m.elems = m.elems[:0]
		for n := range m.stats.last + 1 {
			m.elems = append(m.elems, m.name(r, n))
		}
		labels := m.With(r.user, drivers.ListOf(m.elems))
		err = m.Read(ctx, m.do.UnreadOf, labels, func(m *mailbox, row []drivers.Value) error {
			m.stats.Unread += row[0].Int64()
			return nil
		})
	}
	return m.stats.Stats, err
}
