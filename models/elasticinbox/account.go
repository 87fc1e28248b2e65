package elasticinbox

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// named is a label of an account.
type named struct {
	label label
	name  string
}

// CreateUser implements models.Mailbox. Label 0 claims the address.
func (m *mailbox) CreateUser(ctx context.Context, address string, folders []string) (*models.Account, error) {
	m.reset()
	a, labels := &models.Account{Address: address}, []named(nil)
	return m.Create(ctx, a, folders, m.do.LabelsPut, func(i int, name string) *models.Folder {
		l := inbox
		if i > 0 {
			l = freeLabel(labels, name)
		}
		labels = append(labels, named{l, name})
		m.Calls.Add(only, drivers.Text(address), m.join("label", l), drivers.Text(name))
		return &models.Folder{Name: name, Account: a, Ref: l}
	}, func() error { return m.createLabel(ctx, address, named{all, "all"}) })
}

// CreateFolder implements models.Mailbox. A conditional write claims the label's
// number. If another worker has claimed it, CreateFolder reads the labels again.
func (m *mailbox) CreateFolder(ctx context.Context, a *models.Account, name string) (_ *models.Folder, err error) {
	defer m.Failed(&err, a, "creation of folder %s", name)
	for {
		m.reset()
		labels, err := m.labels(ctx, a.Address)
		if err == nil && slices.ContainsFunc(labels, func(n named) bool { return n.name == name }) {
			err = models.ErrExists
		}
		if err != nil {
			return nil, err
		}
		l := freeLabel(labels, name)
		if err := m.createLabel(ctx, a.Address, named{l, name}); err != models.ErrExists {
			return &models.Folder{Name: name, Account: a, Ref: l}, err
		}
	}
}

func (m *mailbox) createLabel(ctx context.Context, address string, n named) error {
	return m.Claim(ctx, m.do.LabelCreate, drivers.Text(address), m.join("label", n.label), drivers.Text(n.name))
}

// freeLabel returns the number for a new label: its reserved one, or the next.
func freeLabel(taken []named, name string) label {
	next := firstOwn
	for _, n := range taken {
		next = max(next, n.label+1)
	}
	if strings.EqualFold(name, "drafts") && !slices.ContainsFunc(taken, func(n named) bool { return n.label == drafts }) {
		return drafts
	}
	return next
}

// Login implements models.Mailbox.
func (m *mailbox) Login(ctx context.Context, address string) (_ *models.Account, err error) {
	a := &models.Account{Address: address}
	defer m.Failed(&err, a, "login")
	if address == "" { // some engines refuse an empty key
		return nil, models.ErrNotFound
	}
	labels, err := m.labels(ctx, address)
	if err == nil && len(labels) == 0 {
		err = models.ErrNotFound
	}
	for _, n := range labels {
		if n.label != all {
			a.Folders = append(a.Folders, &models.Folder{Name: n.name, Account: a, Ref: n.label})
		}
	}
	return a, err
}

// Accounts implements models.Mailbox.
func (m *mailbox) Accounts(ctx context.Context) ([]string, error) {
	return m.Addresses(ctx, m.do.Accounts)
}

// Folders implements models.Mailbox: the names from Accounts, the numbers from
// Counters.
func (m *mailbox) Folders(ctx context.Context, a *models.Account, yield func(models.FolderInfo) error) (err error) {
	defer m.Failed(&err, a, "folders")
	m.reset()
	labels, err := m.labels(ctx, a.Address)
	if err == nil {
		err = m.addCounters(ctx, a.Address, 1)
	}
	if err != nil {
		return err
	}
	for _, n := range labels {
		if n.label == all {
			continue
		}
		t := m.tallyOf(n.label)
		info := models.FolderInfo{
			Name: n.name, Known: models.KnowMessages | models.KnowUnread,
			Messages: t.counts[statMessages], Unread: t.counts[statUnread],
		}
		if err := yield(info); err != nil {
			return err
		}
	}
	return nil
}

// labels reads an account's labels in the order of their numbers: label 0, the
// inbox, the others.
func (m *mailbox) labels(ctx context.Context, address string) ([]named, error) {
	var labels []named
	err := m.S.Read(ctx, m.do.Account, m.With(drivers.Text(address)), func(row []drivers.Value) error {
		id, ok := bytes.CutPrefix(row[0].Raw(), []byte("label:"))
		if !ok {
			return nil // an attribute
		}
		n, err := parseNumber(id)
		if err != nil {
			return fmt.Errorf("%w: label %w", models.ErrBroken, err)
		}
		labels = append(labels, named{label(n), row[1].Str()})
		return nil
	})
	slices.SortFunc(labels, func(a, b named) int { return int(a.label - b.label) })
	return labels, err
}
