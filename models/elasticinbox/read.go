package elasticinbox

import (
	"context"
	"errors"
	"io"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// appendWriter collects what is written in a slice.
type appendWriter []byte

func (w *appendWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// Open implements models.Mailbox.
func (m *mailbox) Open(ctx context.Context, f *models.Folder, h models.Handle, o *models.Opened) error {
	r, err := m.begin(ctx, f, h)
	if err != nil {
		return failed("open", f.Account, err)
	}
	from, subject := append(o.From[:0], r.from...), append(o.Subject[:0], r.subject...)
	fill(&o.Entry, r)
	o.From, o.Subject = from, subject
	o.Flags = 0
	if r.seen {
		o.Flags |= models.Seen
	}
	if r.answered {
		o.Flags |= models.Answered
	}
	o.Attachments = o.Attachments[:0]
	for i := range m.raw.Layout.Attachments {
		p := &m.raw.Layout.Attachments[i]
		o.Attachments = append(o.Attachments, models.AttachmentInfo{Name: string(p.Name), Size: p.Size})
	}
	m.body = o.Body[:0]
	_, err = m.raw.Part(ctx, &m.raw.Layout.Body, &m.body)
	o.Body, m.body = m.body, nil
	return m.streamed(ctx, "open", f, h, err)
}

// Raw implements models.Mailbox.
func (m *mailbox) Raw(ctx context.Context, f *models.Folder, h models.Handle, w io.Writer) (int64, error) {
	if _, err := m.begin(ctx, f, h); err != nil {
		return 0, failed("raw message", f.Account, err)
	}
	n, err := m.raw.Whole(ctx, w)
	return n, m.streamed(ctx, "raw message", f, h, err)
}

// RawRange implements models.RangeReader.
func (m *mailbox) RawRange(ctx context.Context, f *models.Folder, h models.Handle, off, n int64, w io.Writer) (int64, error) {
	if _, err := m.begin(ctx, f, h); err != nil {
		return 0, failed("range of a raw message", f.Account, err)
	}
	n, err := m.raw.Range(ctx, off, n, w)
	return n, m.streamed(ctx, "range of a raw message", f, h, err)
}

// Attachment implements models.Mailbox.
func (m *mailbox) Attachment(ctx context.Context, f *models.Folder, h models.Handle, name string, w io.Writer) (int64, error) {
	if _, err := m.begin(ctx, f, h); err != nil {
		return 0, failed("attachment", f.Account, err)
	}
	p := m.raw.Layout.Attachment(name)
	if p == nil {
		return 0, failed("attachment "+name, f.Account, models.ErrNotFound)
	}
	n, err := m.raw.Part(ctx, p, w)
	return n, m.streamed(ctx, "attachment", f, h, err)
}

// begin reads a message's metadata and turns the reader of raw messages to it.
func (m *mailbox) begin(ctx context.Context, f *models.Folder, h models.Handle) (*record, error) {
	m.reset()
	r, err := m.one(ctx, f, h)
	if err != nil {
		return nil, err
	}
	m.reading = r.id
	return r, m.raw.Begin(r.size, int64(r.blockSize), r.layout)
}

// fetch reads block n of the message being read.
func (m *mailbox) fetch(ctx context.Context, n int64) error {
	return m.s.Read(ctx, m.block, m.with(drivers.TimeUUID(m.reading), drivers.Int(int32(n)), drivers.Int(0)), m.onBlock)
}

func (m *mailbox) read(row []drivers.Value) error { return m.raw.Chunk(row[0].Raw()) }

// streamed says how the streaming of a message ended. What looks broken may
// have been purged meanwhile, which is something else.
func (m *mailbox) streamed(ctx context.Context, op string, f *models.Folder, h models.Handle, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, models.ErrBroken) {
		if _, again := m.one(ctx, f, h); errors.Is(again, models.ErrNotFound) {
			err = again
		}
	}
	return failed(op, f.Account, err)
}
