package elasticinbox

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// record is the super column of one message.
type record struct {
	id                    [16]byte
	found                 bool
	from, subject, layout []byte // from is the sender's address
	date                  time.Time
	size                  int64
	blocks, blockSize     int
	outside               *outside // the store that has the body; nil: the database
	seen, answered        bool
	headers               int // how many of from, to, subject and date are there
	labels                []label
	deleted               bool
	purge                 [16]byte // column of a deleted message in the purge index
	fault                 error    // of an audit: the first sub-column that is not as it should be
}

// carries reports whether the message has the label and is not deleted.
func (r *record) carries(l label) bool {
	return r.found && !r.deleted && slices.Contains(r.labels, l)
}

func (r *record) unread() int64 {
	if r.seen {
		return 0
	}
	return 1
}

// lookup reads the super columns of m.ids into m.recs, in one multi-get. No
// id may occur twice.
func (m *mailbox) lookup(ctx context.Context, address string) error {
	m.recs = slices.Grow(m.recs[:0], len(m.ids))[:len(m.ids)]
	for i := range m.recs {
		m.recs[i] = record{id: m.ids[i].UUIDBytes(), labels: m.recs[i].labels[:0]}
	}
	m.at = 0
	return m.S.Read(ctx, m.messages, m.With(drivers.Text(address), drivers.ListOf(m.ids)), m.onColumn)
}

// column takes one sub-column: message, name, value. Rows come in the order of
// m.ids, so one pass over the records is enough.
func (m *mailbox) column(row []drivers.Value) error {
	id := row[0].UUIDBytes()
	for m.at < len(m.recs) && m.recs[m.at].id != id {
		m.at++
	}
	if m.at == len(m.recs) {
		return fmt.Errorf("message %x came out of turn", id)
	}
	return m.take(&m.recs[m.at], row[1].Raw(), row[2].Raw())
}

// take puts a sub-column into a record.
func (m *mailbox) take(r *record, name, value []byte) (err error) {
	r.found = true
	switch string(name) {
	case "from":
		r.headers++
		at := len(m.text)
		m.text, err = appendFirstAddress(m.text, value)
		r.from = m.taken(at)
	case "to":
		r.headers++
	case "subject":
		r.headers++
		r.subject = m.keep(value)
	case "date":
		r.headers++
		r.date, err = parseDate(value)
	case "size":
		r.size, err = parseNumber(value)
	case "location":
		if bytes.HasPrefix(value, []byte("blob://db/")) {
			r.blocks, r.blockSize, err = parseLocation(value)
		} else {
			r.outside, r.size, err = m.parseOutside(value)
		}
	case "parts":
		r.layout = m.keep(value)
	case seenMarker:
		r.seen = true
	case answeredMarker:
		r.answered = true
	case purgeMark:
		r.deleted = true
		if copy(r.purge[:], value) != len(r.purge) {
			err = fmt.Errorf("%d bytes, want a UUID", len(value))
		}
	default:
		if id, ok := bytes.CutPrefix(name, []byte("l:")); ok {
			var n int64
			if n, err = parseNumber(id); err == nil {
				r.labels = append(r.labels, label(n))
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%w: sub-column %s of message %x: %w", models.ErrBroken, name, r.id, err)
	}
	return nil
}

func (m *mailbox) keep(b []byte) []byte {
	at := len(m.text)
	m.text = append(m.text, b...)
	return m.taken(at)
}

// parseDate parses a date in the form that deliver writes, or the day that the document's
// sample has.
func parseDate(b []byte) (t time.Time, err error) {
	if err = t.UnmarshalText(b); err != nil {
		t, err = time.Parse("2 January 2006", string(b))
	}
	return t, err
}

// parseNumber parses a number or label column without an allocation.
func parseNumber(b []byte) (int64, error) {
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' || n > 1<<50 {
			return 0, fmt.Errorf("%q is not a number", b)
		}
		n = n*10 + int64(c-'0')
	}
	if len(b) == 0 {
		return 0, strconv.ErrSyntax
	}
	return n, nil
}

func parseLocation(b []byte) (blocks, size int, err error) {
	_, params, ok := bytes.Cut(b, []byte("?b="))
	count, each, ok2 := bytes.Cut(params, []byte("&s="))
	n, err := parseNumber(count)
	s, err2 := parseNumber(each)
	if !ok || !ok2 || err != nil || err2 != nil || s == 0 {
		return 0, 0, fmt.Errorf("%q is not blob://db/UUID?b=BLOCKS&s=SIZE", b)
	}
	return int(n), int(s), nil
}

// one reads a message that label f shows, or returns ErrNotFound.
func (m *mailbox) one(ctx context.Context, f *models.Folder, h models.Handle) (*record, error) {
	if h.IsZero() { // not a TimeUUID
		return nil, models.ErrNotFound
	}
	m.ids = append(m.ids[:0], messageOf(h))
	if err := m.lookup(ctx, f.Account.Address); err != nil {
		return nil, err
	}
	if !m.recs[0].carries(labelOf(f)) {
		return nil, models.ErrNotFound
	}
	return &m.recs[0], nil
}

// several reads messages of label f into m.recs. It returns ErrNotFound if one is
// missing or named twice.
func (m *mailbox) several(ctx context.Context, f *models.Folder, hs []models.Handle) error {
	if err := m.Handles.Distinct(hs); err != nil {
		return err
	}
	m.ids = m.ids[:0]
	for _, h := range hs {
		if h.IsZero() {
			return models.ErrNotFound
		}
		m.ids = append(m.ids, messageOf(h))
	}
	if err := m.lookup(ctx, f.Account.Address); err != nil {
		return err
	}
	for i := range m.recs {
		if !m.recs[i].carries(labelOf(f)) {
			return models.ErrNotFound
		}
	}
	return nil
}
