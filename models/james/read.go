package james

import (
	"context"
	"encoding/binary"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// known is the set of fields in metadata. The headers are in the data.
const known = models.KnowDate | models.KnowSize | models.KnowSeen

// A handle is the UID and the size of the message, both big-endian. The size never
// changes, so a variant's flags can be conditional on it.

func handleOf(uid, size int64) (h models.Handle) {
	binary.BigEndian.PutUint64(h[:], uint64(uid))
	binary.BigEndian.PutUint64(h[8:], uint64(size))
	return h
}

func uidOf(h models.Handle) int64 { return int64(binary.BigEndian.Uint64(h[:])) }

func uidValue(h models.Handle) drivers.Value { return drivers.Bigint(uidOf(h)) }

func sizeOf(h models.Handle) int64 { return int64(binary.BigEndian.Uint64(h[8:])) }

// UID implements models.UIDs.
func (m *mailbox) UID(h models.Handle) uint64 { return uint64(uidOf(h)) }

func key(f *models.Folder) drivers.Value { return drivers.UUID(f.Ref.(mailboxID)) }

// List implements models.Mailbox: one scan of the metadata family.
func (m *mailbox) List(ctx context.Context, f *models.Folder, after models.Handle, limit int,
	yield func(*models.Entry) error,
) (err error) {
	var from drivers.Value
	if uid := uidOf(after); uid > 0 { // the zero handle has none
		from = drivers.Bigint(uid)
	}
	m.yield = yield
	err = m.S.Read(ctx, m.do.Page, m.With(key(f), from, drivers.Bigint(int64(limit))), m.onPage)
	if err != nil {
		m.Failed(&err, f.Account, "list")
	}
	return err
}

// pageRow yields the entry of a row of a page.
func (m *mailbox) pageRow(row []drivers.Value) error {
	m.entry = models.Entry{
		Handle: handleOf(row[0].Int64(), row[2].Int64()),
		Known:  known,
		Date:   row[1].Time(), Size: row[2].Int64(), Seen: row[3].Bool(),
	}
	return m.yield(&m.entry)
}

// Stats implements models.Mailbox. It reads the total from the mailbox row and
// counts unread messages by a scan of metadata.
func (m *mailbox) Stats(ctx context.Context, f *models.Folder) (_ models.Stats, err error) {
	defer m.Failed(&err, f.Account, "stats")
	total, err := m.number(ctx, m.do.Numbers, f, messageCount)
	m.unseen = 0
	if err == nil {
		err = m.Read(ctx, m.do.Unread, m.With(key(f), drivers.Boolean(false)), func(m *mailbox, _ []drivers.Value) error {
			m.unseen++
			return nil
		})
	}
	return models.Stats{Known: models.KnowMessages | models.KnowUnread, Messages: total.Int64(), Unread: m.unseen}, err
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
	return m.BeginRaw(r.size, r.chunkSize, r.properties)
}

// fetch reads chunk n of the message being read. The first chunk is stored as 1.
func (m *mailbox) fetch(ctx context.Context, n int64) error {
	st, args := m.lwt.Body, m.With(m.reading[:]...)
	if !m.inline {
		st, args = m.do.Chunk, m.Also(drivers.Bigint(n+1))
	}
	return m.Read(ctx, st, args, func(m *mailbox, row []drivers.Value) error { return m.RawChunk(row[0].Raw()) })
}

// record is the metadata of one message.
type record struct {
	uid             int64
	date            time.Time
	size, chunkSize int64
	flags           models.Flag
	userFlags       []byte // kept in m.Arena
	properties      []byte // its layout; kept in m.Arena
}

func (r *record) chunks() int64 { return chunksOf(r.size, r.chunkSize) }

func chunksOf(size, chunk int64) int64 { return (size + chunk - 1) / chunk }

// one reads a message's metadata, or returns ErrNotFound.
func (m *mailbox) one(ctx context.Context, f *models.Folder, h models.Handle) (*record, error) {
	m.Arena.Reset()
	m.recs = m.recs[:0]
	err := m.ReadOne(ctx, m.do.Message, m.With(key(f), uidValue(h)), func(m *mailbox, row []drivers.Value) error {
		return m.record(0, row)
	})
	if err != nil {
		return nil, err
	}
	return &m.recs[0], nil
}

// several reads the metadata of messages into m.recs, in one multi-get. It returns
// ErrNotFound if one is missing or named twice.
func (m *mailbox) several(ctx context.Context, f *models.Folder, hs []models.Handle) error {
	m.Arena.Reset()
	m.recs = m.recs[:0]
	return m.Several(ctx, m.do.Messages, hs, uidValue, (*mailbox).record, key(f))
}

// record takes a row of metadata.
func (m *mailbox) record(_ int, row []drivers.Value) error {
	if row[2].IsNull() { // a flag of a deleted message
		return models.ErrNotFound
	}
	r := record{
		uid: row[0].Int64(), date: row[1].Time(), size: row[2].Int64(), chunkSize: m.chunkSizeOf(&row[3]),
		userFlags: m.Arena.Bytes(row[9].Raw()), properties: m.Arena.Bytes(row[10].Raw()),
	}
	for i, flag := range flags {
		if row[4+i].Bool() {
			r.flags |= flag
		}
	}
	m.recs = append(m.recs, r)
	return nil
}

// flags are those of a row's columns, in their order.
var flags = [...]models.Flag{models.Seen, models.Answered, models.Flagged, models.Deleted, models.Draft}

// chunkSizeOf returns the stored chunk size of a message. A message as the source design has it
// stores none, and has chunks of the configured size.
func (m *mailbox) chunkSizeOf(v *drivers.Value) int64 {
	if v.IsNull() && !v.Broken() {
		return int64(m.chunkSize)
	}
	return v.Int64()
}

// columns is how many arguments a put of metadata has.
const columns = 12

// put returns the arguments that write a record as UID uid of f.
func (r *record) put(f *models.Folder, uid int64) [columns]drivers.Value {
	row := [...]drivers.Value{
		key(f), drivers.Bigint(uid), drivers.Timestamp(r.date.UnixMicro()),
		drivers.Bigint(r.size), drivers.Int(int32(r.chunkSize)),
		10: drivers.TextBytes(r.userFlags), 11: drivers.Blob(r.properties),
	}
	for i, flag := range flags {
		row[5+i] = drivers.Boolean(r.flags&flag != 0)
	}
	return row
}
