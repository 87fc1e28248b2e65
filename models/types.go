package models

import (
	"fmt"
	"strings"
	"time"

	"github.com/mailbench/mailbench/drivers"
	"github.com/mailbench/mailbench/models/mail"
)

// Handle names one message within one folder. Only the model that made it can
// read it: oracle's holds folder, message id and created date. The zero Handle
// names no message. It has 32 bytes, so that handles of millions of messages fit
// in memory.
type Handle [32]byte

// IsZero reports whether the handle names nothing.
func (h Handle) IsZero() bool { return h == Handle{} }

// Account is a mailbox user as Login returns it. Ref belongs to the model.
type Account struct {
	Address string
	Folders []*Folder // the inbox first
	Ref     any
}

// Folder returns the account's folder of that name, or nil.
func (a *Account) Folder(name string) *Folder {
	for _, f := range a.Folders {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Folder is a folder as Login returns it. Ref belongs to the model: it holds keys
// that operations then need neither build nor look up.
type Folder struct {
	Name    string
	Account *Account
	Ref     any
}

// Known is the set of fields that a model returns without an extra read. Output
// shows the other fields as missing.
type Known uint16

// The fields of an Entry, Opened, FolderInfo or Stats.
const (
	KnowFrom Known = 1 << iota
	KnowSubject
	KnowDate
	KnowSize
	KnowSeen
	KnowMessages
	KnowUnread
	KnowBytes
)

// Has reports whether all fields of w are known.
func (k Known) Has(w Known) bool { return k&w == w }

// Entry is one line of a folder listing.
type Entry struct {
	Handle  Handle
	Known   Known
	From    []byte // the sender's address
	Subject []byte
	Date    time.Time // the message's date, or its delivery time where the model keeps only that
	Size    int64     // size of the raw message in bytes
	Seen    bool
}

// Opened is a message's metadata and text body. Its buffers are reused by the
// next Open.
type Opened struct {
	Entry
	Flags       Flag
	Body        []byte           // decoded text body, with every byte as delivered
	UserFlags   []string         // flags that users name, if the model is a UserFlagger
	Attachments []AttachmentInfo // in the order of the message if the model keeps that order
}

// AttachmentInfo describes one attachment; Size is of the decoded bytes.
type AttachmentInfo struct {
	Name string
	Size int64
}

// Attach sets the attachments to those of a map from names to sizes.
func (o *Opened) Attach(sizes drivers.Value) {
	o.Attachments = o.Attachments[:0]
	for elems := sizes.Elems(); len(elems) > 0; elems = elems[2:] {
		o.Attachments = append(o.Attachments, AttachmentInfo{Name: elems[0].Str(), Size: elems[1].Int64()})
	}
}

// Flag is a set of message flags.
type Flag uint8

// Flags. Every model has Seen.
const (
	Seen Flag = 1 << iota
	Answered
	Flagged
	Deleted // to be expunged
	Draft
)

// FolderInfo is a folder's name with the numbers that the model lists with it.
type FolderInfo struct {
	Name             string
	Known            Known
	Messages, Unread int64
}

// Stats are a folder's numbers. Bytes are of raw messages.
type Stats struct {
	Known                   Known
	Messages, Unread, Bytes int64
}

// Audit counts what a model has stored, and the faults in it. The faults are 0 in
// an undamaged store.
type Audit struct {
	Accounts         int64    `json:"accounts"`
	Folders          int64    `json:"folders"`
	Messages         int64    `json:"messages"`             // index entries that lead to a message
	Deleted          int64    `json:"deleted"`              // deleted and not yet purged
	Unreferenced     int64    `json:"unreferenced"`         // messages, bodies, attachments or names that nothing refers to
	Dangling         int64    `json:"dangling"`             // index entries without their message, or messages without their index entry
	Duplicated       int64    `json:"duplicated"`           // messages in more than one folder where the model allows one
	BrokenBodies     int64    `json:"broken_bodies"`        // chunks missing or orphaned, length or checksum wrong
	InterruptedBlobs int64    `json:"broken_off,omitempty"` // interrupted writes into a blob store: invisible files
	CounterDrift     int64    `json:"counter_drift"`        // sum of |counter − recount|
	Notes            []string `json:"notes,omitempty"`      // the first faults of each kind by their keys: see Find
}

// Noted is how many faults of one kind an audit names.
const Noted = 5

// The kinds of fault.
const (
	Dangling     = "broken reference"
	Duplicated   = "duplicated"
	BrokenBody   = "broken body"
	CounterDrift = "counter drift"
)

// Find counts n faults of a kind, and says where they are unless Noted of that kind were named.
func (a *Audit) Find(kind string, n int64, format string, args ...any) {
	switch kind {
	case Dangling:
		a.Dangling += n
	case Duplicated:
		a.Duplicated += n
	case BrokenBody:
		a.BrokenBodies += n
	case CounterDrift:
		a.CounterDrift += n
	}
	named := 0
	for _, note := range a.Notes {
		if strings.HasPrefix(note, kind+": ") {
			named++
		}
	}
	if named < Noted {
		a.Notes = append(a.Notes, kind+": "+fmt.Sprintf(format, args...))
	}
}

// UUIDText returns an identifier in its usual form of 36 characters.
func UUIDText(id [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// Add adds one audit to another.
func (a *Audit) Add(b Audit) {
	a.Accounts += b.Accounts
	a.Folders += b.Folders
	a.Messages += b.Messages
	a.Deleted += b.Deleted
	a.Unreferenced += b.Unreferenced
	a.Dangling += b.Dangling
	a.Duplicated += b.Duplicated
	a.BrokenBodies += b.BrokenBodies
	a.InterruptedBlobs += b.InterruptedBlobs
	a.CounterDrift += b.CounterDrift
	a.Notes = append(a.Notes, b.Notes...)
}

// WholeFiles reports whether the attachments of a row have the names and sizes that it says. Size is that of a stored
// one. The maps of one row have the same order.
func WholeFiles(sizes, files []drivers.Value, size func(stored drivers.Value) (int64, error)) bool {
	if len(sizes) != len(files) {
		return false
	}
	for i := 0; i < len(sizes); i += 2 {
		n, err := size(files[i+1])
		if err != nil || !sizes[i].Equal(files[i]) || sizes[i+1].Int64() != n {
			return false
		}
	}
	return true
}

// MaxRow is the most bytes of a message that a model puts into one row, even if the engine
// takes more. It is Cassandra's default limit of one write (half of commitlog_segment_size,
// cassandra.yaml). A client holds such a row in memory, and an encoded copy of it.
const MaxRow = 16 << 20

// RowLimit is how much of a message fits into one row.
type RowLimit struct {
	cell, row int64
}

// NewRowLimit returns the limit of a row of the engine. It is MaxRow at most.
func NewRowLimit(c drivers.Capabilities) RowLimit {
	l := RowLimit{cell: MaxRow, row: MaxRow}
	for _, most := range []int64{c.MaxRowBytes, c.MaxBatchBytes} {
		if most > 0 {
			l.row = min(l.row, most)
		}
	}
	if l.cell = l.row; c.MaxCellBytes > 0 {
		l.cell = min(l.row, c.MaxCellBytes)
	}
	return l
}

// Check returns drivers.ErrTooLarge if a body and attachments do not fit into a row. It does
// not read them. A message that passes may still be too large for the engine, which counts
// keys and encodings too.
func (l RowLimit) Check(body mail.Content, attachments []mail.Part) error {
	total, largest := sizes(body, attachments)
	switch {
	case largest > l.cell:
		return fmt.Errorf("a part of %d bytes in one row, at most %d fit: %w", largest, l.cell, drivers.ErrTooLarge)
	case total > l.row:
		return fmt.Errorf("a message of %d bytes in one row, at most %d fit: %w", total, l.row, drivers.ErrTooLarge)
	}
	return nil
}

// rowCopies bounds the copies of a row in memory: the model's, and the engine client's with
// room to grow. As base64, text that is not UTF-8 is longer by a third. An opened body is
// decoded into a copy of its own.
const rowCopies = 3

// Holds returns how many bytes calls on a body and attachments in one row hold. It is zero if
// they do not fit into the row.
func (l RowLimit) Holds(body mail.Content, attachments []mail.Part) Holding {
	if l.Check(body, attachments) != nil {
		return Holding{}
	}
	total, _ := sizes(body, attachments)
	largest := int64(0)
	for i := range attachments {
		largest = max(largest, attachments[i].Content.Size())
	}
	return Holding{
		Deliver: rowCopies * total, Open: rowCopies * body.Size(), Attachment: rowCopies * largest,
		Move: rowCopies * total, Row: 2 * body.Size(),
	}
}

// chunkCopies bounds the copies of a chunk: the model's, and the engine's with room to grow.
const chunkCopies = 3

// HoldsChunks returns how many bytes calls hold on a raw message in chunks, if they write or
// read atOnce bytes at a time. An opened body is in memory whole.
func HoldsChunks(m *mail.Message, atOnce int64) Holding {
	n := chunkCopies * min(m.Raw.Size(), atOnce)
	return Holding{Deliver: n, Open: m.Body.Content.Size() + n, Attachment: n, Move: n}
}

func sizes(body mail.Content, attachments []mail.Part) (total, largest int64) {
	total, largest = body.Size(), body.Size()
	for i := range attachments {
		n := attachments[i].Content.Size()
		total, largest = total+n, max(largest, n)
	}
	return total, largest
}
