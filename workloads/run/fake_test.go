package run

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/mail"
	"github.com/mailbench/mailbench/schemas"
)

// fake is a mailbox model in memory for tests of the runner, with the faults that a
// test sets. It is also its engine, which keeps what was stored
// when it is closed.
type fake struct {
	mu       sync.Mutex
	accounts map[string]*models.Account
	folders  map[*models.Folder][]*fakeMessage
	last     uint64

	// before, if set, is called at the beginning of each call.
	before func(call string) error
	// unknown, if set, says which calls end with an unknown outcome, and
	// whether they were applied.
	unknown func(call string) (lost, applied bool)
	noRaw   bool
	lost    []string // accounts that cannot log in
	backup  map[*models.Folder][]*fakeMessage
}

type fakeMessage struct {
	handle      models.Handle
	raw, body   []byte
	attachments map[string][]byte
	seen        bool
}

func newFake() *fake {
	return &fake{accounts: map[string]*models.Account{}, folders: map[*models.Folder][]*fakeMessage{}}
}

func (d *fake) model(name string) models.Model {
	return models.Model{
		Name:   name,
		Schema: func() (*schemas.Schema, error) { return &schemas.Schema{Name: name, Source: []byte("schema: 1")}, nil },
		Bind:   func(context.Context, *drivers.Prepared, models.Options) (models.Bound, error) { return d, nil },
	}
}

func (d *fake) engine(name string) drivers.Engine {
	return drivers.Engine{Name: name, Open: func(context.Context, drivers.Options) (drivers.Store, error) {
		return fakeStore{}, nil
	}}
}

type fakeStore struct{ drivers.Store }

func (fakeStore) Capabilities() drivers.Capabilities {
	return drivers.Capabilities{Engine: "fake", Durability: drivers.Memory}
}
func (fakeStore) Apply(context.Context, *schemas.Schema) error { return nil }
func (fakeStore) Session() (drivers.Session, error)            { return fakeSession{}, nil }
func (fakeStore) Close() error                                 { return nil }

type fakeSession struct{ drivers.Session }

func (fakeSession) Watch(func() time.Duration, func(drivers.Statement, time.Duration, int64)) {}
func (fakeSession) Take() drivers.Cost                                                        { return drivers.Cost{} }

func (fakeSession) Close() error { return nil }

// Mailbox implements models.Bound.
func (d *fake) Mailbox(drivers.Session) models.Mailbox { return fakeMailbox{d: d} }

// fakeMailbox implements the parts of models.Mailbox that the runner's tests use.
type fakeMailbox struct {
	models.Mailbox
	models.UIDs
	d *fake
}

// UID implements models.UIDs: a number is given once in all folders.
func (fakeMailbox) UID(h models.Handle) uint64 { return binary.BigEndian.Uint64(h[:]) }

func (b fakeMailbox) call(name string) error {
	if b.d.before != nil {
		return b.d.before(name)
	}
	return nil
}

// write is call for a write; skip: it is not to be applied.
func (b fakeMailbox) write(name string) (skip bool, after, err error) {
	if b.d.unknown != nil {
		if lost, applied := b.d.unknown(name); lost {
			return !applied, drivers.ErrUnknown, nil
		}
	}
	return false, nil, b.call(name)
}

func (b fakeMailbox) CreateUser(_ context.Context, address string, folders []string) (*models.Account, error) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if b.d.accounts[address] != nil {
		return nil, models.ErrExists
	}
	a := &models.Account{Address: address}
	for _, name := range folders {
		a.Folders = append(a.Folders, &models.Folder{Name: name, Account: a})
	}
	b.d.accounts[address] = a
	return a, nil
}

func (b fakeMailbox) Login(_ context.Context, address string) (*models.Account, error) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if a := b.d.accounts[address]; a != nil {
		return a, nil
	}
	return nil, models.ErrNotFound
}

func (b fakeMailbox) Deliver(_ context.Context, m *mail.Message, to []*models.Folder, handles []models.Handle) error {
	skip, after, err := b.write("deliver")
	if err != nil || skip {
		return errors.Join(err, after)
	}
	l := fakeMessage{attachments: map[string][]byte{}}
	l.raw, _ = mail.AppendContent(nil, m.Raw)
	l.body, _ = mail.AppendContent(nil, m.Body.Content)
	for _, a := range m.Attachments {
		l.attachments[strings.Clone(a.Name)], _ = mail.AppendContent(nil, a.Content)
	}
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	for i, f := range to {
		one := l
		one.handle = b.d.handle()
		handles[i] = one.handle
		b.d.folders[f] = append(b.d.folders[f], &one)
	}
	return after
}

func (d *fake) handle() (h models.Handle) {
	d.last++
	binary.BigEndian.PutUint64(h[:], d.last)
	return h
}

func (d *fake) find(f *models.Folder, h models.Handle) (int, *fakeMessage) {
	for i, l := range d.folders[f] {
		if l.handle == h {
			return i, l
		}
	}
	return -1, nil
}

func (b fakeMailbox) List(_ context.Context, f *models.Folder, after models.Handle, limit int, yield func(*models.Entry) error) error {
	if err := b.call("list"); err != nil {
		return err
	}
	b.d.mu.Lock()
	var handles []models.Handle
	for _, l := range b.d.folders[f] {
		handles = append(handles, l.handle)
	}
	b.d.mu.Unlock()
	for _, h := range slices.Backward(handles) {
		if !after.IsZero() && string(h[:]) >= string(after[:]) {
			continue
		}
		if limit--; limit < 0 {
			break
		}
		if err := yield(&models.Entry{Handle: h, Known: models.KnowFrom | models.KnowSubject | models.KnowDate}); err != nil {
			return err
		}
	}
	return nil
}

func (b fakeMailbox) Open(_ context.Context, f *models.Folder, h models.Handle, o *models.Opened) error {
	if err := b.call("open"); err != nil {
		return err
	}
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	_, l := b.d.find(f, h)
	if l == nil {
		return models.ErrNotFound
	}
	o.Body, o.Attachments = append(o.Body[:0], l.body...), o.Attachments[:0]
	for name, a := range l.attachments {
		o.Attachments = append(o.Attachments, models.AttachmentInfo{Name: name, Size: int64(len(a))})
	}
	return nil
}

func (b fakeMailbox) Raw(_ context.Context, f *models.Folder, h models.Handle, w io.Writer) (int64, error) {
	if b.d.noRaw {
		return 0, models.ErrNotOffered
	}
	if err := b.call("raw"); err != nil {
		return 0, err
	}
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	_, l := b.d.find(f, h)
	if l == nil {
		return 0, models.ErrNotFound
	}
	n, err := w.Write(l.raw)
	return int64(n), err
}

func (b fakeMailbox) Attachment(_ context.Context, f *models.Folder, h models.Handle, name string, w io.Writer) (int64, error) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	_, l := b.d.find(f, h)
	if l == nil || l.attachments[name] == nil {
		return 0, models.ErrNotFound
	}
	n, err := w.Write(l.attachments[name])
	return int64(n), err
}

func (b fakeMailbox) Flag(_ context.Context, f *models.Folder, h models.Handle, _ models.Flag, on bool) error {
	if err := b.call("flag"); err != nil {
		return err
	}
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	_, l := b.d.find(f, h)
	if l == nil {
		return models.ErrNotFound
	}
	l.seen = on
	return nil
}

func (b fakeMailbox) Move(_ context.Context, from, to *models.Folder, hs, handles []models.Handle) error {
	if err := b.call("move"); err != nil {
		return err
	}
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	for n, h := range hs {
		i, l := b.d.find(from, h)
		if l == nil {
			return models.ErrNotFound
		}
		b.d.folders[from] = slices.Delete(b.d.folders[from], i, i+1)
		there := *l
		there.handle = b.d.handle()
		b.d.folders[to] = append(b.d.folders[to], &there)
		handles[n] = there.handle
	}
	return nil
}

func (b fakeMailbox) Delete(_ context.Context, f *models.Folder, hs []models.Handle) error {
	skip, after, err := b.write("delete")
	if err != nil || skip {
		return errors.Join(err, after)
	}
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	for _, h := range hs {
		i, l := b.d.find(f, h)
		if l == nil {
			return models.ErrNotFound
		}
		b.d.folders[f] = slices.Delete(b.d.folders[f], i, i+1)
	}
	return after
}

func (b fakeMailbox) Stats(_ context.Context, f *models.Folder) (models.Stats, error) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	return models.Stats{Known: models.KnowMessages, Messages: int64(len(b.d.folders[f]))}, nil
}

func (b fakeMailbox) Accounts(context.Context) ([]string, error) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	return append(slices.Sorted(maps.Keys(b.d.accounts)), b.d.lost...), nil
}

// pause sleeps in the calls named.
func pause(d time.Duration, calls ...string) func(string) error {
	return func(call string) error {
		if slices.Contains(calls, call) {
			time.Sleep(d)
		}
		return nil
	}
}
