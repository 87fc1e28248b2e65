package conversation

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// list runs a read that yields entries as the owner of f sees them. If f is nil, they
// belong to many owners.
func (m *mailbox) list(ctx context.Context, st drivers.Statement, f *models.Folder, args []drivers.Value,
	yield func(*models.Entry) error,
) error {
	m.yield = yield
	m.entry = models.Entry{Known: models.KnowFrom | models.KnowDate}
	if f != nil {
		m.me = f.Account.Address
		m.entry.Known |= models.KnowSeen
	}
	return m.S.Read(ctx, st, args, m.onEntry)
}

// entryRow takes a row. The row holds the content too, which a list does not show.
func (m *mailbox) entryRow(row []drivers.Value) error {
	id := row[0].UUIDBytes()
	m.entry.Handle, m.entry.Date, m.entry.From = handleOf(id), models.TimeOf(id), row[2].Raw()
	m.entry.Seen = m.entry.Known.Has(models.KnowSeen) && m.isSeen(row[3])
	return m.yield(&m.entry)
}

// isSeen reports whether m.me is in a seen_by list.
func (m *mailbox) isSeen(by drivers.Value) bool {
	for _, who := range by.Elems() {
		if string(who.Raw()) == m.me {
			return true
		}
	}
	return false
}

// List implements models.Mailbox: the newest N messages, with their content.
func (m *mailbox) List(ctx context.Context, f *models.Folder, after models.Handle, limit int,
	yield func(*models.Entry) error,
) error {
	var from drivers.Value
	if !after.IsZero() {
		from = idOf(after)
	}
	return m.FailedIn("list", f, m.list(ctx, m.newest, f, m.With(ref(f), from, drivers.Bigint(int64(limit))), yield))
}

// Slice implements models.Slicer.
func (m *mailbox) Slice(ctx context.Context, f *models.Folder, from, to time.Time, limit int,
	yield func(*models.Entry) error,
) error {
	args := m.With(ref(f), drivers.TimeUUID(models.MinTimeUUID(from)), drivers.TimeUUID(models.MaxTimeUUID(to)),
		drivers.Bigint(int64(limit)))
	return m.FailedIn("slice", f, m.list(ctx, m.between, f, args, yield))
}

// BySender implements models.SenderSearcher.
func (m *mailbox) BySender(ctx context.Context, f *models.Folder, sender string, limit int,
	yield func(*models.Entry) error,
) error {
	by, most := drivers.Text(sender), drivers.Bigint(int64(limit))
	if f != nil {
		return m.FailedIn("search by sender", f, m.list(ctx, m.bySenderIn, f, m.With(ref(f), by, most), yield))
	}
	if err := m.list(ctx, m.bySender, nil, m.With(by, most), yield); err != nil {
		return fmt.Errorf("conversation: messages of sender %s: %w", sender, err)
	}
	return nil
}

// get runs a read of one message. It returns ErrNotFound if the message is missing.
func (m *mailbox) get(ctx context.Context, st drivers.Statement, f *models.Folder, h models.Handle,
	row func([]drivers.Value) error,
) error {
	if h.IsZero() {
		return models.ErrNotFound
	}
	m.me = f.Account.Address
	return m.ReadOne(ctx, st, m.With(ref(f), idOf(h)), row)
}

// Open implements models.Mailbox.
func (m *mailbox) Open(ctx context.Context, f *models.Folder, h models.Handle, o *models.Opened) error {
	m.open = o
	err := m.get(ctx, m.message, f, h, m.onMessage)
	m.open = nil
	if err != nil {
		return m.FailedIn("open", f, err)
	}
	o.Handle, o.Date = h, models.TimeOf([16]byte(h[:16]))
	o.Known = models.KnowFrom | models.KnowDate | models.KnowSeen
	o.Subject, o.Size, o.Flags = o.Subject[:0], 0, 0
	if o.Seen {
		o.Flags = models.Seen
	}
	return nil
}

func (m *mailbox) messageRow(row []drivers.Value) (err error) {
	o := m.open
	o.From = append(o.From[:0], row[1].Raw()...)
	o.Seen = m.isSeen(row[2])
	o.Attach(row[3])
	o.Body, err = models.DecodeText(o.Body[:0], row[0].Raw())
	return err
}

// Attachment implements models.Mailbox.
func (m *mailbox) Attachment(ctx context.Context, f *models.Folder, h models.Handle, name string,
	w io.Writer,
) (int64, error) {
	m.w, m.written = w, 0
	err := models.ErrNotFound
	if !h.IsZero() {
		err = m.ReadOne(ctx, m.attachment, m.With(ref(f), idOf(h), drivers.Text(name)), m.onAttachment)
	}
	m.w = nil
	if err != nil {
		return m.written, m.FailedIn(fmt.Sprintf("attachment %q", name), f, err)
	}
	return m.written, nil
}

func (m *mailbox) attachmentRow(row []drivers.Value) (err error) {
	if row[0].IsNull() {
		return models.ErrNotFound
	}
	m.written, err = models.WriteText(m.w, row[0].Raw())
	return err
}
