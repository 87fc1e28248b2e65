package elasticinbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
	"github.com/mailbench/mailbench/models/blobs"
	"github.com/mailbench/mailbench/models/mail"
)

// record is the super column of one message.
type record struct {
	state
	id                    [16]byte
	from, subject, layout []byte // from is the sender's address
	date                  time.Time
	blocks, blockSize     int
	outside               bool  // the body is a file, not in the database
	headers               int   // how many of from, to, subject and date are there
	fault                 error // in an inspection: of the first sub-column that is not as it should be
}

// state is what counters and labels depend on.
type state struct {
	labels  []label
	size    int64
	flags   models.Flag
	deleted bool
	purge   [16]byte // column of a deleted message in the purge index
}

// carries reports whether the message has the label and is not deleted.
func (s *state) carries(l label) bool {
	return !s.deleted && slices.Contains(s.labels, l)
}

func (s *state) unread() int64 {
	if s.flags&models.Seen != 0 {
		return 0
	}
	return 1
}

// lookup reads the super columns of m.ids into m.recs, in one multi-get. No id may occur twice. A message that is
// missing has no record.
func (m *mailbox) lookup(ctx context.Context, address string) error {
	m.recs, m.at = m.recs[:0], 0
	return m.Read(ctx, m.do.Messages, m.With(drivers.Text(address), drivers.ListOf(m.ids)), (*mailbox).nextColumn)
}

// nextColumn takes a row of lookup. Rows come in the order of m.ids.
func (m *mailbox) nextColumn(row []drivers.Value) error {
	id := row[0].UUIDBytes()
	for m.at < len(m.ids) && m.ids[m.at].UUIDBytes() != id {
		m.at++
	}
	if m.at == len(m.ids) {
		return fmt.Errorf("message %x came out of turn", id)
	}
	return m.column(row)
}

// column takes a row of a super column: message, name and value of a sub-column. Those of a message follow each other.
func (m *mailbox) column(row []drivers.Value) error {
	n := len(m.recs)
	if id := row[0].UUIDBytes(); n == 0 || m.recs[n-1].id != id {
		m.recs = slices.Grow(m.recs, 1)[:n+1]
		m.recs[n] = record{id: id, state: state{labels: m.recs[n].labels[:0]}}
	}
	return m.take(&m.recs[len(m.recs)-1], row[1].Raw(), row[2].Raw())
}

// take puts a sub-column into a record.
func (m *mailbox) take(r *record, name, value []byte) (err error) {
	switch string(name) {
	case "from":
		r.headers++
		var longer []byte
		longer, err = appendFirstAddress(m.text, value)
		r.from = m.built(longer)
	case "to":
		r.headers++
	case "subject":
		r.headers++
		r.subject = m.built(append(m.text, value...))
	case "date":
		r.headers++
		r.date, err = parseDate(value)
	case "size":
		r.size, err = parseNumber(value)
	case "location":
		if bytes.HasPrefix(value, []byte("blob://db/")) {
			r.blocks, r.blockSize, err = parseLocation(value)
		} else {
			r.size, err = m.parseOutside(value)
			r.outside = err == nil
		}
	case "parts":
		r.layout = m.built(append(m.text, value...))
	case seenMarker:
		r.flags |= models.Seen
	case answeredMarker:
		r.flags |= models.Answered
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

// parseDate parses a date in the form that deliver writes, or the day that the source design's
// sample has.
func parseDate(b []byte) (t time.Time, err error) {
	if err = t.UnmarshalText(b); err != nil {
		t, err = time.Parse("2 January 2006", string(b))
	}
	return t, err
}

// parseNumber parses a number or label column.
func parseNumber(b []byte) (int64, error) {
	n, err := strconv.ParseUint(string(b), 10, 50)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", b)
	}
	return int64(n), nil
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
	m.single[0] = h
	if err := m.several(ctx, f, m.single[:]); err != nil {
		return nil, err
	}
	return &m.recs[0], nil
}

// several reads messages of label f into m.recs. It returns ErrNotFound if one is
// missing or named twice.
func (m *mailbox) several(ctx context.Context, f *models.Folder, hs []models.Handle) error {
	ids, err := m.IDs(hs, messageOf)
	if err == nil {
		m.ids = append(m.ids[:0], ids...)
		err = m.lookup(ctx, f.Account.Address)
	}
	if err != nil {
		return err
	}
	hidden := func(r record) bool { return !r.carries(labelOf(f)) }
	if len(m.recs) < len(hs) || slices.ContainsFunc(m.recs, hidden) {
		return models.ErrNotFound
	}
	return nil
}

// The source design stores addresses as JSON: [["Name","a@b"],…]. Every message writes
// two such lists, and every line of a listing reads one: usually one pair without an
// escape, for which the functions below use neither reflection nor allocation.

func appendAddresses(dst []byte, as ...mail.Address) []byte {
	dst = append(dst, '[')
	for i, a := range as {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		dst = append(appendQuoted(dst, a.Name), ',')
		dst = append(appendQuoted(dst, a.Address), ']')
	}
	return append(dst, ']')
}

func appendQuoted(dst []byte, s string) []byte {
	return append(append(append(dst, '"'), escapes.Replace(s)...), '"')
}

// escapes returns a text as it is if it needs none.
var escapes = func() *strings.Replacer {
	pairs := []string{`"`, `\"`, `\`, `\\`}
	for c := range ' ' {
		pairs = append(pairs, string(c), fmt.Sprintf(`\u%04x`, c))
	}
	return strings.NewReplacer(pairs...)
}()

var errAddresses = errors.New("not a JSON list of [name, address]")

// appendFirstAddress appends the address (not the name) of the first pair of a
// stored list, which may be empty. It accepts what appendAddresses writes and
// nothing else.
func appendFirstAddress(dst, list []byte) ([]byte, error) {
	one, ok := bytes.CutPrefix(list, []byte(`[["`))
	one, ok2 := bytes.CutSuffix(one, []byte(`"]]`))
	name, address, ok3 := bytes.Cut(one, []byte(`","`))
	if ok && ok2 && ok3 && plain(name) && plain(address) {
		return append(dst, address...), nil
	}
	var pairs [][2]string // several pairs, or one with an escape
	err := json.Unmarshal(list, &pairs)
	as := make([]mail.Address, len(pairs))
	for i, p := range pairs {
		as[i] = mail.Address{Name: p[0], Address: p[1]}
	}
	if err != nil || !bytes.Equal(appendAddresses(nil, as...), list) {
		return dst, errAddresses
	}
	if len(as) > 0 {
		dst = append(dst, as[0].Address...)
	}
	return dst, nil
}

// plain reports whether a string is itself in JSON, without an escape.
func plain(s []byte) bool {
	return utf8.Valid(s) && !bytes.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' })
}

// label is a label's number: the Ref of a folder.
type label int

// Reserved labels. A user's own labels begin at firstOwn, which leaves room for the reserved
// ones that the source design does not show.
const (
	all      label = 0
	inbox    label = 1
	drafts   label = 2
	firstOwn label = 21
)

func labelOf(f *models.Folder) label { return f.Ref.(label) }

// Markers, as sub-columns of metadata.
const (
	seenMarker     = "m:1"
	answeredMarker = "m:2"
	purgeMark      = "l:purge" // named as address:purge is named after address:ID
)

var markers = map[models.Flag]string{models.Seen: seenMarker, models.Answered: answeredMarker}

// present is the value of the sub-column of a set label or marker.
var present = drivers.Blob([]byte("true"))

// The functions below build keys and values in m.text, where they stay valid until reset.

// built returns what was appended to m.text. longer is m.text with it.
func (m *mailbox) built(longer []byte) []byte {
	at := len(m.text)
	m.text = longer
	return longer[at:len(longer):len(longer)]
}

func (m *mailbox) blob(longer []byte) drivers.Value { return drivers.Blob(m.built(longer)) }

func (m *mailbox) join(prefix string, l label) drivers.Value {
	longer := append(append(m.text, prefix...), ':')
	return drivers.TextBytes(m.built(strconv.AppendInt(longer, int64(l), 10)))
}

// indexKey is the row of a label index, "address:1".
func (m *mailbox) indexKey(address string, l label) drivers.Value { return m.join(address, l) }

// labelColumn is the sub-column of a label, "l:1".
func (m *mailbox) labelColumn(l label) drivers.Value { return m.join("l", l) }

// purgeKey is the row of the purge index, "address:purge".
func (m *mailbox) purgeKey(address string) drivers.Value {
	return drivers.TextBytes(m.built(append(append(m.text, address...), ":purge"...)))
}

// counterID is a label in a counter's composite name, "1".
func (m *mailbox) counterID(l label) drivers.Value {
	return drivers.TextBytes(m.built(strconv.AppendInt(m.text, int64(l), 10)))
}

// location says where the body is: blob://db/UUID?b=BLOCKS&s=SIZE or, outside of the database, as the source design's
// sample does, blob://NAME/container/ADDRESS:UUID. The source design does not show the parameters: the size of a
// block can be configured, and that of a body outside is ours.
func (m *mailbox) location(address string, id [16]byte, size int64) drivers.Value {
	if m.goesOutside(size) {
		longer := append(append(m.text, "blob://"+blobs.FSLocal+"/container/"...), address...)
		longer = drivers.AppendUUID(append(longer, ':'), id)
		return m.blob(strconv.AppendInt(append(longer, "?s="...), size, 10))
	}
	longer := drivers.AppendUUID(append(m.text, "blob://db/"...), id)
	longer = strconv.AppendInt(append(longer, "?b="...), int64(m.blocksOf(size)), 10)
	return m.blob(strconv.AppendInt(append(longer, "&s="...), int64(m.blockSize), 10))
}

func handleOf(id [16]byte) (h models.Handle) {
	copy(h[:], id[:])
	return h
}

// Identity implements models.Identifier.
func (*mailbox) Identity(h models.Handle) [16]byte { return [16]byte(h[:16]) }

func messageOf(h models.Handle) drivers.Value { return drivers.TimeUUID([16]byte(h[:16])) }
