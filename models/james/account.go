package james

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// mailboxID is a mailbox's UUID: the Ref of a folder. It holds the time of creation,
// so the oldest mailbox of an account is the inbox.
type mailboxID [16]byte

// CreateUser implements models.Mailbox. The empty name claims the address.
func (m *mailbox) CreateUser(ctx context.Context, address string, folders []string) (*models.Account, error) {
	a, now := &models.Account{Address: address}, m.now()
	return m.Create(ctx, a, folders, m.do.Create, func(_ int, name string) *models.Folder {
		f := &models.Folder{Name: name, Account: a, Ref: mailboxID(m.uuids.Next(now))}
		m.Calls.Add(createName, drivers.Text(address), drivers.Text(name), key(f))
		return f
	}, func() error {
		for _, f := range a.Folders { // names come before mailboxes
			m.addMailbox(f)
		}
		return m.take(ctx, address, "", a.Folders[0].Ref.(mailboxID))
	})
}

// CreateFolder implements models.Mailbox. The inbox stays the oldest mailbox, even if another clock was ahead.
func (m *mailbox) CreateFolder(ctx context.Context, a *models.Account, name string) (_ *models.Folder, err error) {
	defer m.Failed(&err, a, "creation of folder %s", name)
	now := m.now()
	if inbox := models.TimeOf(a.Folders[0].Ref.(mailboxID)); !now.After(inbox) {
		now = inbox.Add(time.Microsecond)
	}
	f := &models.Folder{Name: name, Account: a, Ref: mailboxID(m.uuids.Next(now))}
	err = m.take(ctx, a.Address, name, f.Ref.(mailboxID))
	if err == nil {
		m.Calls.Reset()
		m.addMailbox(f)
		err = models.Partly(m.S.Batch(ctx, m.do.Create, m.Calls.List))
	}
	return f, err
}

// take claims a name for a mailbox.
func (m *mailbox) take(ctx context.Context, user, name string, id mailboxID) error {
	return m.Claim(ctx, m.do.Claim, drivers.Text(user), drivers.Text(name), drivers.UUID(id))
}

func (m *mailbox) addMailbox(f *models.Folder) {
	m.Calls.Add(createMailbox, key(f), drivers.Text(f.Account.Address), drivers.Text(f.Name))
}

// Login implements models.Mailbox: a scan of all mailboxes.
func (m *mailbox) Login(ctx context.Context, address string) (*models.Account, error) {
	return m.LogIn(address, func(a *models.Account) error {
		found, err := m.find(ctx, address)
		for _, x := range found {
			a.Folders = append(a.Folders, &models.Folder{Name: x.name, Account: a, Ref: x.id})
		}
		return err
	})
}

// Accounts implements models.Mailbox.
func (m *mailbox) Accounts(ctx context.Context) ([]string, error) {
	return m.Addresses(ctx, m.do.Accounts)
}

// Folders implements models.Mailbox. The scan reads rows that hold the number of
// messages. The number of unread ones would need another scan for each mailbox.
func (m *mailbox) Folders(ctx context.Context, a *models.Account, yield func(models.FolderInfo) error) (err error) {
	defer m.Failed(&err, a, "folders")
	found, err := m.find(ctx, a.Address)
	for i := 0; i < len(found) && err == nil; i++ {
		err = yield(models.FolderInfo{Name: found[i].name, Known: models.KnowMessages, Messages: found[i].messages})
	}
	return err
}

type found struct {
	id       mailboxID
	name     string
	messages int64
}

// find reads a user's mailboxes, the oldest first.
func (m *mailbox) find(ctx context.Context, user string) ([]found, error) {
	var fs []found
	err := m.S.Read(ctx, m.do.MailboxesOf, m.With(drivers.Text(user)), func(row []drivers.Value) error {
		fs = append(fs, found{row[0].UUIDBytes(), row[1].Str(), row[2].Int64()})
		return nil
	})
	slices.SortFunc(fs, func(a, b found) int {
		if c := models.TimeOf(a.id).Compare(models.TimeOf(b.id)); c != 0 {
			return c
		}
		return bytes.Compare(a.id[8:], b.id[8:])
	})
	return fs, err
}

// Subscribe implements models.Subscriber.
func (m *mailbox) Subscribe(ctx context.Context, a *models.Account, folder string, on bool) (err error) {
	defer m.Failed(&err, a, "subscription")
	stmt := m.do.Unsubscribe
	if on {
		stmt = m.do.Subscribe
	}
	_, err = m.S.Write(ctx, stmt, m.With(drivers.Text(a.Address), drivers.Text(folder)))
	return err
}

// Subscriptions implements models.Subscriber.
func (m *mailbox) Subscriptions(ctx context.Context, a *models.Account, yield func(folder string) error) (err error) {
	defer m.Failed(&err, a, "subscriptions")
	return m.S.Read(ctx, m.do.Subscriptions, m.With(drivers.Text(a.Address)), func(row []drivers.Value) error {
		return yield(row[0].Str())
	})
}

// Positions of the mailbox row's numbers in the pattern "numbers".
const (
	lastUID = iota
	messageCount
)

// reserve takes n UIDs of a mailbox and returns the first. It adds as many messages as count says to
// the mailbox's number of messages, if that takes no request of its own: if an increment does both.
func (m *mailbox) reserve(ctx context.Context, f *models.Folder, n, count int64) (int64, error) {
	last, err := int64(0), error(nil)
	if m.lwt.has() { // its callers take one
		last, err = m.putIf(ctx, f, 0, nil, drivers.Value{})
	} else {
		last, err = m.increment(ctx, f, m.do.NextUID, m.casUID, lastUID, n, drivers.Bigint(count))
	}
	if err != nil {
		return 0, fmt.Errorf("reserve a UID: %w", err)
	}
	return last - n + 1, nil
}

// countMessages adds to the mailbox's number of messages.
func (m *mailbox) countMessages(ctx context.Context, f *models.Folder, n int64) error {
	if n == 0 {
		return nil
	}
	if _, err := m.increment(ctx, f, m.do.Count, m.casCount, messageCount, n); err != nil {
		return fmt.Errorf("count messages: %w", err)
	}
	return nil
}

// casAttempts is how often the model tries a compare-and-set of a UID whose outcome
// is unknown. Contention can make the outcome unknown.
const casAttempts = 5

// increment adds n to a number of the mailbox row and returns the new value, if the
// statement returns it; others are added to the numbers after it. With cas, it reads the number alone and
// writes the sum by compare-and-set, until no other worker has changed the number in between. After
// an unknown outcome it tries again only for UIDs: an unused UID does no harm, but
// a count would be added twice.
func (m *mailbox) increment(ctx context.Context, f *models.Folder, stmt drivers.Statement, cas bool, number int,
	n int64, others ...drivers.Value,
) (int64, error) {
	if !cas {
		m.With(key(f), drivers.Bigint(n))
		res, err := m.S.Write(ctx, stmt, m.Also(others...))
		if err != nil || len(res.Row) == 0 {
			return 0, err
		}
		return res.Row[0].Int64(), nil
	}
	defer m.S.Repeating(false)
	for attempt := 1; ; attempt++ {
		m.S.Repeating(attempt > 1)
		was, err := m.number(ctx, m.do.Numbers, f, number)
		if err != nil {
			return 0, err
		}
		res, err := m.S.Write(ctx, stmt, m.With(key(f), drivers.Bigint(was.Int64()+n), was))
		if number == lastUID && errors.Is(err, drivers.ErrUnknown) && attempt < casAttempts && ctx.Err() == nil {
			continue
		}
		if err != nil || res.Applied {
			return was.Int64() + n, err
		}
	}
}

// number reads a number of the mailbox row: null if it was never written.
func (m *mailbox) number(ctx context.Context, st drivers.Statement, f *models.Folder, number int,
) (drivers.Value, error) {
	row, err := m.Get(ctx, st, key(f))
	return row[number], err
}
