package datastax

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// errBroken means that an attachment differs from the delivered one.
var errBroken = fmt.Errorf("attachment: %w", models.ErrBroken)

// shown is the row of an email in a label: from, subject, is_read.
type shown []drivers.Value

func (s shown) read() bool { return s[2].Bool() }

// readHandle reads the row of an email in the label of its handle into m.Arena.
func (m *mailbox) readHandle(ctx context.Context, f *folder, h models.Handle) (shown, error) {
	if h.IsZero() {
		return nil, models.ErrNotFound
	}
	row, err := m.One(ctx, m.do.InFolder, f.user, m.name(f, overflowOf(h)), emailOf(h))
	return m.Arena.Row(row), err
}

// Open implements models.Mailbox: Q3. An email does not know which labels show it, nor who has
// read it, and Open makes no read for that.
func (m *mailbox) Open(ctx context.Context, f *models.Folder, h models.Handle, o *models.Opened) (err error) {
	defer m.FailedIn(&err, f, "open")
	e := models.Entry{
		Handle: h, Date: models.TimeOf(idOf(h)), Known: models.KnowFrom | models.KnowSubject | models.KnowDate,
	}
	return m.OpenRow(ctx, o, e, m.do.Email, m.With(emailOf(h)), func(m *mailbox, row []drivers.Value) error {
		return m.Opened.Set(row[0], row[1], row[2], row[3])
	})
}

// KeepsBodies implements models.Keeper.
func (m *mailbox) KeepsBodies() {}

// Attachment implements models.Mailbox: Q4, chunks in windows of bounded memory.
func (m *mailbox) Attachment(ctx context.Context, f *models.Folder, h models.Handle, name string,
	w io.Writer,
) (_ int64, err error) {
	defer m.FailedIn(&err, f, "attachment %q", name)
	if h.IsZero() {
		return 0, models.ErrNotFound
	}
	row, err := m.One(ctx, m.do.AttachmentSize, emailOf(h), drivers.Text(name))
	if err != nil {
		return 0, err
	}
	size := row[0].Int64()
	var written, next int64 // next is the number of the next chunk
	for written < size {
		// Enough chunks if they were written with the current chunk size. If they
		// are smaller, more windows follow.
		n := min(int64(m.window), (size-written+int64(m.chunk)-1)/int64(m.chunk))
		m.elems = m.elems[:0]
		for i := range n {
			m.elems = append(m.elems, drivers.Int(int32(next+i)))
		}
		before := next
		args := m.With(emailOf(h), drivers.Text(name), drivers.ListOf(m.elems))
		if err := m.S.Read(ctx, m.do.Chunks, args, func(row []drivers.Value) error {
			b := row[1].Raw()
			switch {
			case row[0].Int64() != next:
				return fmt.Errorf("%w: chunk %d is missing, after %d of %d bytes", errBroken, next, written, size)
			case written+int64(len(b)) > size:
				return fmt.Errorf("%w: more than its %d bytes", errBroken, size)
			case int64(models.Checksum(0, b)) != row[2].Int64():
				return fmt.Errorf("%w: the checksum of chunk %d is wrong", errBroken, next)
			}
			next++
			n, err := w.Write(b)
			written += int64(n)
			return err
		}); err != nil {
			return written, err
		}
		if next == before {
			return written, fmt.Errorf("%w: chunk %d is missing, after %d of %d bytes", errBroken, next, written, size)
		}
	}
	return written, nil
}

// sought is an email that is looked for in the labels of a folder.
type sought struct {
	id       drivers.Value
	wanted   bool  // the next read requests it, unless it is found
	overflow int32 // overflow number of the last label that was read for it
	row      shown // that label shows it; nil: it does not
}

// seek sets the emails of hs as those to look for.
func seek(among []sought, hs []models.Handle) []sought {
	among = among[:0]
	for _, h := range hs {
		among = append(among, sought{id: emailOf(h), wanted: true})
	}
	return among
}

// several reads the rows of messages of a folder into m.here, in one call for each label that
// shows some of them. It returns ErrNotFound if one is missing or named twice.
func (m *mailbox) several(ctx context.Context, f *folder, hs []models.Handle) error {
	if _, err := m.IDs(hs, emailOf); err != nil {
		return err
	}
	m.here = seek(m.here, hs)
	for i, h := range hs {
		if m.here[i].row != nil {
			continue
		}
		for j := range hs {
			m.here[j].wanted = overflowOf(hs[j]) == overflowOf(h)
		}
		if err := m.look(ctx, f, overflowOf(h), m.here); err != nil {
			return err
		}
		if slices.ContainsFunc(m.here, func(e sought) bool { return e.wanted && e.row == nil }) {
			return models.ErrNotFound
		}
	}
	return nil
}

// find looks for the emails of hs in the labels of a folder up to the current one, and sets
// m.there.
func (m *mailbox) find(ctx context.Context, f *folder, hs []models.Handle) error {
	m.there = seek(m.there, hs)
	if _, err := m.readCurrentLabel(ctx, f); err != nil {
		return err
	}
	for n := range f.current.Load() + 1 {
		if err := m.look(ctx, f, n, m.there); err != nil {
			return err
		}
	}
	return nil
}

// look reads which of the wanted emails a label shows, in one call.
func (m *mailbox) look(ctx context.Context, f *folder, overflow int32, among []sought) error {
	m.elems, m.looking = m.elems[:0], m.looking[:0]
	for i := range among {
		if e := &among[i]; e.wanted && e.row == nil {
			e.overflow = overflow
			m.elems, m.looking = append(m.elems, e.id), append(m.looking, e)
		}
	}
	if len(m.elems) == 0 {
		return nil
	}
	return m.Rows(ctx, m.do.InFolderOf, m.elems, func(m *mailbox, at int, row []drivers.Value) error {
		m.looking[at].row = m.Arena.Row(row[1:])
		return nil
	}, f.user, m.name(f, overflow))
}
