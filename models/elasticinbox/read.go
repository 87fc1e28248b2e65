package elasticinbox

import (
	"context"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// Open implements models.Mailbox.
func (m *mailbox) Open(ctx context.Context, f *models.Folder, h models.Handle, o *models.Opened) error {
	_, err := m.Stream(ctx, "open", f, h, func() (int64, error) {
		r := &m.recs[0]
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
		return m.OpenBody(ctx, o)
	})
	return err
}

// beginRaw reads the metadata of a message whose blocks are read next.
func (m *mailbox) beginRaw(ctx context.Context, f *models.Folder, h models.Handle) error {
	m.reset()
	r, err := m.one(ctx, f, h)
	if err != nil {
		return err
	}
	m.reading, m.readingFrom, m.readingSize = r.id, r.outside, r.size
	if r.outside != nil {
		return m.Reader.Begin(r.size, int64(m.blockSize), r.layout)
	}
	return m.Reader.Begin(r.size, int64(r.blockSize), r.layout)
}

// fetch reads block n of the message being read.
func (m *mailbox) fetch(ctx context.Context, n int64) error {
	if m.readingFrom != nil {
		return m.fetchOutside(n)
	}
	args := m.With(drivers.TimeUUID(m.reading), drivers.Int(int32(n)), drivers.Int(0))
	return m.S.Read(ctx, m.block, args, m.onBlock)
}

func (m *mailbox) blockRow(row []drivers.Value) error { return m.Reader.Chunk(row[0].Raw()) }
