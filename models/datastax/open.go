package datastax

import (
	"context"
	"fmt"
	"io"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// errBroken means that an attachment differs from the delivered one.
var errBroken = fmt.Errorf("attachment: %w", models.ErrBroken)

// shown is the row of an email in a label. Its bytes are in the arena.
type shown struct {
	from, subject []byte
	read          bool
}

func (m *mailbox) shownRow(row []drivers.Value) error {
	m.shown = shown{m.Arena.Bytes(row[0].Raw()), m.Arena.Bytes(row[1].Raw()), row[2].Bool()}
	return nil
}

// readShown reads the row of an email in a label into m.shown.
func (m *mailbox) readShown(ctx context.Context, f *folder, overflow int32, id [16]byte) error {
	args := m.With(drivers.Text(f.username), drivers.Text(f.name(overflow)), drivers.TimeUUID(id))
	return m.ReadOne(ctx, m.inFolder, args, m.onShown)
}

// readHandle is readShown for a message by its handle.
func (m *mailbox) readHandle(ctx context.Context, f *folder, h models.Handle) error {
	if h.IsZero() {
		return models.ErrNotFound
	}
	return m.readShown(ctx, f, overflowOf(h), idOf(h))
}

// Open implements models.Mailbox: it reads the flag in the label's row, then Q3.
func (m *mailbox) Open(ctx context.Context, f *models.Folder, h models.Handle, o *models.Opened) error {
	m.Arena.Reset()
	err := m.readHandle(ctx, ref(f), h)
	if err == nil {
		m.open = o
		err = m.ReadOne(ctx, m.email, m.With(drivers.TimeUUID(idOf(h))), m.onEmail)
		m.open = nil
		if err == models.ErrNotFound {
			err = fmt.Errorf("the label shows an email that is gone: %w", err)
		}
	}
	if err != nil {
		return m.FailedIn("open", f, err)
	}
	o.Handle, o.Date = h, models.TimeOf(idOf(h))
	o.Known = models.KnowFrom | models.KnowSubject | models.KnowDate | models.KnowSeen
	o.Size, o.Seen, o.Flags = 0, m.shown.read, 0
	if o.Seen {
		o.Flags = models.Seen
	}
	return nil
}

func (m *mailbox) emailRow(row []drivers.Value) (err error) {
	o := m.open
	o.From = append(o.From[:0], row[0].Raw()...)
	o.Subject = append(o.Subject[:0], row[1].Raw()...)
	o.Attach(row[3])
	o.Body, err = models.DecodeText(o.Body[:0], row[2].Raw())
	return err
}

// download is an attachment being read.
type download struct {
	w       io.Writer
	size    int64
	written int64
	next    int64 // number of the next chunk
}

// Attachment implements models.Mailbox: Q4, chunks in windows of bounded memory.
func (m *mailbox) Attachment(ctx context.Context, f *models.Folder, h models.Handle, name string,
	w io.Writer,
) (int64, error) {
	m.Arena.Reset()
	err := m.readHandle(ctx, ref(f), h)
	if err == nil {
		err = m.readAttachment(ctx, idOf(h), name, w)
	}
	if err != nil {
		return m.in.written, m.FailedIn(fmt.Sprintf("attachment %q", name), f, err)
	}
	return m.in.written, nil
}

func (m *mailbox) readAttachment(ctx context.Context, id [16]byte, name string, w io.Writer) error {
	m.in = download{w: w}
	if err := m.ReadOne(ctx, m.attachmentSize, m.With(drivers.TimeUUID(id), drivers.Text(name)), m.onSize); err != nil {
		return err
	}
	d := &m.in
	for d.written < d.size {
		// Enough chunks if they were written with the current chunk size. If they
		// are smaller, more windows follow.
		n := min(window, (d.size-d.written+int64(m.chunk)-1)/int64(m.chunk))
		m.elems = m.elems[:0]
		for i := range n {
			m.elems = append(m.elems, drivers.Int(int32(d.next+i)))
		}
		before := d.next
		err := m.S.Read(ctx, m.chunks, m.With(drivers.TimeUUID(id), drivers.Text(name), drivers.ListOf(m.elems)), m.onChunk)
		if err != nil {
			return err
		}
		if d.next == before {
			return fmt.Errorf("%w: chunk %d is missing, after %d of %d bytes", errBroken, d.next, d.written, d.size)
		}
	}
	return nil
}

func (m *mailbox) sizeRow(row []drivers.Value) error {
	m.in.size = row[0].Int64()
	return nil
}

func (m *mailbox) chunkRow(row []drivers.Value) error {
	d := &m.in
	b := row[1].Raw()
	switch {
	case row[0].Int64() != d.next:
		return fmt.Errorf("%w: chunk %d is missing, after %d of %d bytes", errBroken, d.next, d.written, d.size)
	case d.written+int64(len(b)) > d.size:
		return fmt.Errorf("%w: more than its %d bytes", errBroken, d.size)
	case int64(models.Checksum(0, b)) != row[2].Int64():
		return fmt.Errorf("%w: the checksum of chunk %d is wrong", errBroken, d.next)
	}
	d.next++
	n, err := d.w.Write(b)
	d.written += int64(n)
	return err
}
