package james

import (
	"context"
	"strings"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// known is the set of fields in metadata. The headers are in the data.
const known = models.KnowDate | models.KnowSize | models.KnowSeen

// List implements models.Mailbox: one scan of the metadata family.
func (m *mailbox) List(ctx context.Context, f *models.Folder, after models.Handle, limit int,
	yield func(*models.Entry) error,
) error {
	from := drivers.Value{}
	if !after.IsZero() {
		from = drivers.Bigint(uidOf(after))
	}
	m.yield = yield
	return m.Failed("list", f.Account, m.S.Read(ctx, m.page, m.With(key(f), from, drivers.Bigint(int64(limit))), m.onRow))
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

// Stats implements models.Mailbox. It reads the total from the mailbox row and
// counts unread messages by a scan of metadata.
func (m *mailbox) Stats(ctx context.Context, f *models.Folder) (models.Stats, error) {
	total, err := m.number(ctx, f, messageCount)
	m.unseen = 0
	if err == nil {
		err = m.S.Read(ctx, m.unread, m.With(key(f), drivers.Boolean(false)), m.onUnread)
	}
	if err != nil {
		return models.Stats{}, m.Failed("stats", f.Account, err)
	}
	return models.Stats{Known: models.KnowMessages | models.KnowUnread, Messages: total.Int64(), Unread: m.unseen}, nil
}

func (m *mailbox) unreadRow([]drivers.Value) error {
	m.unseen++
	return nil
}

// Open implements models.Mailbox.
func (m *mailbox) Open(ctx context.Context, f *models.Folder, h models.Handle, o *models.Opened) error {
	_, err := m.Stream(ctx, "open", f, h, func() (int64, error) {
		r := &m.recs[0]
		o.Entry = models.Entry{
			Handle: h, Known: known, From: o.From[:0], Subject: o.Subject[:0],
			Date: r.date, Size: r.size, Seen: r.flags&models.Seen != 0,
		}
		o.Flags, o.UserFlags = r.flags, strings.Fields(string(r.userFlags))
		return m.OpenBody(ctx, o)
	})
	return err
}

// beginRaw reads the metadata of a message whose chunks are read next.
func (m *mailbox) beginRaw(ctx context.Context, f *models.Folder, h models.Handle) error {
	r, err := m.one(ctx, f, h)
	if err != nil {
		return err
	}
	m.reading = [...]drivers.Value{key(f), drivers.Bigint(r.uid)}
	m.inline = m.lwt.inOne(r.size, r.chunkSize)
	return m.Reader.Begin(r.size, r.chunkSize, r.properties)
}

// fetch reads chunk n of the message being read. The first chunk is stored as 1.
func (m *mailbox) fetch(ctx context.Context, n int64) error {
	if m.inline {
		return m.S.Read(ctx, m.lwt.body, m.With(m.reading[:]...), m.onChunk)
	}
	return m.S.Read(ctx, m.chunk, m.With(m.reading[0], m.reading[1], drivers.Bigint(n+1)), m.onChunk)
}

func (m *mailbox) chunkRow(row []drivers.Value) error { return m.Reader.Chunk(row[0].Raw()) }
