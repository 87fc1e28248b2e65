package james

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// record is the metadata of one message.
type record struct {
	uid                     int64
	found                   bool
	date                    time.Time
	size, chunkSize         int64
	seen, answered, flagged bool
	properties              []byte // its layout; kept in m.text
}

func (r *record) chunks() int64 { return chunksOf(r.size, r.chunkSize) }

func chunksOf(size, chunk int64) int64 { return (size + chunk - 1) / chunk }

// one reads a message's metadata, or returns ErrNotFound.
func (m *mailbox) one(ctx context.Context, f *models.Folder, h models.Handle) (*record, error) {
	m.text = m.text[:0]
	m.recs = append(m.recs[:0], record{uid: uidOf(h)})
	m.at = 0
	if err := m.S.Read(ctx, m.message, m.With(key(f), drivers.Bigint(uidOf(h))), m.onRecord); err != nil {
		return nil, err
	}
	if !m.recs[0].found {
		return nil, models.ErrNotFound
	}
	return &m.recs[0], nil
}

// several reads the metadata of messages into m.recs, in one multi-get. It returns
// ErrNotFound if one is missing or named twice.
func (m *mailbox) several(ctx context.Context, f *models.Folder, hs []models.Handle) error {
	if err := m.Handles.Distinct(hs); err != nil {
		return err
	}
	m.text, m.uidList = m.text[:0], m.uidList[:0]
	m.recs = slices.Grow(m.recs[:0], len(hs))
	for _, h := range hs {
		m.uidList = append(m.uidList, drivers.Bigint(uidOf(h)))
		m.recs = append(m.recs, record{uid: uidOf(h)})
	}
	m.at = 0
	if err := m.S.Read(ctx, m.messages, m.With(key(f), drivers.ListOf(m.uidList)), m.onRecord); err != nil {
		return err
	}
	for i := range m.recs {
		if !m.recs[i].found {
			return models.ErrNotFound
		}
	}
	return nil
}

// record takes a row of metadata. Rows come in the order asked for.
func (m *mailbox) record(row []drivers.Value) error {
	uid := row[0].Int64()
	for m.at < len(m.recs) && m.recs[m.at].uid != uid {
		m.at++
	}
	if m.at == len(m.recs) {
		return fmt.Errorf("UID %d came out of turn", uid)
	}
	if row[2].IsNull() { // a flag of a deleted message
		return nil
	}
	at := len(m.text)
	m.text = append(m.text, row[7].Raw()...)
	m.recs[m.at] = record{
		uid: uid, found: true, date: row[1].Time(), size: row[2].Int64(), chunkSize: m.chunkSizeOf(&row[3]),
		seen: row[4].Bool(), answered: row[5].Bool(), flagged: row[6].Bool(),
		properties: m.text[at:len(m.text):len(m.text)],
	}
	return nil
}

// chunkSizeOf returns the stored chunk size of a message. A message as the document has it
// stores none, and has chunks of the configured size.
func (m *mailbox) chunkSizeOf(v *drivers.Value) int64 {
	if v.IsNull() && !v.Broken() {
		return int64(m.chunkSize)
	}
	return v.Int64()
}

// put returns the arguments that write a record as UID uid of f.
func (r *record) put(f *models.Folder, uid int64) [9]drivers.Value {
	return [...]drivers.Value{
		key(f), drivers.Bigint(uid), drivers.Timestamp(r.date.UnixMicro()),
		drivers.Bigint(r.size), drivers.Int(int32(r.chunkSize)),
		drivers.Boolean(r.seen), drivers.Boolean(r.answered), drivers.Boolean(r.flagged),
		drivers.Blob(r.properties),
	}
}
