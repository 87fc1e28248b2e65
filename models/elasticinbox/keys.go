package elasticinbox

import (
	"encoding/hex"
	"strconv"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models"
)

// label is a label's number: the Ref of a folder.
type label int

// Reserved labels. A user's own labels begin at firstOwn, which leaves room for the reserved
// ones that the document does not show.
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

// present is the value of the sub-column of a set label or marker.
var present = drivers.Blob([]byte("true"))

// The functions below build keys in m.text, where they stay valid until reset.

// taken returns the bytes of m.text after from.
func (m *mailbox) taken(from int) []byte { return m.text[from:len(m.text):len(m.text)] }

func (m *mailbox) join(prefix string, l label) drivers.Value {
	at := len(m.text)
	m.text = append(m.text, prefix...)
	m.text = append(m.text, ':')
	m.text = strconv.AppendInt(m.text, int64(l), 10)
	return drivers.TextBytes(m.taken(at))
}

// indexKey is the row of a label index, "address:1".
func (m *mailbox) indexKey(address string, l label) drivers.Value { return m.join(address, l) }

// labelColumn is the sub-column of a label, "l:1".
func (m *mailbox) labelColumn(l label) drivers.Value { return m.join("l", l) }

// purgeKey is the row of the purge index, "address:purge".
func (m *mailbox) purgeKey(address string) drivers.Value {
	at := len(m.text)
	m.text = append(m.text, address...)
	m.text = append(m.text, ":purge"...)
	return drivers.TextBytes(m.taken(at))
}

// counterID is a label in a counter's composite name, "1".
func (m *mailbox) counterID(l label) drivers.Value {
	at := len(m.text)
	m.text = strconv.AppendInt(m.text, int64(l), 10)
	return drivers.TextBytes(m.taken(at))
}

// number is n in decimal.
func (m *mailbox) number(n int64) drivers.Value {
	at := len(m.text)
	m.text = strconv.AppendInt(m.text, n, 10)
	return drivers.Blob(m.taken(at))
}

// location says where a message's blocks are: blob://db/UUID?b=BLOCKS&s=SIZE. The document does
// not show the parameters, but the size of a block can be configured.
func (m *mailbox) location(id [16]byte, blocks int) drivers.Value {
	at := len(m.text)
	m.text = append(m.text, "blob://db/"...)
	m.text = appendUUID(m.text, id)
	m.text = append(m.text, "?b="...)
	m.text = strconv.AppendInt(m.text, int64(blocks), 10)
	m.text = append(m.text, "&s="...)
	m.text = strconv.AppendInt(m.text, int64(m.blockSize), 10)
	return drivers.Blob(m.taken(at))
}

func appendUUID(dst []byte, u [16]byte) []byte {
	for i, n := range [...]int{4, 6, 8, 10, 16} {
		if i > 0 {
			dst = append(dst, '-')
		}
		from := [...]int{0, 4, 6, 8, 10}[i]
		dst = hex.AppendEncode(dst, u[from:n])
	}
	return dst
}

func handleOf(id [16]byte) (h models.Handle) {
	copy(h[:], id[:])
	return h
}

func messageOf(h models.Handle) drivers.Value { return drivers.TimeUUID([16]byte(h[:16])) }
