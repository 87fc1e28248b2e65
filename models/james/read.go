package james

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

// known is what metadata tells of a message: its headers are in the data.
const known = models.KnowDate | models.KnowSize | models.KnowSeen

// List implements models.Mailbox: one scan of the metadata family.
func (m *mailbox) List(ctx context.Context, f *models.Folder, after models.Handle, limit int, yield func(*models.Entry) error) error {
	from := drivers.Value{}
	if !after.IsZero() {
		from = drivers.Bigint(uidOf(after))
	}
	m.yield = yield
	if err := m.s.Read(ctx, m.page, m.with(key(f), from, drivers.Bigint(int64(limit))), m.onRow); err != nil {
		return failed("list", f.Account, err)
	}
	return nil
}

// row takes a line of a listing: uid, internal_date, size, seen.
func (m *mailbox) row(row []drivers.Value) error {
	m.entry = models.Entry{
		Handle: handleOf(row[0].Int64(), row[2].Int64()),
		Known:  known,
		Date:   row[1].Time(), Size: row[2].Int64(), Seen: row[3].Bool(),
	}
	return m.yield(&m.entry)
}

// Stats implements models.Mailbox: the total from the mailbox row, the unread
// by a scan of metadata.
func (m *mailbox) Stats(ctx context.Context, f *models.Folder) (models.Stats, error) {
	total, err := m.number(ctx, f, messageCount)
	m.unseen = 0
	if err == nil {
		err = m.s.Read(ctx, m.unread, m.with(key(f), drivers.Boolean(false)), m.onUnread)
	}
	if err != nil {
		return models.Stats{}, failed("stats", f.Account, err)
	}
	return models.Stats{Known: models.KnowMessages | models.KnowUnread, Messages: total.Int64(), Unread: m.unseen}, nil
}

func (m *mailbox) unreadRow([]drivers.Value) error {
	m.unseen++
	return nil
}

// Open implements models.Mailbox.
func (m *mailbox) Open(ctx context.Context, f *models.Folder, h models.Handle, o *models.Opened) error {
	r, err := m.begin(ctx, f, h)
	if err != nil {
		return failed("open", f.Account, err)
	}
	o.Entry = models.Entry{Handle: h, Known: known, From: o.From[:0], Subject: o.Subject[:0], Date: r.date, Size: r.size, Seen: r.seen}
	o.Flags = r.flags()
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

func (r *record) flags() (flags models.Flag) {
	if r.seen {
		flags |= models.Seen
	}
	if r.answered {
		flags |= models.Answered
	}
	if r.flagged {
		flags |= models.Flagged
	}
	return flags
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
	r, err := m.one(ctx, f, h)
	if err != nil {
		return nil, err
	}
	m.reading = [...]drivers.Value{key(f), drivers.Bigint(r.uid)}
	return r, m.raw.Begin(r.size, r.chunkSize, r.properties)
}

// fetch reads chunk n of the message being read; the first is named 1.
func (m *mailbox) fetch(ctx context.Context, n int64) error {
	return m.s.Read(ctx, m.chunk, m.with(m.reading[0], m.reading[1], drivers.Bigint(n+1)), m.onChunk)
}

func (m *mailbox) read(row []drivers.Value) error { return m.raw.Chunk(row[0].Raw()) }

// streamed says how the streaming of a message ended. What looks broken may
// have been expunged meanwhile, which is something else.
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
