package oracle

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

const knownOfRow = models.KnowFrom | models.KnowSubject | models.KnowDate | models.KnowSize | models.KnowSeen

// List implements models.Mailbox: a page of the inbox by arrival.
func (m *mailbox) List(ctx context.Context, f *models.Folder, after models.Handle, limit int,
	yield func(*models.Entry) error,
) (err error) {
	defer m.FailedIn(&err, f, "list")
	r := ref(f)
	if m.sorts {
		return m.sortPage(ctx, r, after, limit, yield)
	}
	m.Arena.Reset()
	args := m.With(r.user, r.id, drivers.Value{}, drivers.Value{}, drivers.Bigint(int64(limit)))
	if !after.IsZero() {
		args[m.afterDate], args[m.afterID] = createdOf(after), m.messageID(r, after)
	}
	m.yield, m.folder = yield, r
	return m.Read(ctx, m.do.Inbox, args, (*mailbox).inboxRow)
}

// inboxRow takes a row. A list does not show the columns after its first six.
func (m *mailbox) inboxRow(row []drivers.Value) error {
	var id [16]byte
	if n, err := hex.Decode(id[:], row[0].Raw()); err != nil || n != len(id) {
		return fmt.Errorf("%w: messageId %q is not 32 hexadecimal digits", models.ErrBroken, row[0].Raw())
	}
	created := row[1].Int64()
	m.entry = models.Entry{
		Handle:  handleOf(id, created, m.folder),
		Known:   knownOfRow,
		From:    row[2].Raw(),
		Subject: row[3].Raw(),
		Date:    time.UnixMicro(created).UTC(),
		Seen:    row[4].Bool(),
		Size:    row[5].Int64(),
	}
	return m.yield(&m.entry)
}

// sortPage reads the whole folder, sorts it by arrival and yields a page of it: what the
// variant without an order does.
func (m *mailbox) sortPage(ctx context.Context, f *folder, after models.Handle, limit int,
	yield func(*models.Entry) error,
) error {
	if limit <= 0 {
		return ctx.Err()
	}
	m.Arena.Reset()
	m.sorted, m.folder = m.sorted[:0], f
	m.yield = func(e *models.Entry) error {
		kept := *e
		kept.From, kept.Subject = m.Arena.Bytes(e.From), m.Arena.Bytes(e.Subject)
		m.sorted = append(m.sorted, kept)
		return nil
	}
	err := m.Read(ctx, m.do.Inbox, m.With(f.user, f.id), (*mailbox).inboxRow)
	if err != nil {
		return err
	}
	slices.SortFunc(m.sorted, func(a, b models.Entry) int { return newerFirst(a.Handle, b.Handle) })
	for i := range m.sorted {
		e := &m.sorted[i]
		if !after.IsZero() && newerFirst(e.Handle, after) <= 0 {
			continue
		}
		if err := yield(e); err != nil {
			return err
		}
		if limit--; limit == 0 {
			break
		}
	}
	return nil
}

// newerFirst compares by createdDate and then by messageId, both descending.
func newerFirst(a, b models.Handle) int {
	return cmp.Or(bytes.Compare(b[16:24], a[16:24]), bytes.Compare(b[:16], a[:16]))
}

// named returns the arguments that name a message.
func (m *mailbox) named(f *folder, h models.Handle) ([]drivers.Value, error) {
	m.Arena.Reset()
	id := m.messageID(f, h)
	if id.IsNull() {
		return nil, models.ErrNotFound
	}
	return m.With(f.user, f.id, id, createdOf(h)), nil
}

// Open implements models.Mailbox.
func (m *mailbox) Open(ctx context.Context, f *models.Folder, h models.Handle, o *models.Opened) (err error) {
	defer m.FailedIn(&err, f, "open")
	args, err := m.named(ref(f), h)
	if err != nil {
		return err
	}
	e := models.Entry{Handle: h, Known: knownOfRow, Date: createdOf(h).Time()}
	return m.OpenRow(ctx, o, e, m.do.Message, args, func(m *mailbox, row []drivers.Value) error {
		m.Opened.Seen, m.Opened.Size = row[6].Bool(), row[7].Int64()
		return m.Opened.Set(row[0], row[4], row[5], row[8])
	})
}

// Attachment implements models.Mailbox.
func (m *mailbox) Attachment(ctx context.Context, f *models.Folder, h models.Handle, name string,
	w io.Writer,
) (written int64, err error) {
	defer m.FailedIn(&err, f, "attachment %q", name)
	if _, err := m.named(ref(f), h); err != nil {
		return 0, err
	}
	err = m.ReadOne(ctx, m.do.Attachment, m.Also(drivers.Text(name)), func(_ *mailbox, row []drivers.Value) error {
		if row[0].IsNull() {
			return models.ErrNotFound
		}
		n, err := w.Write(row[0].Raw())
		written = int64(n)
		return err
	})
	return written, err
}

// nestedFolder is the column of nested with the folder's name. Those of inbox follow the folder's id.
const nestedFolder = 11

// Nested implements models.Nester. Where the engine cannot read several tables in one call, the folders
// are a call of their own.
func (m *mailbox) Nested(ctx context.Context, a *models.Account,
	yield func(folder string, e *models.Entry) error,
) (err error) {
	defer m.Failed(&err, a, "nested read")
	apart := m.do.Nested.Emulates() != nil
	names, shown := map[uint32]string{}, map[uint32]bool{}
	if apart {
		err = m.readFolders(ctx, a, func(number uint32, name string) error {
			names[number] = name
			return nil
		})
	}
	if err == nil {
		in, name := new(folder), ""
		m.folder, m.yield = in, func(e *models.Entry) error { return yield(name, e) }
		err = m.S.Read(ctx, m.do.Nested, m.With(a.Ref.(drivers.Value)), func(row []drivers.Value) error {
			number, err := folderNumber(row[0].Str())
			if err != nil {
				return err
			}
			if names[number] == "" && !apart {
				names[number] = row[nestedFolder].Str()
			}
			if row[1].IsNull() {
				return nil
			}
			shown[number] = true
			in.number, name = number, names[number]
			return m.inboxRow(row[1:])
		})
	}
	for number, name := range names {
		if err == nil && !shown[number] {
			err = yield(name, nil)
		}
	}
	return err
}
