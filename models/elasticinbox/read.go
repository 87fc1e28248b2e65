package elasticinbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/blobs"
	"github.com/mailbench/mailbench/models/mail"
)

// Open implements models.Mailbox.
func (m *mailbox) Open(ctx context.Context, f *models.Folder, h models.Handle, o *models.Opened) error {
	_, err := m.Stream(ctx, "open", f, h, func() (int64, error) {
		r := &m.recs[0]
		from, subject := append(o.From[:0], r.from...), append(o.Subject[:0], r.subject...)
		fill(&o.Entry, r)
		o.From, o.Subject, o.Flags = from, subject, r.flags
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
	return m.beginBody(r)
}

// beginBody begins the body of a message.
func (m *mailbox) beginBody(r *record) error {
	m.reading = *r
	each := r.blockSize
	if r.outside {
		each = m.blockSize
	}
	return m.BeginRaw(r.size, int64(each), r.layout)
}

// fetch reads block n of the message being read, or as much of its file.
func (m *mailbox) fetch(ctx context.Context, n int64) error {
	if !m.reading.outside {
		args := m.With(drivers.TimeUUID(m.reading.id), drivers.Int(int32(n)), drivers.Int(0))
		return m.Read(ctx, m.do.Block, args, func(m *mailbox, row []drivers.Value) error {
			return m.RawChunk(row[0].Raw())
		})
	}
	each := int64(m.blockSize)
	length := min(each, m.reading.size-n*each)
	m.buffer = slices.Grow(m.buffer[:0], int(length))[:length]
	got, err := m.outside.ReadAt(m.reading.id, m.buffer, n*each)
	m.S.Blob(int64(got), 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // the reader says that it is missing
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("read a blob in %s: %w", blobs.FSLocal, err)
	}
	return m.RawChunk(m.buffer[:got])
}

// List implements models.Mailbox.
func (m *mailbox) List(ctx context.Context, f *models.Folder, after models.Handle, limit int,
	yield func(*models.Entry) error,
) (err error) {
	defer m.Failed(&err, f.Account, "list")
	return m.each(ctx, f.Account.Address, labelOf(f), after, limit, func(r *record) error {
		fill(&m.entry, r)
		return yield(&m.entry)
	})
}

// each calls yield with up to limit messages of a label, newest first, that follow the message after. A page of them is
// a slice of the index and one multi-get.
func (m *mailbox) each(ctx context.Context, address string, l label, after models.Handle, limit int,
	yield func(r *record) error,
) error {
	from := drivers.Value{}
	if !after.IsZero() {
		from = messageOf(after)
	}
	for limit > 0 {
		m.text, m.ids = m.text[:0], m.ids[:0]
		page := min(limit, maxPage)
		args := m.With(m.indexKey(address, l), from, drivers.Bigint(int64(page)))
		err := m.Read(ctx, m.do.IndexPage, args, func(m *mailbox, row []drivers.Value) error {
			m.ids = append(m.ids, row[0])
			return nil
		})
		if err == nil && len(m.ids) > 0 {
			err = m.lookup(ctx, address)
		}
		if err != nil || len(m.ids) == 0 {
			return err
		}
		for i := range m.recs {
			r := &m.recs[i]
			if !r.carries(l) {
				continue // the change was interrupted; an audit counts the entry
			}
			if err := yield(r); err != nil {
				return err
			}
			limit--
		}
		if len(m.ids) < page {
			return nil
		}
		from = m.ids[page-1]
	}
	return nil
}

// fill sets an entry from a super column.
func fill(e *models.Entry, r *record) {
	*e = models.Entry{
		Handle: handleOf(r.id),
		Known:  models.KnowFrom | models.KnowSubject | models.KnowDate | models.KnowSize | models.KnowSeen,
		From:   r.from, Subject: r.subject, Date: r.date, Size: r.size, Seen: r.flags&models.Seen != 0,
	}
}

// AllMail implements models.AllMailer: label 0.
func (m *mailbox) AllMail(a *models.Account) *models.Folder {
	m.allMail = models.Folder{Name: "all", Account: a, Ref: all}
	return &m.allMail
}

// inDatabase is the parameter blob_store for bodies in the database. The one after it is package blobs.
const inDatabase = 1

// Close closes the store of bodies.
func (b *bound) Close() error {
	if b.outside == nil {
		return nil
	}
	return b.outside.Close()
}

// goesOutside reports whether the body of a message of that size is not written to the database.
func (b *bound) goesOutside(size int64) bool { return b.writesOutside && size > int64(b.threshold) }

// parseOutside parses the location of a body that is not in the database.
func (b *bound) parseOutside(location []byte) (size int64, err error) {
	rest, ok := bytes.CutPrefix(location, []byte("blob://"))
	at := bytes.LastIndex(rest, []byte("?s="))
	name, _, ok2 := bytes.Cut(rest, []byte("/container/"))
	if !ok || !ok2 || at < 0 {
		return 0, fmt.Errorf("%q is neither blob://db/UUID?b=BLOCKS&s=SIZE nor blob://STORE/container/ADDRESS:UUID?s=SIZE",
			location)
	}
	if size, err = parseNumber(rest[at+len("?s="):]); err != nil {
		return 0, fmt.Errorf("size of %q: %w", location, err)
	}
	if b.outside != nil && string(name) == blobs.FSLocal {
		return size, nil
	}
	return size, fmt.Errorf("%q: the blob store %s is not here; it is in the data folder of the client that wrote (--data)",
		location, name)
}

// putOutside writes the raw message to a file and returns its checksum.
func (m *mailbox) putOutside(id [16]byte, raw mail.Content) (sum uint32, err error) {
	w, err := m.outside.Write(id)
	if err != nil {
		return 0, fmt.Errorf("begin a blob in %s: %w", blobs.FSLocal, err)
	}
	sum, err = models.EachPiece(raw, &m.buffer, window*int64(m.blockSize), func(_ int64, b []byte) error {
		_, err := w.Write(b)
		return err
	})
	if err != nil {
		return 0, errors.Join(fmt.Errorf("write a blob in %s: %w", blobs.FSLocal, err), w.Abort())
	}
	if err := w.Commit(); err != nil {
		return 0, fmt.Errorf("write a blob in %s: %w", blobs.FSLocal, err)
	}
	m.S.Blob(0, raw.Size())
	return sum, nil
}

// dropBody removes the body of a message whose metadata is gone: its blocks, or its file.
func (m *mailbox) dropBody(ctx context.Context, id [16]byte, outside bool, blocks int) error {
	for !outside && blocks > 0 {
		m.Calls.Reset()
		for range min(blocks, maxPage) {
			blocks--
			m.Calls.Add(only, drivers.TimeUUID(id), drivers.Int(int32(blocks)))
		}
		if err := m.S.Batch(ctx, m.do.BlocksDelete, m.Calls.List); err != nil {
			return fmt.Errorf("delete blocks: %w", err)
		}
	}
	if !outside {
		return nil
	}
	m.S.Blob(0, 0)
	if err := m.outside.Remove(id); err != nil {
		return fmt.Errorf("remove a blob in %s: %w", blobs.FSLocal, err)
	}
	return nil
}
